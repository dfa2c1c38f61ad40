// Estimates from timestamps (RFC 7323) how much time passed between two points of a capture.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/replay/options.hpp"
#include "tools/base/capture/decode.hpp"

namespace lockstep::conformance {

/// What one side's timestamps show about an interval in which it may have sent nothing.
class StampedTime {
 public:
  StampedTime(Instant from, Instant until) : from_(from), until_(until) {}

  void take(Instant at, const tools::Segment& segment) {
    auto const stamps = stamps_of(segment);
    if (!stamps || segment.any(tools::tcp_flag::rst)) {
      return;
    }
    Mark const mark{at, stamps->value};
    if (at <= from_) {
      first_ = first_ ? first_ : mark;
      before_ = mark;
    } else if (at >= until_ && !after_) {
      after_ = mark;
    }
  }

  /// Whether the timestamp clock ran at its earlier rate, or at least half of it; nothing if
  /// unknown.
  std::optional<bool> has_passed() const {
    if (!before_ || !after_) {
      return std::nullopt;
    }
    constexpr Duration slowest_tick = Duration::milliseconds(12);  // of deployed stacks
    constexpr Duration telling = Duration::milliseconds(50);
    constexpr Duration most = Duration::seconds(1'000'000);
    Duration const gap = std::min(after_->at.since(before_->at), most);
    std::uint64_t const ticks = after_->stamp - before_->stamp;
    Duration const known = before_->at.since(first_->at);
    if (known < telling) {
      return ticks >= gap.ns / slowest_tick.ns;
    }
    std::uint64_t const moved = before_->stamp - first_->stamp;
    std::uint64_t const in_a_second = moved * 1'000 / (known.ns / 1'000'000);
    return ticks * 2 >= in_a_second * (gap.ns / 1'000'000'000);
  }

  /// How much less the timestamp clock advanced than the capture's clock; nothing if its rate is
  /// unknown.
  std::optional<Duration> missing() const {
    if (!before_ || !after_) {
      return std::nullopt;
    }
    constexpr Duration telling = Duration::milliseconds(50);
    constexpr Duration most = Duration::seconds(1'000);
    Duration const gap = after_->at.since(before_->at);
    Duration const known = before_->at.since(first_->at);
    std::uint64_t const moved = before_->stamp - first_->stamp;
    std::uint64_t const ticks = after_->stamp - before_->stamp;
    if (known < telling || known > most || gap > most || moved == 0) {
      return std::nullopt;
    }
    Duration const went = known / moved * ticks;
    return went < gap ? gap - went : Duration{};
  }

 private:
  struct Mark {
    Instant at;
    std::uint32_t stamp = 0;
  };

  Instant from_, until_;
  std::optional<Mark> first_, before_, after_;
};

/// When a side's segments left it, by its timestamp clock. A queue between the side and the capture
/// point delays them by different times. So of each segment only two things are certain: it left
/// before it was recorded, and after what it echoes or acknowledges was.
class DepartureClock {
 public:
  /// `after`: the earliest time at which the segment can have left, if that is known.
  void take(Instant at, std::optional<Instant> after, const tools::Segment& segment) {
    auto const stamps = stamps_of(segment);
    if (stamps && !segment.any(tools::tcp_flag::rst)) {
      marks_.push_back({at, after, stamps->value});
    }
  }

  /// Call it after the last take(). O(n).
  void settle() {
    constexpr Duration telling = Duration::milliseconds(50);
    if (marks_.empty()) {
      return;
    }
    Duration const known = marks_.back().at.since(marks_.front().at);
    std::uint64_t const moved = ticks_to(marks_.back().stamp);
    if (known < telling || moved == 0 || moved > most_ticks) {
      return;
    }
    tick_ = near_common(known / moved);
    find_limits();
  }

  /// The time between two ticks, about; nothing if it is unknown.
  std::optional<Duration> tick() const { return tick_; }

  /// The earliest time at which a segment with this TSval can have left, whatever a queue did to
  /// it and to others; nothing if the clock's rate is unknown. O(n).
  std::optional<Instant> departure(std::uint32_t stamp) const {
    std::uint64_t const own = marks_.empty() ? 0 : ticks_to(stamp);
    if (!limited_ || own > most_ticks) {
      return std::nullopt;
    }
    Instant out;
    for (Mark const& mark : marks_) {
      std::uint64_t const other = ticks_to(mark.stamp);
      if (!mark.after || other > most_ticks) {
        continue;
      }
      bool const before = other < own;  // it left before its tick ended
      out = later(out, before ? *mark.after + least_tick_ * (own - other - 1)
                              : *mark.after - most_tick_ * (other - own + 1));
    }
    return out;
  }

  /// The most that can have passed between two segments with these TSvals.
  std::optional<Duration> longest_between(std::uint32_t then, std::uint32_t now) const {
    std::uint32_t const ticks = now - then;
    return limited_ && ticks < most_ticks ? std::optional(most_tick_ * (std::uint64_t{ticks} + 1))
                                          : std::nullopt;
  }

 private:
  struct Mark {
    Instant at;
    std::optional<Instant> after;
    std::uint32_t stamp = 0;
  };

  /// A larger distance is that of a segment that was sent before the first one.
  static constexpr std::uint64_t most_ticks = std::uint64_t{1} << 31;

  std::uint64_t ticks_to(std::uint32_t stamp) const { return stamp - marks_.front().stamp; }

  /// Finds between which limits the tick lies: the first segment bounds it on one side, and each
  /// later one on the other.
  void find_limits() {
    auto const known = std::find_if(marks_.begin(), marks_.end(),
                                    [](Mark const& mark) { return mark.after.has_value(); });
    for (Mark const& mark : marks_) {
      std::uint64_t const ticks = ticks_to(mark.stamp);
      if (mark.after && ticks <= most_ticks) {
        Duration const least = mark.after->since(marks_.front().at) / (ticks + 1);
        least_tick_ = std::max(least_tick_, least);
      }
      std::uint64_t const since = known == marks_.end() ? 0 : mark.stamp - known->stamp;
      if (since > 1 && since <= most_ticks && mark.at > *known->after) {
        Duration const most = mark.at.since(*known->after) / (since - 1) + Duration{1};
        most_tick_ = std::min(most_tick_, most);
      }
    }
    for (Duration const common : common_ticks) {
      bool const within = least_tick_ <= common && common <= most_tick_;
      if (within && least_tick_ * 4 >= common * 3 && most_tick_ * 4 <= common * 5) {
        least_tick_ = most_tick_ = common;
      }
    }
    // Clocks drift. If they differ by more, one of them was set.
    Duration const drift = most_tick_ / 500;
    limited_ = least_tick_ <= most_tick_ + drift;
    if (least_tick_ > most_tick_) {
      std::swap(least_tick_, most_tick_);
    }
  }

  static constexpr std::array<Duration, 3> common_ticks{
      Duration::milliseconds(1), Duration::milliseconds(4), Duration::milliseconds(10)};

  /// A common period if the measured one is close to it.
  static Duration near_common(Duration measured) {
    for (Duration const common : common_ticks) {
      if (measured * 4 >= common * 3 && measured * 4 <= common * 5) {
        return common;
      }
    }
    return measured;
  }

  std::vector<Mark> marks_;
  std::optional<Duration> tick_;
  Duration least_tick_, most_tick_ = Duration::forever();
  bool limited_ = false;  ///< they are known
};

}  // namespace lockstep::conformance
