// Record ends (More::record): no segment contains octets from both sides of one.
#pragma once

#include "core/tcp/output.hpp"

namespace lockstep::tcp {

// How much of `data`, from `begin` on, precedes the next record end with data queued behind it. A
// record end at the end of the queue does not count: a segment ends there anyway.
Bytes up_to_record_end(const Engine& e, const Connection& c, Sequence begin, Bytes data);
// The same for unsent data of `queued` octets. Looks at no more than one segment.
Bytes queued_of_record(const Engine& e, const Connection& c, Bytes queued);
// Whether a record ends before `end` with data behind it.
bool is_record_end(const Engine& e, const Connection& c, Sequence end);
// Where the last of the segments begins that `range` would be sent in.
Sequence last_segment_of(const Engine& e, const Connection& c, const Range& range);

// As up_to_record_end(); costs one comparison on a connection without records.
inline Bytes within_record(const Engine& e, const Connection& c, const InFlightState& a,
                           Sequence begin, Bytes data) {
  return a.send.record_ends == 0 ? data : up_to_record_end(e, c, begin, data);
}

}  // namespace lockstep::tcp
