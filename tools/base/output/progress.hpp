// A progress bar on a terminal, for work that takes more than two seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace lockstep::tools {

/// Uses the machine's clock, only to decide when to draw.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Whether draw() would show anything now: on a terminal, after two seconds, ten times a second.
  bool is_due() const;
  /// Shows `done` of `total`, followed by `words`.
  void draw(std::uint64_t done, std::uint64_t total, const std::string& words);
  /// Erases the bar.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool on_terminal_;
  bool drawn_ = false;
  Clock::time_point due_;
};

/// "[#####               ] words", at most `columns` long.
std::string bar_text(std::uint64_t done, std::uint64_t total, const std::string& words,
                     std::size_t columns);

}  // namespace lockstep::tools
