// Output: which segment a connection sends next, and its bytes. transmit.hpp has the order of
// calls.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

enum class PlanKind : std::uint8_t { none, ack, keepalive, data };

// One segment that was decided on, but not written.
struct SegmentPlan {
  PlanKind kind = PlanKind::none;
  Sequence sequence;
  Bytes data;
  bool syn = false;
  bool fin = false;
  bool retransmitted = false;  // a retransmission
  bool probe = false;          // of a zero window
  bool loss_probe = false;     // RFC 8985's tail loss probe
  bool rescue = false;         // RFC 6675's rescue retransmission
  bool large = false;          // RFC 4821's probe: more data than the MSS of now

  // Nothing but new data.
  bool plain() const {
    return kind == PlanKind::data &&
           !(syn || fin || retransmitted || probe || loss_probe || rescue || large);
  }
};

// Whether our SYN is not acknowledged. The state is tested too, because sequence numbers return to
// ISS after 4 GiB.
inline bool syn_unacknowledged(const Connection& c) {
  return !synchronized(c.state) && c.send.una == c.send.iss;
}
// The sequence number of the first octet in the queue of data.
inline Sequence queue_begin(const Connection& c) {
  return syn_unacknowledged(c) ? c.send.una.next() : c.send.una;
}

// The sequence number of a segment without data: SND.NXT, or the right edge if SND.NXT lies beyond
// a window that closed or shrank, as in Linux and BSD: a strict receiver accepts nothing beyond the
// edge, not even the ACK field. (An edge that moved left by less than a unit of its scale was only
// rounded; but one octet beyond a window of zero is our probe.)
inline Sequence bare_sequence(const Connection& c) {
  Sequence const right = c.send.una + c.send.wnd;
  std::uint32_t const excess = c.send.nxt.since(right).count;
  bool const beyond =
      excess >> c.options.send_scale.shift != 0 || (excess == 1 && c.send.wnd.empty());
  return beyond && synchronized(c.state) ? right : c.send.nxt;
}
// With Config's shrunk_retransmitted: whether the first segment is sent again although the window
// has shrunk to zero. Data that left with our SYN was in no window: that waits for one.
inline bool retransmits_into_zero(const Engine& e, const Connection& c, const InFlightState& a) {
  bool const early = a.early && c.send.una.before(a.early_end);
  return e.config.shrunk_retransmitted && c.send.una != c.send.nxt && !early;
}
// How much may be retransmitted from `begin` on, at most a segment. Data that lay in the window
// when it was sent may be retransmitted although the edge moved left by the rounding of a scale;
// with Config's shrunk_retransmitted the first segment also into a window of zero.
std::uint32_t retransmission_room(const Engine& e, const Connection& c, const InFlightState& a,
                                  Sequence begin);
// The send variables of a new connection: all at `iss`, the SYN still to be sent.
void begin_sending(Engine& e, Connection& c, Sequence iss);
// Queues a retransmission of our SYN, which is a SYN-ACK if the peer's SYN has arrived.
void send_syn_again(Engine& e, Connection& c);
// The peer's window grew: zero-window probing ends, and probes in flight are retransmitted as data.
void window_opened(Engine& e, Connection& c);

// The segment that the connection sends next; none if it has to wait. Starts the persist or the
// override timer if nothing but a timer can let it continue.
SegmentPlan plan_next(Engine& e, Connection& c);
// Writes the planned TCP segment, checksum included, into `into` and brings the connection's
// variables and timers up to date. Returns its length. `a` is the connection's active part.
Bytes write_plan(Engine& e, Connection& c, InFlightState& a, const SegmentPlan& plan,
                 std::span<std::byte> into);
// Copies octets of the queue, which begin `from` octets behind its front, into all of `into`.
// Returns their sum.
wire::Partial copy_queued(Engine& e, InFlightState& a, Bytes from, std::span<std::byte> into);
// A frame of this connection, the first of the ready list, has left: the connection leaves the list
// if it has nothing more to send, or moves to the end of the list after its quantum of frames.
void rotate_ready(Engine& e, Connection& c, InFlightState& a);

}  // namespace lockstep::tcp
