// Draws and redraws the bar on standard error.
#include "tools/base/output/progress.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace lockstep::tools {

Progress::Progress()
    : on_terminal_(isatty(STDERR_FILENO) != 0), due_(Clock::now() + std::chrono::seconds(2)) {}

void Progress::clear() {
  if (drawn_) {
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
    drawn_ = false;
  }
}

bool Progress::is_due() const { return on_terminal_ && Clock::now() >= due_; }

void Progress::draw(std::uint64_t done, std::uint64_t total, const std::string& words) {
  if (!is_due()) {
    return;
  }
  winsize size{};
  bool const known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  fmt::print(stderr, "\r{}\x1b[K", bar_text(done, total, words, known ? size.ws_col - 1u : 79));
  std::fflush(stderr);
  drawn_ = true;
  due_ = Clock::now() + std::chrono::milliseconds(100);
}

std::string bar_text(std::uint64_t done, std::uint64_t total, const std::string& words,
                     std::size_t columns) {
  constexpr std::uint64_t width = 20;
  // so that `width` times this fits into 64 bits
  constexpr std::uint64_t most = std::uint64_t{1} << 58;
  std::uint64_t const scale = total > most ? 64 : 1;
  std::uint64_t const part = std::min(done, total) / scale;
  std::uint64_t const filled = total == 0 ? 0 : part * width / (total / scale);
  std::string out =
      fmt::format("[{:<{}}] {}", std::string(std::min(filled, width), '#'), width, words);
  out.resize(std::min(out.size(), columns));
  return out;
}

}  // namespace lockstep::tools
