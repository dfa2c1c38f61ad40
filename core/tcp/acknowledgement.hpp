// What an acceptable ACK does: SND.UNA, the window, duplicates, the retransmission timer.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Step 5 of RFC 9293 3.10.7.4 for SND.UNA =< SEG.ACK =< SND.NXT in a synchronized state.
void process_ack(Engine& e, Connection& c, const wire::Segment& segment);
// SND.UNA moves to `ack`: what was queued goes, the timer restarts or stops.
void advance_una(Engine& e, Connection& c, InFlightState& a, Sequence ack);
// How the retransmission timer answers an ACK of new data.
void restart_timer(Engine& e, Connection& c, InFlightState& a);
// Keeps what is remembered of the past on the near side of the circle of sequence numbers, while
// nothing is being recovered.
void drag_marks(Connection& c, InFlightState& a);
// Whether the third duplicate may begin a recovery: not for losses that the last one, or a timeout,
// has repaired already. Before the first loss `recover` is the ISS, which forbids nothing.
bool may_recover(const Connection& c);
// Octets in flight, FIN and SYN included.
//= rfc5681#2
//# 5681:CC-45 FlightSize: sent, and not acknowledged cumulatively
inline Bytes flight_size(const Connection& c) { return c.send.nxt.since(c.send.una); }
// The offer of a segment that may update it.
void update_window(Engine& e, Connection& c, const wire::Segment& segment);

}  // namespace lockstep::tcp
