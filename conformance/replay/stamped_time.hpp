// Estimates from timestamps (RFC 7323) how much time passed between two points of a capture.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
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
/// point delays them by different times: the least delayed one is the reference.
class DepartureClock {
 public:
  void take(Instant at, const tools::Segment& segment) {
    auto const stamps = stamps_of(segment);
    if (stamps && !segment.any(tools::tcp_flag::rst)) {
      marks_.push_back({at, stamps->value});
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
    if (known < telling || moved == 0) {
      return;
    }
    tick_ = near_common(known / moved);
    for (Mark const& mark : marks_) {
      Duration const counted = *tick_ * ticks_to(mark.stamp);
      Duration const recorded = mark.at.since(marks_.front().at);
      behind_ = std::max(behind_, counted > recorded ? counted - recorded : Duration{});
    }
  }

  /// The time between two ticks, about; nothing if it is unknown.
  std::optional<Duration> tick() const { return tick_; }

  /// When a segment with this TSval left at the latest, to one tick and the least delay; nothing if
  /// the clock's rate is unknown.
  std::optional<Instant> departure(std::uint32_t stamp) const {
    if (!tick_) {
      return std::nullopt;
    }
    Instant const counted = marks_.front().at + *tick_ * ticks_to(stamp);
    return Instant{} + counted.since(Instant{} + behind_);
  }

 private:
  struct Mark {
    Instant at;
    std::uint32_t stamp = 0;
  };

  std::uint64_t ticks_to(std::uint32_t stamp) const { return stamp - marks_.front().stamp; }

  /// A common period if the measured one is close to it.
  static Duration near_common(Duration measured) {
    for (Duration const common :
         {Duration::milliseconds(1), Duration::milliseconds(4), Duration::milliseconds(10)}) {
      if (measured * 4 >= common * 3 && measured * 4 <= common * 5) {
        return common;
      }
    }
    return measured;
  }

  std::vector<Mark> marks_;
  std::optional<Duration> tick_;
  Duration behind_;  ///< how much more the first segment was delayed than the least delayed one
};

}  // namespace lockstep::conformance
