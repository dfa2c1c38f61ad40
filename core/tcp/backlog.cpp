// The backlog of a listener, and the half-open connections that give way to others.
#include "core/tcp/backlog.hpp"

#include "core/tcp/lifecycle.hpp"

namespace lockstep::tcp {

Listener* listener_of(Engine& e, const Connection& c) {
  if (!c.accepted_unreported) {
    return nullptr;
  }
  Listener* const listener = e.listeners.find(c.backlog.listener);
  bool const same = listener != nullptr && listener->generation == c.backlog.generation;
  return same ? listener : nullptr;
}

bool may_complete(Engine& e, const Connection& c) {
  // A connection that used Fast Open is counted already.
  if (!c.passive || opened_fast(c)) {
    return true;
  }
  Listener const* const listener = listener_of(e, c);
  return listener == nullptr || !accept_queue_full(*listener);
}

void complete_in_backlog(Engine& e, const Connection& c) {
  if (c.passive) {
    if (Listener* listener = listener_of(e, c)) {
      ++listener->complete;
    }
  }
}

void leave_backlog(Engine& e, Connection& c) {
  if (c.accepted_unreported) {
    if (Listener* listener = listener_of(e, c)) {
      --listener->pending;
    }
    c.accepted_unreported = false;
  }
}

void hold_half_open(Engine& e, Connection& c) {
  // A connection that used Fast Open was reported already.
  if (c.telling == TellPlace::none) {
    c.telling = TellPlace::half_open;
    e.half_open_records().push_back(e.slot_of(c));
  }
}

// Ends the oldest half-open connection without a reset, as its timeout would. False if there is
// none, or if its SYN-ACK was not retransmitted yet, so that the peer may still answer.
[[gnu::cold]] bool shed_half_open(Engine& e) {
  if (e.half_open_records().empty()) {
    return false;
  }
  Connection& c = e.connection(e.half_open_records().first());
  if (c.retries == 0) {
    return false;
  }
  enter(e, c, State::closed);
  detach(e, c, Cause::refused);
  ++e.counters->half_opens_evicted;
  return true;
}

bool make_room_for_one(Engine& e) {
  bool const room = e.connections.available() != 0 && e.actives.available() != 0;
  // A half-open connection that ends frees a record and its active part.
  return room || (shed_half_open(e) && e.connections.available() != 0);
}

}  // namespace lockstep::tcp
