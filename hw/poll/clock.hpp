// The machine's monotonic clock as an Instant, with an origin of its own for each run.
#pragma once

#include "core/units/time.hpp"

namespace lockstep::hw {

// The first Instant of a run is `start`, so nothing depends on how long the machine has been up.
class MonotonicClock {
 public:
  static constexpr Duration start = Duration::seconds(1);

  MonotonicClock();
  // Never goes backwards. Costs about 20 ns.
  Instant now() const;

 private:
  std::uint64_t origin_ns_;
};

}  // namespace lockstep::hw
