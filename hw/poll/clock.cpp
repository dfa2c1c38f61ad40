// Reads CLOCK_MONOTONIC.
#include "hw/poll/clock.hpp"

#include <ctime>

namespace lockstep::hw {
namespace {

std::uint64_t monotonic_ns() {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(at.tv_nsec);
}

}  // namespace

MonotonicClock::MonotonicClock() : origin_ns_(monotonic_ns()) {}

Instant MonotonicClock::now() const {
  return Instant{} + start + Duration{monotonic_ns() - origin_ns_};
}

}  // namespace lockstep::hw
