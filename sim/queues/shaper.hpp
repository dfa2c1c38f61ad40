// A token bucket, and a rate that follows a list of opportunities.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/units/check.hpp"
#include "core/units/time.hpp"

namespace lockstep::sim {

// The time in which a rate sends so many octets, rounded up.
struct BitRate {
  std::uint64_t per_second = 0;  // 0: unlimited
  constexpr Duration time_of(std::uint64_t bytes) const {
    return {per_second == 0 ? 0 : (bytes * 8'000'000'000 + per_second - 1) / per_second};
  }
};

// Fills at `rate` up to `burst_bytes`. Each octet that is sent takes one out.
class TokenBucket {
 public:
  TokenBucket(BitRate rate, std::uint64_t burst_bytes)
      : rate_(rate), depth_(rate.time_of(burst_bytes)) {}

  // When there are enough tokens for a packet, which must not exceed the burst.
  Instant ready_at(Instant now, std::uint32_t bytes) const {
    Instant const filled = full_at_ + rate_.time_of(bytes);
    return later(now, filled - depth_);
  }
  void take(Instant now, std::uint32_t bytes) {
    full_at_ = later(now, full_at_) + rate_.time_of(bytes);
  }

 private:
  BitRate rate_;
  Duration depth_;      // the time in which an empty bucket fills
  Instant full_at_{0};  // when it is full, if nothing is sent
};

// Opportunities to send 1,504 octets each, at whole milliseconds; repeated from the beginning when
// they end, as the traces of mahimahi are.
class RateTrace {
 public:
  static constexpr std::uint32_t opportunity_bytes = 1'504;

  // `at_ms` does not decrease, and its last is not 0.
  explicit RateTrace(std::vector<std::uint32_t> at_ms) : at_ms_(std::move(at_ms)) {
    CHECK(!at_ms_.empty());
    CHECK(at_ms_.back() != 0);
  }

  struct Opportunity {
    Instant at;
    std::uint64_t bytes = 0;
  };
  // The first at or after `from`.
  Opportunity first_from(Instant from) const {
    std::uint64_t const period = at_ms_.back();
    std::uint64_t const ms = (from.ns + 999'999) / 1'000'000;
    // Within a cycle: from 1 to the period; 0 is the end of the cycle before.
    std::uint64_t const cycle = ms == 0 ? 0 : (ms - 1) / period;
    auto const at = std::lower_bound(at_ms_.begin(), at_ms_.end(), ms - cycle * period);
    std::uint64_t count = 0;
    for (auto each = at; each != at_ms_.end() && *each == *at; ++each) {
      ++count;
    }
    for (std::size_t i = 0; *at == period && at_ms_[i] == 0; ++i) {
      ++count;
    }
    return {Instant{(cycle * period + *at) * 1'000'000}, count * opportunity_bytes};
  }

 private:
  std::vector<std::uint32_t> at_ms_;
};

}  // namespace lockstep::sim
