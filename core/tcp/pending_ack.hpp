// ACKs owed to the peer: records, not a flag and not a count.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// In-order data of `data` octets was accepted: owed after the second full-sized segment, or when
// the delayed-ACK timer fires.
void ack_for_data(Engine& e, Connection& c, InFlightState& a, Bytes data);
// An ACK is owed at once: a FIN, a filled gap, a probe.
void ack_now(Engine& e, Connection& c);
// A segment that must be answered by an ACK of its own: out of order, duplicate, unacceptable.
void ack_duplicate(Engine& e, Connection& c, const wire::Segment& segment);
// The ECN echo is about to change: what is owed so far leaves in an ACK of its own.
void cut_by_echo(Engine& e, Connection& c);
// As ack_duplicate, within the limit on challenge ACKs (RFC 5961 section 7).
void ack_challenge(Engine& e, Connection& c, const wire::Segment& segment);
// RCV.NXT moved on: earlier duplicates say nothing any more.
void clear_duplicate_acks(Engine& e, const Connection& c, InFlightState& a);
// A segment with RCV.NXT as its ACK leaves: every cumulative ACK is carried by it.
void clear_delayed_acks(Engine& e, InFlightState& a);
// Takes the oldest record.
PendingAck pop_pending_ack(Engine& e, InFlightState& a);
void drop_pending_acks(Engine& e, InFlightState& a);

// Moves the right edge as far as silly-window avoidance and the store's pressure allow.
void advance_edge(Engine& e, Connection& c);
// How far the edge would move: what a window update would tell.
Bytes edge_gain(const Engine& e, const Connection& c);
// After the application consumed: owes a window update if it is worth one.
void queue_window_update(Engine& e, Connection& c);

}  // namespace lockstep::tcp
