// Pending ACKs to the peer: kept as records, not as a flag or a count.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// `data` octets were accepted in order: an ACK is pending after the second full-sized segment, or
// when the delayed-ACK timer fires.
void ack_for_data(Engine& e, Connection& c, InFlightState& a, Bytes data);
// Queues an ACK to be sent immediately: for a FIN, a filled gap, a probe.
void ack_now(Engine& e, Connection& c);
// The peer's FIN was taken, and Config has quick_acks: its ACK leaves as that of data.
void ack_for_fin(Engine& e, Connection& c);
// Queues a separate ACK for a segment that requires one: out of order, duplicate or unacceptable.
void ack_duplicate(Engine& e, Connection& c, const wire::Segment& segment);
// The ECN echo is about to change: the pending ACK is sent separately.
void cut_by_echo(Engine& e, Connection& c);
// RCV.NXT moved on: earlier duplicates say nothing any more.
void clear_duplicate_acks(Engine& e, const Connection& c, InFlightState& a);
// A segment with ACK = RCV.NXT is sent: it replaces all pending cumulative ACKs.
void clear_delayed_acks(Engine& e, InFlightState& a);
// Removes and returns the oldest record.
PendingAck pop_pending_ack(Engine& e, InFlightState& a);
void drop_pending_acks(Engine& e, InFlightState& a);

// Advances the right edge as far as silly window avoidance and free blocks allow.
void advance_edge(Engine& e, Connection& c);
// How far advance_edge() would move the edge: the gain of a window update.
Bytes edge_gain(const Engine& e, const Connection& c);
// The application consumed data: queues a window update if it is large enough.
void queue_window_update(Engine& e, Connection& c);

}  // namespace lockstep::tcp
