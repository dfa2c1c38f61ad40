// ACK processing and loss recovery with SACK (RFC 6675).
#pragma once

#include "core/tcp/output.hpp"
#include "core/tcp/recovery/scoreboard.hpp"
#include "core/tcp/recovery/spurious.hpp"

namespace lockstep::tcp {

// Whether the scoreboard processes this segment's ACK. Starts tracking if necessary. If no record
// is free, or while nothing is SACKed, RFC 5681 and 6582 apply.
bool judged_by_board(Engine& e, Connection& c, const wire::Segment& segment);
// Step 5 of RFC 9293 3.10.7.4, without the window update, using the scoreboard.
void process_sack(Engine& e, Connection& c, const wire::Segment& segment);
// The retransmission timer fired: marks what is lost. False: no scoreboard.
bool lose_on_timeout(Engine& e, Connection& c);
// All in flight is to be retransmitted, but was not lost to congestion: the window was closed, or
// the packets were too large for the path. False: no scoreboard.
bool send_all_again(Engine& e, Connection& c);

// Octets counted as in the network; from the scoreboard if it tracks.
Bytes outstanding(Engine& e, const Connection& c);
// The next lost range in order; none if congestion control does not allow it yet.
SegmentPlan plan_lost(Engine& e, Connection& c);
// What RFC 6675's NextSeg sends when no range is known to be lost and there is no new data.
SegmentPlan plan_last_resort(Engine& e, Connection& c);
// A retransmission of [begin, end): as much as one segment and the peer's window hold.
SegmentPlan plan_range(const Engine& e, const Connection& c, const InFlightState& a,
                       const Range& range);
// Whether the scoreboard is repairing losses: there may be data to retransmit.
inline bool repairs(const Connection& c, const InFlightState& a) {
  return a.board.order.count != 0 && (c.congestion.recovering || a.after_timeout) &&
         !spurious::watches(a);
}
// RACK's timer fired.
void expire_reordering(Engine& e, Connection& c);
// The planned segment of a connection with SACK is sent; SND.NXT still has its old value.
void note_on_board(Engine& e, Connection& c, const SegmentPlan& plan, Sequence end);

}  // namespace lockstep::tcp
