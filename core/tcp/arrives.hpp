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

[[gnu::always_inline]] inline ReceiverView receiver_view(const Engine& e, const Connection& c) {
  ReceiverView view;
  view.window = window_of(c);
  view.receive_nxt = c.receive.nxt;
  view.send_una = c.send.una;
  view.send_nxt = c.send.nxt;
  view.send_wnd_max = c.send.wnd_max;
  view.ts_recent = c.options.ts_recent;
  view.ts_recent_outdated = is_outdated(e, c);
  view.timestamps = c.options.has(negotiated::timestamps);
  view.timestamps_required = e.config.timestamps_required;
  view.syn_received = c.state == State::syn_received;
  view.passive = c.passive;
  view.reset_policy = e.config.reset_policy;
  return view;
}

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
