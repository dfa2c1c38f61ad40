// Which octets of a stream have reached a host, in ranges: what it may acknowledge selectively.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units/sequence.hpp"

namespace lockstep::sim {

// Ranges in order, apart from each other. What is 2^30 octets old is forgotten, as held: the circle
// of sequence numbers has no older past.
class HeardText {
 public:
  // Of more ranges than this the lowest are joined: what lies between them counts as held.
  static constexpr std::uint32_t ranges_max = 1'024;

  void add(Sequence begin, Bytes length);
  // Whether all of [begin, end) has been heard.
  bool holds(Sequence begin, Sequence end) const;
  // Whether any of [begin, end) has been heard.
  bool touches(Sequence begin, Sequence end) const;
  // The end of the range that holds `from`, or `from`.
  Sequence reach(Sequence from) const;
  // Ranges were joined that are apart, or what is long past was forgotten.
  bool forgetful() const { return forgetful_; }
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
