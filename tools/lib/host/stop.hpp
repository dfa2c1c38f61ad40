// Stop requests for one host: by a call, and if wanted by SIGINT and SIGTERM.
#pragma once

#include <atomic>
#include <cstdint>

#include "hw/poll/descriptor.hpp"
#include "hw/poll/stop.hpp"

namespace lockstep::tools {

/// A StopSource of hw/poll. Used by one thread, except ask().
class HostStop {
 public:
  [[nodiscard]] hw::Trouble open();
  /// Only one object of a process can do so at a time.
  [[nodiscard]] hw::Trouble take_signals();
  ~HostStop();
  HostStop() = default;
  HostStop(const HostStop&) = delete;
  HostStop& operator=(const HostStop&) = delete;

  /// Safe in a signal handler and from any thread.
  void ask();
  std::uint32_t asked();
  int descriptor() const { return event_.number(); }

 private:
  hw::Descriptor event_;
  std::atomic<std::uint32_t> times_ = 0;
  std::uint32_t taken_ = 0;
};

}  // namespace lockstep::tools
