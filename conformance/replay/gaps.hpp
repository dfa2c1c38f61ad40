// Shows from the gaps between transmissions whether the timer doubles (RFC 6298, 5.5).
#pragma once

#include <algorithm>

#include "core/units/time.hpp"

namespace lockstep::conformance {

/// How late a timer may expire, as captured: its granularity, a busy host, a hop before the capture
/// point. In what is computed from several expiries these errors add up.
constexpr Duration expires_late = Duration::milliseconds(20);

/// The gaps between the transmissions of one octet, by one clock.
class Gaps {
 public:
  void forget() { last_ = before_ = {}; }

  void add(Duration gap) {
    bool const longer = gap > last_ * 2 + expires_late * 3;
    before_ = longer || is_shorter(gap) ? Duration{} : last_;
    last_ = gap;
  }

  /// Whether this gap shows that the timer has not doubled since the one before.
  bool is_even(Duration gap) const {
    return last_ > Duration{} && gap.ns * 10 < last_.ns * 17 && !doubles_below(gap);
  }

  bool has_doubled(Duration gap) const { return last_ > Duration{} && !is_even(gap); }

  /// Whether the gap is shorter than the one before. No timer does that: in the one before, a
  /// transmission is missing or time stood still. So it is in a gap that is longer than twice the
  /// one before.
  bool is_shorter(Duration gap) const { return gap + expires_late * 2 < last_; }

  /// Whether the two gaps before this one are known, and each has one timer.
  bool is_known(Duration gap) const { return before_ > Duration{} && !is_shorter(gap); }

 private:
  /// Whether the gaps consist of a timer that doubles and of a constant, as in BSD. A sender may
  /// always wait longer than its RTO (RFC 6298, 1).
  bool doubles_below(Duration gap) const {
    if (before_ == Duration{} || gap > last_ * 2 || last_ > before_ * 2) {
      return false;
    }
    // Of r + c and 2r + c, twice the first less the second is c.
    Duration const earlier = before_ * 2 - last_;
    Duration const later = last_ * 2 - gap;
    bool const rises = (gap - last_).ns * 8 >= gap.ns && last_ > before_;
    return rises && std::max(earlier, later) - std::min(earlier, later) <= expires_late * 6;
  }

  Duration last_, before_;  ///< zero if unknown
};

/// How many gaps in a row lie within less than a doubling, in any order.
class LevelGaps {
 public:
  void forget() { count_ = 0; }

  void add(Duration gap) {
    least_ = count_ == 0 ? gap : std::min(least_, gap);
    most_ = count_ == 0 ? gap : std::max(most_, gap);
    ++count_;
    if (most_.ns * 10 >= least_.ns * 17) {
      least_ = most_ = gap;
      count_ = 1;
    }
  }

  unsigned count() const { return count_; }

 private:
  Duration least_, most_;
  unsigned count_ = 0;
};

}  // namespace lockstep::conformance
