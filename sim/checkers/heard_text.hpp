// Which octets of a stream have reached a host, in ranges: what it may acknowledge selectively.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units/sequence.hpp"

namespace lockstep::sim {

// Ranges in order, apart from each other. Of a range the last 2^30 octets are kept, and of all the
// ranges those that end within as many octets of the newest; what is older counts as held: the
// circle of sequence numbers has no older past.
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
  // Ranges were joined that are apart, or one was forgotten that lay far behind another.
  bool forgetful() const { return forgetful_; }
  // Lets go of everything if it ends 2^30 octets before `at`.
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
