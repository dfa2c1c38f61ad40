// Counts durations in buckets of constant relative width, in fixed memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "core/units/time.hpp"

namespace lockstep::load {

/// A share of all values, in hundred thousandths: 99,900 is the 99.9th percentile.
struct Share {
  std::uint32_t per_100000 = 0;
};

/// Exact below 128 ns; above, a bucket is at most 1/128 wide relative to its values. Everything
/// from 2^41 ns (37 minutes) on is in the last bucket.
class Histogram {
 public:
  static constexpr std::uint32_t fine_bits = 7;
  static constexpr std::uint32_t ranges = 41 - fine_bits;
  static constexpr std::uint32_t buckets = (ranges + 1) << fine_bits;

  void add(Duration time) {
    ++counts_[bucket_of(time.ns)];
    ++count_;
    sum_ns_ += time.ns;
    least_ = std::min(least_, time);
    most_ = std::max(most_, time);
  }
  void add(const Histogram& other) {
    for (std::uint32_t i = 0; i < buckets; ++i) {
      counts_[i] += other.counts_[i];
    }
    count_ += other.count_;
    sum_ns_ += other.sum_ns_;
    least_ = std::min(least_, other.least_);
    most_ = std::max(most_, other.most_);
  }

  /// The values added since `before`, an earlier copy of this histogram. Least and most stay those
  /// of all.
  Histogram since(const Histogram& before) const {
    Histogram out = *this;
    for (std::uint32_t i = 0; i < buckets; ++i) {
      out.counts_[i] -= before.counts_[i];
    }
    out.count_ -= before.count_;
    out.sum_ns_ -= before.sum_ns_;
    return out;
  }

  std::uint64_t count() const { return count_; }
  Duration sum() const { return {sum_ns_}; }
  /// How many values lie in buckets that do not end after `bound`: those up to it, except that
  /// values less than 1/128 below it may be left out.
  std::uint64_t count_to(Duration bound) const {
    std::uint64_t sum = 0;
    std::uint32_t const last = bucket_of(bound.ns + 1);
    for (std::uint32_t i = 0; i < last; ++i) {
      sum += counts_[i];
    }
    return sum;
  }
  Duration least() const { return count_ == 0 ? Duration{} : least_; }
  Duration most() const { return most_; }
  Duration mean() const { return count_ == 0 ? Duration{} : Duration{sum_ns_ / count_}; }
  /// The value that `share` of all values do not exceed: the upper end of its bucket, limited by
  /// the most. `endless` further values count as infinite; the result is forever if the share
  /// reaches them.
  Duration at(Share share, std::uint64_t endless = 0) const {
    std::uint64_t const all = count_ + endless;
    // The rank of the share's last value, rounded up; both factors stay far below 2^64.
    std::uint64_t const whole = all / 100'000 * share.per_100000;
    std::uint64_t const rest = (all % 100'000 * share.per_100000 + 99'999) / 100'000;
    std::uint64_t const rank = std::max<std::uint64_t>(whole + rest, 1);
    if (endless != 0 && rank > count_) {
      return Duration::forever();
    }
    std::uint64_t seen = 0;
    for (std::uint32_t i = 0; i < buckets && count_ != 0; ++i) {
      seen += counts_[i];
      if (seen >= rank) {
        return i + 1 == buckets ? most_ : std::min(Duration{end_of(i) - 1}, most_);
      }
    }
    return most_;
  }
  /// Calls visit(from, to, count) for each bucket that is not empty; its range is [from, to).
  template <class Visit>
  void visit(Visit&& each) const {
    for (std::uint32_t i = 0; i < buckets; ++i) {
      if (counts_[i] != 0) {
        each(Duration{i == 0 ? 0 : end_of(i - 1)}, Duration{end_of(i)}, counts_[i]);
      }
    }
  }

 private:
  static constexpr std::uint32_t bucket_of(std::uint64_t ns) {
    constexpr std::uint64_t fine = std::uint64_t{1} << fine_bits;
    if (ns < fine) {
      return static_cast<std::uint32_t>(ns);
    }
    auto const range = static_cast<std::uint32_t>(std::bit_width(ns)) - fine_bits;
    if (range > ranges) {
      return buckets - 1;
    }
    return (range << fine_bits) + static_cast<std::uint32_t>((ns >> (range - 1)) - fine);
  }
  /// The first value above a bucket.
  static constexpr std::uint64_t end_of(std::uint32_t bucket) {
    constexpr std::uint64_t fine = std::uint64_t{1} << fine_bits;
    std::uint32_t const range = bucket >> fine_bits;
    std::uint64_t const place = bucket & (fine - 1);
    return range == 0 ? place + 1 : (fine + place + 1) << (range - 1);
  }

  std::array<std::uint64_t, buckets> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ns_ = 0;
  Duration least_ = Duration::forever();
  Duration most_;
};

}  // namespace lockstep::load
