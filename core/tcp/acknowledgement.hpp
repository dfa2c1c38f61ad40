// Processing of an acceptable ACK: SND.UNA, the window, duplicates, the retransmission timer.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Step 5 of RFC 9293 3.10.7.4 for SND.UNA =< SEG.ACK =< SND.NXT in a synchronized state.
void process_ack(Engine& e, Connection& c, const wire::Segment& segment);
// Moves SND.UNA to `ack`: releases acknowledged data, restarts or stops the timer.
void advance_una(Engine& e, Connection& c, InFlightState& a, Sequence ack);
// Restarts or stops the retransmission timer after an ACK of new data.
void restart_timer(Engine& e, Connection& c, InFlightState& a);
// Keeps stored past sequence numbers within 2^31 of SND.UNA while no recovery is running.
void clamp_marks(Connection& c, InFlightState& a);
// Whether the third duplicate ACK may start a recovery: not for losses that the last recovery or a
// timeout has already repaired. Before the first loss `recover` is the ISS, which permits it.
bool may_recover(const Connection& c);
// Octets in flight, including SYN and FIN.
//= rfc5681#2
//# 5681:CC-45 FlightSize: sent and not cumulatively acknowledged
inline Bytes flight_size(const Connection& c) { return c.send.nxt.since(c.send.una); }
// Sets SND.WND, SND.WL1 and SND.WL2 if the segment is newer than the last update.
void update_window(Engine& e, Connection& c, const wire::Segment& segment);

}  // namespace lockstep::tcp
