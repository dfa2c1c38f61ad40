// SIGINT and SIGTERM as something that a loop can wait for and count.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units/bytes.hpp"
#include "hw/trouble.hpp"

namespace lockstep::hw {

// What one loop sees of the signals. Of one thread alone, but for ask().
class alignas(64) StopSeat {
 public:
  // Readable while a stop that asked() has not seen yet waits; for ppoll.
  int descriptor() const { return descriptor_; }
  // How often a stop has been asked for so far. Costs a load.
  std::uint32_t asked();
  // As a signal would, for all loops. Safe in a signal handler and from any thread.
  void ask() const;

 private:
  friend class StopSignals;
  int descriptor_ = -1;
  std::uint32_t seen_ = 0;
};

// Between open() and its end, SIGINT and SIGTERM of this process ask to stop instead of ending it.
// One at a time in a process (CHECK): signals have one handler. It is itself the first loop's seat.
class StopSignals : public StopSeat {
 public:
  static constexpr std::uint32_t seats_max = 256;

  StopSignals() = default;
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Takes the signals over, for so many loops, at most seats_max.
  [[nodiscard]] Trouble open(Count loops = Count{1});
  // Of the loop of this number; this object itself is 0.
  StopSeat& seat(std::uint32_t loop) { return loop == 0 ? *this : seats_[loop - 1]; }

 private:
  std::vector<StopSeat> seats_;
};

}  // namespace lockstep::hw
