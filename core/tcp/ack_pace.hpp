// When the ACK of data leaves, by Config's quick_acks: at once while the peer starts or after a
// gap, delayed once this side answers, as Linux's frames show it (tcp(7), TCP_QUICKACK).
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp::ack_pace {

// Whether this rule holds, in place of Config's ack_stretch_after.
inline bool is_on(const Engine& e) { return e.config.quick_acks.value != 0; }

// Data has arrived in order, and is counted in `a.delayed`. Whether its ACK leaves at once.
bool data_arrived(const Engine& e, Connection& c, const InFlightState& a);
// How long the ACK may be delayed otherwise: as long as the peer's pauses between segments, at
// least Config's delayed_ack, at most 200 ms and a round trip unless that is longer. Not at all
// before any data.
Duration delay_of(const Engine& e, const Connection& c);
// An ACK that was due leaves, alone or with data.
void ack_leaves(const Engine& e, Connection& c);
// A segment with data leaves: soon after the peer's data it is an answer, and the connection counts
// as interactive.
void data_leaves(const Engine& e, Connection& c);
// The peer's FIN in ESTABLISHED: the application will answer it, probably. Whether
// its ACK leaves at once all the same.
bool fin_arrived(Connection& c, const InFlightState& a);
// A copy of old data arrived, or a marked packet: the next `segments` ACKs leave at once.
void hasten(const Engine& e, Connection& c, Count segments);

}  // namespace lockstep::tcp::ack_pace
