// Fast Open (RFC 7413): the server's cookies, and the client's cache of servers.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/output.hpp"

namespace lockstep::tcp {

// --- the server ---
// The SYN has the option. Opens the connection fast if the cookie is valid and the listener allows
// it, and chooses the option of the SYN-ACK. True: the SYN's data must be dropped, because the
// cookie is invalid or the limit is reached.
bool refuses_data(Engine& e, Connection& c, Listener& listener, const wire::Segment& syn);
// Whether this SYN may open a connection fast: its cookie proves its source address.
bool may_open_fast(const Engine& e, Listener& listener, const InboundSegment& arrival);
// Whether the SYN-ACK is to carry a cookie.
bool wants_cookie(const Engine& e, const Listener& listener, const InboundSegment& arrival);
// The handshake is over: the connection stops counting against its listener's limit, unless a reset
// ended it.
void leave_fast_open(Engine& e, Connection& c, bool reset);

// Whether a SYN to `remote` could carry a cookie and data.
bool knows_cookie(const Engine& e, IpAddress local, const Endpoint& remote);
// --- the client ---
// The application allows Fast Open: whether this SYN may request a cookie, or carry one.
void want_fast_open(Engine& e, Connection& c);
// How much data the first SYN may carry: none without a cookie. O(1).
Bytes fast_open_data(Engine& e, Connection& c, const SegmentPlan& syn);
// The SYN-ACK arrived: stores its cookie and MSS, and whether the data was accepted.
void end_fast_open(Engine& e, Connection& c, const wire::Segment& syn_ack);
// A SYN with the option got no answer, or an error.
void doubt_fast_open(Engine& e, Connection& c);

// --- both ---
// ESTABLISHED, and data sent before it is not all acknowledged: a client retransmits it with its
// first ACK, a server waits for the next ACK.
void resume_early_data(Engine& e, Connection& c);
// Adds the option to a SYN or SYN-ACK, if it has one.
void add_fast_open(const Engine& e, const Connection& c, const SegmentPlan& plan,
                   wire::Options& options);
// Adds the cookie for this client, if there is space.
void add_cookie(const Engine& e, const Connection& c, wire::Options& options);

}  // namespace lockstep::tcp
