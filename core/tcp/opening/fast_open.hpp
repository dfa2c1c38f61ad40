// Fast Open (RFC 7413): cookies of a server, and what a client remembers of servers.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/output.hpp"

namespace lockstep::tcp {

// --- the server ---
// The SYN has the option. Opens the connection fast if its cookie is good and its listener allows
// it, and decides which option the SYN-ACK has. True: the data is to be dropped, for the cookie is
// none, or comes beyond the limit.
bool refuses_data(Engine& e, Connection& c, Listener& listener, const wire::Segment& syn);
// Whether this SYN may open a connection fast: its cookie proves where it comes from.
bool may_open_fast(const Engine& e, Listener& listener, const InboundSegment& arrival);
// Whether the answer to this SYN is to bring a cookie.
bool wants_cookie(const Engine& e, const Listener& listener, const InboundSegment& arrival);
// The handshake is over: the attempt counts against its listener no more, unless by a reset.
void leave_fast_open(Engine& e, Connection& c, bool reset);

// Whether a SYN to `remote` could show a cookie and bring data.
bool knows_cookie(const Engine& e, IpAddress local, const Endpoint& remote);
// --- the client ---
// The application allows it: whether this SYN may ask for a cookie, or show one.
void want_fast_open(Engine& e, Connection& c);
// How much data the first SYN may carry: none without a cookie. O(1).
Bytes fast_open_data(Engine& e, Connection& c, const Plan& syn);
// The SYN-ACK has come: what it says of cookie, MSS and data is remembered.
void end_fast_open(Engine& e, Connection& c, const wire::Segment& syn_ack);
// A SYN with the option found no answer, or an error.
void doubt_fast_open(Engine& e, Connection& c);

// --- both ---
// ESTABLISHED, and what left before it is not all acknowledged: a client sends it again with its
// first ACK, a server waits for the next one.
void resume_early_data(Engine& e, Connection& c);
// The option of a SYN or SYN-ACK, if it has one.
void add_fast_open(const Engine& e, const Connection& c, const Plan& plan, wire::Options& options);
// The cookie of this client, if there is room for it.
void add_cookie(const Engine& e, const Connection& c, wire::Options& options);

}  // namespace lockstep::tcp
