// Ranges of sequence numbers whose octets were received: what a host may report in SACK blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units/sequence.hpp"

namespace lockstep::sim {

// Sorted, disjoint ranges. Each range keeps its last 2^30 octets, and a range is dropped when it
// ends more than 2^30 octets before the newest one. Anything older counts as received, because
// sequence numbers wrap and older ones cannot be ordered.
class ReceivedRanges {
 public:
  // With more ranges than this the lowest two are joined: the gap between them counts as received.
  static constexpr std::uint32_t ranges_max = 1'024;

  void add(Sequence begin, Bytes length);
  // Whether all of [begin, end) was received (or is too old to tell).
  bool holds(Sequence begin, Sequence end) const;
  // Whether any of [begin, end) was received.
  bool touches(Sequence begin, Sequence end) const;
  // The end of the range that contains `from`, or `from` if none does.
  Sequence reach(Sequence from) const;
  // Disjoint ranges were joined, or a range far behind the newest was dropped.
  bool forgetful() const { return forgetful_; }
  // Drops all ranges if the newest ends more than 2^30 octets before `at`.
  void forget_before(Sequence at);
  void clear() { ranges_.clear(); }

 private:
  struct Range {
    Sequence begin;
    Sequence end;
  };
  std::vector<Range> ranges_;
  bool forgetful_ = false;
};

}  // namespace lockstep::sim
