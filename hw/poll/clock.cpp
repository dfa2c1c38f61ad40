// Reads CLOCK_MONOTONIC.
#include "hw/poll/clock.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>

namespace lockstep::hw {
namespace {

std::uint64_t monotonic_ns() {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(at.tv_nsec);
}

std::atomic<std::uint64_t> first_ns = MonotonicClock::start.ns;

}  // namespace

void MonotonicClock::follow_machine() {
  first_ns.store(std::max(MonotonicClock::start.ns, monotonic_ns()));
}

Instant MonotonicClock::first() { return Instant{} + Duration{first_ns.load()}; }

MonotonicClock::MonotonicClock() : origin_ns_(monotonic_ns()) {}

Instant MonotonicClock::now() const { return first() + Duration{monotonic_ns() - origin_ns_}; }

}  // namespace lockstep::hw
