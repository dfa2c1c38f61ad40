// Received data: lent frames within the turn, the block store after it; out-of-order data; FIN.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// The part of a segment that is left after trimming it to the window.
struct SegmentData {
  Sequence begin;
  std::span<const std::byte> bytes;
  bool fin = false;  // follows the bytes

  Sequence end() const { return begin + Bytes{static_cast<std::uint32_t>(bytes.size())}; }
};

// Accepts the data of an acceptable segment: delivers what is in order, stores what is above a gap,
// and queues the required ACKs. Returns why data was refused, or Drop::none.
Drop accept_data(Engine& e, Connection& c, const SegmentData& data, const wire::Segment& segment);
// A segment of data whose headers equal those of the one before it in its burst, but for its
// number: so do its flags, ACK number, window, timestamps and length.
struct Follower {
  Sequence sequence;
  Sequence acknowledgment;
  std::span<const std::byte> bytes;
  Instant arrived;
  std::uint8_t ecn = 0;  // the ECN field of its packet
};
// Accepts it if the connection is where the segment before it has left it: arrives() would only
// repeat checks. False: nothing has changed, and arrives() must decide.
bool accept_follower(Engine& e, const Follower& segment);
// If RCV.NXT has reached the peer's FIN: advances over it, notifies the application, changes state.
void process_fin_if_due(Engine& e, Connection& c);

std::span<const std::byte> readable(Engine& e, Connection& c, Bytes skip);
void consume(Engine& e, Connection& c, Bytes bytes);

// Copies unread data of lent frames into the store. Its blocks were reserved on arrival.
void settle_loans(Engine& e);

// Discards all data above gaps, or all unread data. The latter also returns the blocks.
void drop_extents(Engine& e, const Connection& c, InFlightState& a);
// Discards data above gaps of a connection that continues: the peer must retransmit it.
void give_up_gaps(Engine& e, Connection& c);
// The same, but keeps the active part even if the connection is idle then.
void discard_above_gap(Engine& e, const Connection& c, InFlightState& a);
void drop_unread(Engine& e, Connection& c);

}  // namespace lockstep::tcp
