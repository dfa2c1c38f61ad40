// What leaves next, and its bytes: retransmissions, new data, ACKs, probes.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

enum class PlanKind : std::uint8_t { none, ack, keepalive, data };

// One segment, decided but not written.
struct Plan {
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
};

// Our SYN is not acknowledged. The state tells as well: a stream comes back to its ISS after 4 GiB.
inline bool syn_unacknowledged(const Connection& c) {
  return !synchronized(c.state) && c.send.una == c.send.iss;
}
// The sequence number of the first octet in the queue of data.
inline Sequence queue_begin(const Connection& c) {
  return syn_unacknowledged(c) ? c.send.una.next() : c.send.una;
}

// The number of a segment without data. Beyond the edge of a window that is shut, or was shrunk, a
// strict receiver takes nothing, not even the ACK field; there it is the edge, as in Linux and BSD.
// (An edge that moved left by less than a unit of its scale is only rounded.)
inline Sequence bare_sequence(const Connection& c) {
  Sequence const right = c.send.una + c.send.wnd;
  bool const beyond = c.send.nxt.since(right).count >> c.options.send_scale.shift != 0;
  return beyond && synchronized(c.state) ? right : c.send.nxt;
}
// How far retransmissions may go. A window whose edge moved left by the rounding of a scale does
// not keep back what lay in it when it was sent.
Sequence retransmit_right_edge(const Connection& c, const InFlightState& a);
// The send variables of a new connection: all at `iss`, the SYN still to be sent.
void begin_sending(Engine& e, Connection& c, Sequence iss);
// The SYN, now perhaps with an ACK, leaves again.
void send_syn_again(Engine& e, Connection& c);
// The peer's offer grew: probing ends, and what a probe left behind goes again.
void window_opened(Engine& e, Connection& c);

// What the connection sends next; none if it has to wait. Starts the persist or override timer
// where only a timer can go on.
Plan plan_next(Engine& e, Connection& c);
// Writes the planned TCP segment, checksum included, into `into` and brings the connection's
// variables and timers up to date. Returns its length. `a` is the connection's active part.
Bytes write_plan(Engine& e, Connection& c, InFlightState& a, const Plan& plan,
                 std::span<std::byte> into);
// One frame of this connection, the first that is ready, has left: the connection leaves the list
// if it plainly has nothing more to say, else lets the next one have its turn after the quantum.
void rotate_ready(Engine& e, Connection& c, InFlightState& a);

}  // namespace lockstep::tcp
