// Where records end (More::record): no segment has octets from both sides of such an end.
#pragma once

#include "core/tcp/output.hpp"

namespace lockstep::tcp {

// How much of `data`, from `begin` on, is queued before the next record end with more behind it.
// What ends the queue is no such end yet: a segment ends there anyhow.
Bytes up_to_record_end(const Engine& e, const Connection& c, Sequence begin, Bytes data);
// The same of what was never sent, `queued` octets. What lies beyond a segment is not looked at.
Bytes queued_of_record(const Engine& e, const Connection& c, Bytes queued);
// Whether a record ends before `end`, and more lies behind it.
bool is_record_end(const Engine& e, const Connection& c, Sequence end);
// Where the last of the segments begins that `range` would leave in.
Sequence last_segment_of(const Engine& e, const Connection& c, const Range& range);

// The first of these, which costs a connection without records one comparison.
inline Bytes within_record(const Engine& e, const Connection& c, const InFlightState& a,
                           Sequence begin, Bytes data) {
  return a.send.record_ends == 0 ? data : up_to_record_end(e, c, begin, data);
}

}  // namespace lockstep::tcp
