// What the ACKs of a peer that acknowledges selectively do, and what leaves for them (RFC 6675).
#pragma once

#include "core/tcp/output.hpp"
#include "core/tcp/recovery/scoreboard.hpp"
#include "core/tcp/recovery/spurious.hpp"

namespace lockstep::tcp {

// Whether the segment's ACK is judged by the scoreboard. It begins to track if it has to; without
// a record for that, and while nothing is SACKed, RFC 5681's and 6582's rules do.
bool judged_by_board(Engine& e, Connection& c, const wire::Segment& segment);
// Step 5 of RFC 9293 3.10.7.4 up to the window, by the scoreboard.
void process_sack(Engine& e, Connection& c, const wire::Segment& segment);
// The retransmission timer fired: what is lost now. False: the board cannot tell.
bool lose_on_timeout(Engine& e, Connection& c);
// What is out was not lost to congestion, but goes again: behind a shut window, or as it was too
// large for the path. False: no board.
bool send_all_again(Engine& e, Connection& c);

// Octets that count as being in the network: by the board if it tracks.
Bytes outstanding(Engine& e, const Connection& c);
// What is lost, in order; none if congestion control does not let it out yet.
Plan plan_lost(Engine& e, Connection& c);
// What RFC 6675's NextSeg sends when nothing is known to be lost and there is nothing new.
Plan plan_last_resort(Engine& e, Connection& c);
// [begin, end), which was sent before: as much of it as a segment and the peer's window hold.
Plan plan_range(const Engine& e, const Connection& c, const InFlightState& a, const Range& range);
// Whether losses are being repaired by the board: there may be something to send again.
inline bool repairs(const Connection& c, const InFlightState& a) {
  return a.board.order.count != 0 && (c.congestion.recovering || a.after_timeout) &&
         !spurious::watches(a);
}
// RACK's timer fired.
void expire_reordering(Engine& e, Connection& c);
// The planned segment of a connection with SACK leaves; SND.NXT is still the old one.
void note_on_board(Engine& e, Connection& c, const Plan& plan, Sequence end);

}  // namespace lockstep::tcp
