// ACKs owed to the peer: records, not a flag and not a count.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// In-order text of `text` octets was accepted: owed after the second full-sized segment, or when
// the delayed-ACK timer fires.
void owe_for_text(Engine& e, Connection& c, Active& a, Bytes text);
// An ACK is owed at once: a FIN, a filled gap, a probe.
void owe_now(Engine& e, Connection& c);
// A segment that must be answered by an ACK of its own: out of order, duplicate, unacceptable.
void owe_duplicate(Engine& e, Connection& c, const wire::Segment& segment);
// The ECN echo is about to change: what is owed so far leaves in an ACK of its own.
void cut_by_echo(Engine& e, Connection& c);
// As owe_duplicate, within the limit on challenge ACKs (RFC 5961 section 7).
void owe_challenge(Engine& e, Connection& c, const wire::Segment& segment);
// RCV.NXT moved on: earlier duplicates say nothing any more.
void discharge_duplicates(Engine& e, Active& a);
// A segment with RCV.NXT as its ACK leaves: every cumulative ACK is carried by it.
void discharge_cumulative(Engine& e, Active& a);
// Takes the oldest record.
Owed pop_owed(Engine& e, Active& a);
void drop_owed(Engine& e, Active& a);

// Moves the right edge as far as silly-window avoidance and the store's pressure allow.
void advance_edge(Engine& e, Connection& c);
// How far the edge would move: what a window update would tell.
Bytes edge_gain(const Engine& e, const Connection& c);
// After the application consumed: owes a window update if it is worth one.
void owe_window_update(Engine& e, Connection& c);

}  // namespace lockstep::tcp
