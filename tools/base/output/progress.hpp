// A bar on a terminal for work that takes more than two seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace lockstep::tools {

/// The clock is the machine's, and decides nothing but when something is drawn.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Whether draw() would be seen now: on a terminal, after two seconds, ten times a second.
  bool is_due() const;
  /// `done` of `total`, and a few words more.
  void draw(std::uint64_t done, std::uint64_t total, const std::string& words);
  /// Wipes the bar away.
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
