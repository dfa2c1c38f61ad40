// Round trip times of single segments, from the frames at the sender.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "core/units/sequence.hpp"
#include "core/units/time.hpp"

namespace lockstep::tools {

/// One direction of a connection. An ACK gives a sample: the time since the newest segment that it
/// acknowledges was sent; none if one of them was sent twice (Karn's algorithm), because the ACK
/// may have waited for that one.
class RttSamples {
 public:
  void sent(Instant at, Sequence begin, Sequence end);
  std::optional<Duration> acknowledged(Instant at, Sequence ack);

 private:
  struct Segment {
    Sequence begin, end;
    Instant at;
    bool twice = false;
  };
  std::deque<Segment> outstanding_;  // in order, and not acknowledged
  Sequence next_;                    // the highest sequence number sent, plus one
  bool begun_ = false;
};

}  // namespace lockstep::tools
