// SEGMENT ARRIVES, RFC 9293 3.10.7: one file for each section.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/judge.hpp"

namespace lockstep::tcp {

// Processes one segment that the lower layers have checked: finds the connection, the half-open
// connection, the TIME-WAIT record or the listener that it belongs to, and processes it in that
// state. Returns Drop::none if the segment was accepted.
Drop arrives(Engine& e, const InboundSegment& arrival);

// 3.10.7.1, 3.10.7.2, 3.10.7.3 and 3.10.7.4. `reused_time_wait`: the suspended TIME-WAIT record
// that the SYN reopens, or nil.
Drop arrives_closed(Engine& e, const InboundSegment& arrival);
Drop arrives_listen(Engine& e, Index listener, const InboundSegment& arrival,
                    Index reused_time_wait);
Drop arrives_syn_sent(Engine& e, Connection& c, const InboundSegment& arrival);
Drop arrives_other_states(Engine& e, Connection& c, const InboundSegment& arrival);

// The window as the peer knows it. Before ESTABLISHED we report RCV.NXT as IRS + 1 even if data on
// the SYN is queued, because we have acknowledged only the SYN: the peer's reset and its
// retransmitted data have that number.
//= rfc9293#3.10.7.2
//# 9293:P-LISTEN-SYN-QUEUE, 9293:P-LISTEN-SYN-VARS RCV.NXT is IRS + 1, the rest is for later
inline ReceiveWindow window_of(const Connection& c) {
  if (c.state == State::syn_received && !opened_fast(c)) {
    return {c.receive.irs.next(), c.receive.edge.since(c.receive.irs.next())};
  }
  return {c.receive.nxt, c.receive.edge.since(c.receive.nxt)};
}

// Whether a segment with SYN and FIN is dropped, whatever it is for (Config, syn_fin_dropped).
inline bool drops_syn_fin(const Config& config, wire::Flags flags) {
  return config.syn_fin_dropped && flags.all_of(wire::flag::syn | wire::flag::fin);
}

// Whether ACKs at the right edge of our window are processed: the peer's flight may have filled the
// window although RCV.NXT has not moved, because there is a gap, or because we had no room for it.
// Without a gap this matters only once our own flight fills the peer's window. If both sides
// refused such ACKs, they would answer each other's without end.
inline bool peer_may_be_at_edge(const Engine& e, const Connection& c) {
  Sequence const right = c.send.una + c.send.wnd;
  bool const gap = c.active != nil && e.active(c).extents != nil;
  bool const full = right.distance_from(c.send.nxt) < static_cast<std::int32_t>(c.mss);
  return synchronized(c.state) && (gap || full);
}

// A connection, as judge() sees it.
struct ConnectionView {
  const Engine& e;
  const Connection& c;

  ReceiveWindow window() const { return window_of(c); }
  Sequence receive_nxt() const { return c.receive.nxt; }
  Sequence send_una() const { return c.send.una; }
  Sequence send_nxt() const { return c.send.nxt; }
  Bytes send_wnd_max() const { return c.send.wnd_max; }
  std::uint32_t ts_recent() const { return c.options.ts_recent; }
  bool ts_recent_outdated() const { return is_outdated(e, c); }
  bool timestamps() const { return c.options.has(negotiated::timestamps); }
  bool timestamps_required() const { return e.config.timestamps_required; }
  std::uint32_t timestamps_behind() const { return e.config.timestamps_behind.value; }
  bool syn_received() const { return c.state == State::syn_received; }
  bool passive() const { return c.passive; }
  ResetPolicy reset_policy() const { return e.config.reset_policy; }
  bool time_wait() const { return false; }
  bool syn_is_new() const { return false; }
  bool resets_ignored() const { return false; }
  bool acks_at_edge() const { return peer_may_be_at_edge(e, c); }
  bool unsent_answered() const { return e.config.unsent_answered || c.state != State::established; }
};

// Copies the settings that the listener has for its connections, from the SYN-ACK on.
//= rfc9293#3.9.2
//# 9293:MUST-49 the TTL is configurable, and so the same on every segment (RFC 5082)
//= rfc9293#3.9.1.9
//# 9293:MUST-48 the Diffserv field, too
inline void adopt_settings(const Listener& listener, Connection& c) {
  c.ttl = listener.ttl != 0 ? listener.ttl : c.ttl;
  c.dscp = listener.dscp;
  if (!listener.receive_buffer.empty()) {
    c.receive_buffer = listener.receive_buffer;
    c.receive_buffer_set = true;
  }
}

// A new connection of a listener, whose SYN was not sent yet; null if the pool of connections is
// exhausted. An active part must be available.
Connection* open_passive(Engine& e, Index listener, const InboundSegment& arrival, Sequence iss);

// The listener that matches this four-tuple most specifically, or nil. Four look-ups at most.
Index find_listener(const Engine& e, const FourTuple& tuple);
// The handshake is complete: enters ESTABLISHED, starts congestion control, notifies the
// application.
void establish(Engine& e, Connection& c);
// Takes IRS, the window, the MSS and the options from the peer's SYN. learn_syn() sets all that
// needs no active part; process_syn() calls it and sets the rest.
void learn_syn(const Engine& e, Connection& c, const wire::Segment& segment);
void process_syn(Engine& e, Connection& c, const wire::Segment& segment);
// Step 6, URG. In SYN-RECEIVED the pointer is kept, and establish() notifies the application.
void process_urgent(Engine& e, Connection& c, const wire::Segment& segment);

}  // namespace lockstep::tcp
