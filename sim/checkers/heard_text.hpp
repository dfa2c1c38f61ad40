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
  void add(Sequence begin, Bytes length);
  // Whether all of [begin, end) has been heard.
  bool holds(Sequence begin, Sequence end) const;
  void clear() { ranges_.clear(); }

 private:
  struct Range {
    Sequence begin;
    Sequence end;
  };
  std::vector<Range> ranges_;
};

}  // namespace lockstep::sim
