// What an acceptable ACK does: SND.UNA, the window, duplicates, the retransmission timer.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Step 5 of RFC 9293 3.10.7.4 for SND.UNA =< SEG.ACK =< SND.NXT in a synchronized state.
void take_acknowledgment(Engine& e, Index at, const wire::Segment& segment);
// SND.UNA moves to `ack`: what was queued goes, the timer restarts or stops.
void advance_una(Engine& e, Index at, Sequence ack);
// Octets in flight, FIN and SYN included.
inline Bytes flight_size(const Connection& c) { return c.send.nxt.since(c.send.una); }
// The offer of a segment that may update it.
void update_window(Engine& e, Index at, const wire::Segment& segment);

}  // namespace lockstep::tcp
