// Data into order: frames on loan within the turn, the block store beyond it, FIN in its place.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// What a segment still brings after it was trimmed to the window.
struct SegmentData {
  Sequence begin;
  std::span<const std::byte> bytes;
  bool fin = false;  // follows the bytes

  Sequence end() const { return begin + Bytes{static_cast<std::uint32_t>(bytes.size())}; }
};

// Takes the data of an acceptable segment: delivers what is in order, keeps what is above a gap,
// owes the ACKs that this asks for. Returns why data was refused, or none.
Drop accept_data(Engine& e, Connection& c, const SegmentData& data, const wire::Segment& segment);
// RCV.NXT may have reached the peer's FIN: moves over it, tells, and changes the state.
void process_fin_if_due(Engine& e, Connection& c);

std::span<const std::byte> readable(Engine& e, Connection& c, Bytes skip);
void consume(Engine& e, Connection& c, Bytes bytes);

// Copies what is unread of the frames on loan into the store. Its blocks were taken on arrival.
void settle_loans(Engine& e);

// Forgets all that is above gaps, or unread. Blocks go back with the latter.
void drop_extents(Engine& e, const Connection& c, InFlightState& a);
// The same, of a connection that goes on: the peer has to send it again.
void give_up_gaps(Engine& e, Connection& c);
void drop_unread(Engine& e, Connection& c);

}  // namespace lockstep::tcp
