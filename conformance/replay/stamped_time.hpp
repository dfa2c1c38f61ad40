// Estimates from timestamps (RFC 7323) how much time passed between two points of a capture.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

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

}  // namespace lockstep::conformance
