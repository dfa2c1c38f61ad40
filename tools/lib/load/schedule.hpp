// The instants at which requests become due, independent of the responses.
#pragma once

#include <bit>
#include <cstdint>

#include "core/units/random.hpp"
#include "core/units/time.hpp"

namespace lockstep::load {

/// Instant k is exactly k/rate after the first; or the intervals are exponential.
class Schedule {
 public:
  /// `rate` in requests per second, 0: none. Only exponential pauses draw from `random`.
  Schedule(std::uint64_t rate, bool is_poisson, Random random)
      : random_(random), rate_(rate), is_poisson_(is_poisson) {}

  /// The first request is due now. Restarts the count.
  void begin(Instant now) {
    first_ = next_ = now;
    index_ = 0;
  }
  /// Never, if the rate is 0.
  Instant next() const { return rate_ == 0 ? Instant::never() : next_; }
  /// Moves on to the next request. Not to be called without a rate.
  void advance() {
    ++index_;
    if (is_poisson_) {
      next_ = next_ + exponential();
    } else {
      next_ = first_ + Duration{index_ / rate_ * second + index_ % rate_ * second / rate_};
    }
  }

 private:
  static constexpr std::uint64_t second = 1'000'000'000;

  /// Von Neumann's method, which needs comparisons only: `whole` increases for each falling run of
  /// even length.
  Duration exponential() {
    constexpr std::uint32_t whole_max = 40;
    for (std::uint64_t whole = 0; whole < whole_max; ++whole) {
      std::uint64_t const first = random_.next() >> 32;
      std::uint64_t last = first;
      std::uint32_t length = 1;
      for (std::uint64_t each = random_.next() >> 32; each < last; each = random_.next() >> 32) {
        last = each;
        ++length;
      }
      if (length % 2 == 1) {
        // (whole + first / 2^32) seconds, divided by the rate.
        return Duration{(whole * second + (first * second >> 32)) / rate_};
      }
    }
    return Duration{whole_max * second / rate_};
  }

  Random random_;
  std::uint64_t rate_;
  bool is_poisson_;
  Instant first_;
  Instant next_;
  std::uint64_t index_ = 0;
};

}  // namespace lockstep::load
