// SEGMENT ARRIVES, RFC 9293 3.10.7: one file a section.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// One checked segment: finds whom it is for and lets its state answer. Drop::none if it lives.
Drop arrives(Engine& e, const InboundSegment& arrival);

// 3.10.7.1, 3.10.7.2, 3.10.7.3, and 3.10.7.4 with its helpers. `behind`: the suspended TIME-WAIT
// record whose place the SYN takes, or nil.
Drop arrives_closed(Engine& e, const InboundSegment& arrival);
Drop arrives_listen(Engine& e, Index listener, const InboundSegment& arrival,
                    Index reused_time_wait);
Drop arrives_syn_sent(Engine& e, Connection& c, const InboundSegment& arrival);
Drop arrives_other_states(Engine& e, Connection& c, const InboundSegment& arrival);

// What the listener has chosen for its connections, theirs from the SYN-ACK on.
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

// A listener's new connection, its SYN not sent yet; null if a pool is exhausted. An active part
// must be available.
Connection* open_passive(Engine& e, Index listener, const InboundSegment& arrival, Sequence iss);

// The listener that this four-tuple matches best, or nil. Four look-ups at most.
Index find_listener(const Engine& e, const FourTuple& tuple);
// The handshake is complete: ESTABLISHED, congestion control begins, the application is told.
void establish(Engine& e, Connection& c);
// What a SYN tells: IRS, the first offer, the MSS, the options. The first of the two is what needs
// no active part.
void learn_syn(const Engine& e, Connection& c, const wire::Segment& segment);
void process_syn(Engine& e, Connection& c, const wire::Segment& segment);
// Step 6, URG. On a SYN that leads to SYN-RECEIVED it is kept, and told by establish().
void process_urgent(Engine& e, Connection& c, const wire::Segment& segment);

}  // namespace lockstep::tcp
