// Birth and death of connections: records, state changes, events, readiness, the one timer.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Moves to `to`, which must be a legal transition (CHECK), and counts it.
void enter(Engine& e, Index at, State to);

// A new record in CLOSED, in the table under `tuple`; nil if a pool is exhausted. The tuple must be
// free. Everything but the tuple, the settings and the congestion state is zero.
Index open_connection(Engine& e, const FourTuple& tuple, std::uint16_t local_address);

// The connection's active part, taken from the pool if it has none; null if the pool is empty.
Active* ensure_active(Engine& e, Index at);
// Gives the active part back if nothing in it is needed.
void rest(Engine& e, Index at);

// The wire is done with the connection: out of the table, no timer, nothing to send. `closed` is
// told with `cause` once the application has read what it may still read; then the record goes.
void detach(Engine& e, Index at, Cause cause);

// Marks an event as pending. Raised by the application's own calls while it drains events, it is
// told next turn.
void tell(Engine& e, Index at, EventKind kind);
// After data was consumed or an event told: tells `closed` of a detached connection with nothing
// left to read.
void tell_closed_if_due(Engine& e, Index at);
// The next event of this turn, or false. Releases the record after `closed`.
bool next_event(Engine& e, Event& out);
bool events_pending(const Engine& e);

// Puts the connection at the end of the list of those with something to send.
void make_ready(Engine& e, Index at);
// Takes it out of that list, or out of a neighbour's waiting list.
void unready(Engine& e, Index at);

// Sets the wheel's node if the earliest of the connection's timers is earlier than it is set for.
// A later one is left to fire early and be set anew: no work for timers that are pushed back.
void arm(Engine& e, Index at);

// RFC 9293 3.4.2: no initial sequence number may be assigned yet. False for good once the quiet
// time is over, and always if Config asks for none.
bool in_quiet_time(const Engine& e);

ConnectionId id_of(const Engine& e, Index at);
// The slot of a live id, or nil.
Index find(const Engine& e, ConnectionId id);
// In-order octets that the application has not consumed.
inline Bytes unread_of(const Connection& c) {
  return c.receive.nxt.since(c.receive.read) - Bytes{c.fin_taken ? 1u : 0u};
}

}  // namespace lockstep::tcp
