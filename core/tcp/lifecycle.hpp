// The life of connections: records, state changes, active parts, the one timer, the end.
#pragma once

#include "core/tcp/backlog.hpp"
#include "core/tcp/engine.hpp"
#include "core/tcp/events.hpp"
#include "core/tcp/send_queue.hpp"

namespace lockstep::tcp {

// Moves to `to`, which must be a legal transition (CHECK), and counts it.
void enter(Engine& e, Connection& c, State to);

// A four-tuple with its hash by the table's key and the index of its local address.
struct Socket {
  FourTuple tuple;
  std::uint32_t hash = 0;
  std::uint16_t local_address = 0;
};

// The initial value of a record, from the configuration.
Connection fresh_connection(const Config& config);
// A new record in CLOSED, in the table under the socket; null if a pool is exhausted. The tuple
// must be free. Everything but the tuple, the settings and the congestion state is zero.
Connection* open_connection(Engine& e, const Socket& socket);

// The connection's active part, taken from the pool if it has none; null if the pool is empty.
InFlightState* alloc_in_flight(Engine& e, Connection& c);
inline InFlightState* ensure_active(Engine& e, Connection& c) {
  return c.active == nil ? alloc_in_flight(e, c) : &e.active(c);
}

// Returns the active part to its pool if nothing in it is needed.
void release_if_idle(Engine& e, Connection& c, InFlightState& a);
inline void release_if_idle(Engine& e, Connection& c) {
  if (c.active != nil) {
    release_if_idle(e, c, e.active(c));
  }
}

// The connection sends and receives nothing more: it leaves the table and has no timer. `closed` is
// reported with `cause` once the application has read what it may still read; then the record is
// released.
void detach(Engine& e, Connection& c, Cause cause);
// Returns the record of a detached connection to its pool. All ids of it are stale from now on.
void release(Engine& e, Connection& c);

// Sets the timer on the wheel if the earliest of the connection's timers is earlier. If it is
// later, the wheel's timer fires early and is set again then: moving a timer back costs nothing.
inline void arm_for(Engine& e, const InFlightState& a, Instant due) {
  if (due < e.wheel.due(a.owner)) {
    e.wheel.set(a.owner, due);
  }
}
inline Instant earliest_due(const InFlightState& a) {
  Instant const sending = earlier(a.pace_due, earlier(a.retransmit_due, a.give_up_due));
  return earlier(earlier(a.slow_due, a.delayed_ack_due), sending);
}
inline void arm(Engine& e, const InFlightState& a) { arm_for(e, a, earliest_due(a)); }
inline void arm(Engine& e, Connection& c) {
  // Without an active part there is only the slow timer, for which the wheel is set.
  if (c.active != nil) {
    arm(e, e.active(c));
  }
}

// The slow timer: keep-alive, or after close() the limit of FIN-WAIT-2 or of a closed window; never
// while it does not run (`slow`). Without an active part the wheel's timer is set for exactly this
// instant.
inline Instant slow_due(const Engine& e, const Connection& c) {
  if (!c.slow) {
    return Instant::never();
  }
  return c.active == nil ? e.wheel.due(e.slot_of(c)) : e.active(c).slow_due;
}
// Sets the slow timer, or ends it by `never`. With an active part arm() must follow.
void set_slow(Engine& e, Connection& c, Instant due);

// RFC 9293 3.4.2: whether no initial sequence number may be assigned yet. Never again true once the
// quiet time is over; always false if Config has none.
bool in_quiet_time(const Engine& e);

inline ConnectionId id_of(const Engine& e, const Connection& c) {
  return {e.slot_of(c), c.generation};
}
// The record of a live id, or null.
//= rfc9293#3.10
//# 9293:P-EV-NOCONN a stale id finds no connection, in any call
inline Connection* find(const Engine& e, ConnectionId id) {
  Connection* const c = e.connections.find(id.slot);
  return c != nullptr && c->generation == id.generation ? c : nullptr;
}
// The same for calls of the application, which knows an id only after its `accepted` event.
inline Connection* find_told(const Engine& e, ConnectionId id) {
  Connection* const c = find(e, id);
  return c != nullptr && !c->accepted_unreported ? c : nullptr;
}
// In-order octets that the application has not consumed.
inline Bytes unread_of(const Connection& c) {
  return c.receive.nxt.since(c.receive.read) - Bytes{c.fin_taken ? 1u : 0u};
}

}  // namespace lockstep::tcp
