// The machine's monotonic clock as an Instant from the run's own origin.
#pragma once

#include "core/units/time.hpp"

namespace lockstep::hw {

// The origin is `start` before the moment at which the clock was made, so that the first Instant of
// a run is `start` and nothing in it depends on how long the machine has been up.
class MonotonicClock {
 public:
  static constexpr Duration start = Duration::seconds(1);

  MonotonicClock();
  // Never runs backwards. About 20 ns.
  Instant now() const;

 private:
  std::uint64_t origin_ns_;
};

}  // namespace lockstep::hw
