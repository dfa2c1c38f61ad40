// A host's own clock: an origin offset and a constant skew, converted both ways in integers.
#pragma once

#include <cstdint>

#include "core/units/time.hpp"

namespace lockstep::sim {

// What a host's clock shows at world instant 0, and the nanoseconds it gains (or loses) in a second
// of world time.
struct ClockSpec {
  Duration origin;
  std::int32_t skew_ppb = 0;  // -skew_ppb_max to skew_ppb_max

  static constexpr std::int32_t skew_ppb_max = 500'000'000;
};

// Converts world time to host time and back. Both directions are monotonic and saturate at never.
class HostClock {
 public:
  constexpr HostClock() = default;
  explicit constexpr HostClock(const ClockSpec& spec) : spec_(spec) {}

  // The host's clock at an instant of world time.
  constexpr Instant local(Instant world) const {
    if (world.is_never()) {
      return world;
    }
    return Instant{spec_.origin.ns} + elapsed(world.ns);
  }

  // The first world instant at which local() is `local` or later: never early.
  constexpr Instant world(Instant local) const {
    if (local.is_never()) {
      return local;
    }
    if (local.ns <= spec_.origin.ns) {
      return Instant{0};
    }
    Duration const wanted{local.ns - spec_.origin.ns};
    if (spec_.skew_ppb == 0) {
      return Instant{wanted.ns};
    }
    return first_at(wanted);
  }

 private:
  static constexpr std::uint64_t billion = 1'000'000'000;

  // Host nanoseconds that pass in `world_ns` of world time, rounded down.
  constexpr Duration elapsed(std::uint64_t world_ns) const {
    if (spec_.skew_ppb == 0) {
      return {world_ns};
    }
    bool const fast = spec_.skew_ppb > 0;
    std::uint64_t const ppb = static_cast<std::uint64_t>(fast ? std::int64_t{spec_.skew_ppb}
                                                              : -std::int64_t{spec_.skew_ppb});
    std::uint64_t const whole = world_ns / billion * ppb;
    std::uint64_t const part = world_ns % billion * ppb;
    if (fast) {
      return Duration{world_ns} + Duration{whole + part / billion};
    }
    // Rounded up because it is subtracted, so that the result is rounded down.
    return Duration{world_ns - whole - (part + billion - 1) / billion};
  }

  // The least x with elapsed(x) >= wanted, by a bisection of at most 64 steps.
  constexpr Instant first_at(Duration wanted) const {
    std::uint64_t low = wanted.ns / 2;
    std::uint64_t high = wanted.ns > Duration::ns_max / 2 ? Duration::ns_max - 1 : wanted.ns * 2;
    if (elapsed(high) < wanted) {
      return Instant::never();
    }
    while (low < high) {
      std::uint64_t const middle = low + (high - low) / 2;
      if (elapsed(middle) < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return Instant{low};
  }

  ClockSpec spec_;
};

}  // namespace lockstep::sim
