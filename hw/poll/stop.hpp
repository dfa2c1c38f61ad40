// SIGINT, SIGTERM and SIGHUP as stop requests that a loop can wait for and count.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/units/bytes.hpp"
#include "hw/trouble.hpp"

namespace lockstep::hw {

// The stop requests that are announced by an eventfd. Each request is counted in `times` and then
// written to `event`. Returns `times`, and reads from `event` what was written; `taken` is the sum
// of what was read so far. A request whose two steps are not both done yet is read by a later call:
// `event` never stays readable.
std::uint32_t take_requests(const std::atomic<std::uint32_t>& times, int event,
                            std::uint32_t& taken);

// The stop requests as seen by one loop. Used by one thread, except ask().
class alignas(64) StopSeat {
 public:
  // Readable while there is a stop request that asked() has not returned yet; for ppoll.
  int descriptor() const { return descriptor_; }
  // The number of stop requests so far. Costs one load.
  std::uint32_t asked();
  // Requests a stop of all loops, as a signal would. Safe in a signal handler and from any thread.
  void ask() const;

 private:
  friend class StopSignals;
  int descriptor_ = -1;
  std::uint32_t taken_ = 0;
};

// While open, SIGINT, SIGTERM and SIGHUP of this process request a stop instead of ending it; a
// SIGHUP that was ignored before, as by nohup, stays ignored, and one that has a handler keeps it.
// Only one may be open in a process (CHECK), because a signal has one handler. It is also the seat
// of the first loop.
class StopSignals : public StopSeat {
 public:
  static constexpr std::uint32_t seats_max = 256;

  StopSignals() = default;
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Takes over the signals for `loops` loops, at most seats_max.
  [[nodiscard]] Trouble open(Count loops = Count{1});
  // The seat of a loop; loop 0 uses this object.
  StopSeat& seat(std::uint32_t loop) { return loop == 0 ? *this : seats_[loop - 1]; }

 private:
  std::vector<StopSeat> seats_;
};

}  // namespace lockstep::hw
