// Birth and death of connections: records, state changes, events, readiness, the one timer.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// The place of a kind of event in a connection's masks.
constexpr std::uint16_t bit_of(EventKind kind) {
  return static_cast<std::uint16_t>(1u << static_cast<std::uint32_t>(kind));
}

// Moves to `to`, which must be a legal transition (CHECK), and counts it.
void enter(Engine& e, Connection& c, State to);

// A four-tuple with its hash by the table's key, and the place of its local address among ours.
struct Socket {
  FourTuple tuple;
  std::uint32_t hash = 0;
  std::uint16_t local_address = 0;
};

// A record of no connection yet, with all that it has from the configuration.
Connection fresh_connection(const Config& config);
// A new record in CLOSED, in the table under the socket; null if a pool is exhausted. The tuple
// must be free. Everything but the tuple, the settings and the congestion state is zero.
Connection* open_connection(Engine& e, const Socket& socket);

// The connection's active part, taken from the pool if it has none; null if the pool is empty.
InFlightState* alloc_in_flight(Engine& e, Connection& c);
inline InFlightState* ensure_active(Engine& e, Connection& c) {
  return c.active == nil ? alloc_in_flight(e, c) : &e.active(c);
}

// The handshake of a listener's connection is over; its place in the backlog stays taken until the
// application is told.
void complete_in_backlog(Engine& e, const Connection& c);
// Whether it may be over: not while as many wait for the application as the backlog has places.
bool may_complete(Engine& e, const Connection& c);
// The listener that this connection still counts against, or null.
Listener* listener_of(Engine& e, const Connection& c);

// A listener's connection in SYN-RECEIVED, whose peer has proved nothing yet: it gives way to
// whoever has, until the application is told of it.
void hold_half_open(Engine& e, Connection& c);
// Whether there is a record and an active part for one more connection that has proved itself, or
// that the application asks for. Where there are none, the oldest half-open connection gives way,
// if its SYN-ACK has gone twice in vain.
[[nodiscard]] bool make_room_for_one(Engine& e);

// Gives the active part back if nothing in it is needed.
void release_if_idle(Engine& e, Connection& c, InFlightState& a);
inline void release_if_idle(Engine& e, Connection& c) {
  if (c.active != nil) {
    release_if_idle(e, c, e.active(c));
  }
}

// The wire is done with the connection: out of the table, no timer, nothing to send. `closed` is
// told with `cause` once the application has read what it may still read; then the record goes.
void detach(Engine& e, Connection& c, Cause cause);

// The connection has something to be told: it leaves the list of those that have nothing else, be
// it that they wait for room or are half open.
void leave_untold(Engine& e, Connection& c);

// Marks an event as pending. Raised by the application's own calls while it drains events, it is
// told next turn.
inline void notify(Engine& e, Connection& c, EventKind kind) {
  if (kind == EventKind::soft_error) {
    // `accepted` is an id's first event: nobody knows of an attempt that something went wrong with.
    bool const unknown = c.passive && c.established_untold &&
                         ((c.pending | c.deferred) & bit_of(EventKind::accepted)) == 0;
    if (unknown) {
      return;
    }
  }
  bool const later = e.state->draining;
  std::uint16_t& kinds = later ? c.deferred : c.pending;
  kinds = static_cast<std::uint16_t>(kinds | bit_of(kind));
  if (c.telling != TellPlace::none) {
    if (c.telling < TellPlace::wanting) [[likely]] {
      return;
    }
    leave_untold(e, c);
  }
  c.telling = later ? TellPlace::next : TellPlace::now;
  (later ? e.notify_next() : e.notify_now()).push_back(e.slot_of(c));
}
// After data was consumed or an event told: tells `closed` of a detached connection with nothing
// left to read.
void notify_closed_if_due(Engine& e, Connection& c);
// The next event of this turn, or false. Releases the record after `closed`.
bool next_event(Engine& e, Event& out);
bool events_pending(const Engine& e);

// Puts the connection, which has an active part, at the end of the list of those with something to
// send.
inline void make_ready(Engine& e, Connection& c, InFlightState& a) {
  if (c.place == SendPlace::none) {
    c.place = SendPlace::ready;
    a.quantum = 0;
    e.ready().push_back(c.active);
  }
}
inline void make_ready(Engine& e, Connection& c) { make_ready(e, c, e.active(c)); }
// The first one of that list has said what it has to say: it leaves the list, and an ACK that is
// still delayed waits on the wheel from here on.
void leave_ready(Engine& e, Connection& c);
// Takes it out of that list, or out of a neighbour's waiting list.
void unready(Engine& e, Connection& c);

// Sets the wheel's node if the earliest of the connection's timers is earlier than it is set for.
// A later one is left to fire early and be set anew: no work for timers that are pushed back.
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
  // Without an active part there is the slow timer alone, and the wheel is set for it.
  if (c.active != nil) {
    arm(e, e.active(c));
  }
}

// The slow timer: keep-alive, or the bound on FIN-WAIT-2; never while it does not run (`slow`).
// Without an active part the wheel's node is set for exactly this instant, and remembers it.
inline Instant slow_due(const Engine& e, const Connection& c) {
  if (!c.slow) {
    return Instant::never();
  }
  return c.active == nil ? e.wheel.due(e.slot_of(c)) : e.active(c).slow_due;
}
// Sets it, or ends it by `never`. With an active part arm() must follow.
void set_slow(Engine& e, Connection& c, Instant due);

// RFC 9293 3.4.2: no initial sequence number may be assigned yet. False for good once the quiet
// time is over, and always if Config asks for none.
bool in_quiet_time(const Engine& e);

inline ConnectionId id_of(const Engine& e, const Connection& c) {
  return {e.slot_of(c), c.generation};
}
// The record of a live id, or null.
//= rfc9293#3.10
//# 9293:P-EV-NOCONN a name of nothing finds nothing, whatever is called with it
inline Connection* find(const Engine& e, ConnectionId id) {
  Connection* const c = e.connections.find(id.slot);
  return c != nullptr && c->generation == id.generation ? c : nullptr;
}
// The same, for the application: `accepted` is an id's first event, before that it is a guess.
inline Connection* find_told(const Engine& e, ConnectionId id) {
  Connection* const c = find(e, id);
  return c != nullptr && !c->established_untold ? c : nullptr;
}
// In-order octets that the application has not consumed.
inline Bytes unread_of(const Connection& c) {
  return c.receive.nxt.since(c.receive.read) - Bytes{c.fin_taken ? 1u : 0u};
}

}  // namespace lockstep::tcp
