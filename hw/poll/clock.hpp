// The machine's monotonic clock as an Instant, from an origin of the run's own or the machine's.
#pragma once

#include "core/units/time.hpp"

namespace lockstep::hw {

// The first Instant of a run is `start`, so nothing depends on how long the machine has been up.
// After follow_machine() it is the machine's, so that the Instants of a run follow those of the run
// before.
class MonotonicClock {
 public:
  static constexpr Duration start = Duration::seconds(1);

  // Call before the first clock is made.
  static void follow_machine();
  // The first Instant of the run, which is at least `start`.
  static Instant first();

  MonotonicClock();
  // Never goes backwards. Costs about 20 ns.
  Instant now() const;

 private:
  std::uint64_t origin_ns_;
};

}  // namespace lockstep::hw
