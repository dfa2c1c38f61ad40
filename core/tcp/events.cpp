// Events for the application: the lists of connections that have some, and the order of reporting.
#include "core/tcp/events.hpp"

#include <bit>

#include "core/tcp/lifecycle.hpp"
#include "core/tcp/resources.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

// Whether `accepted` has to wait for Stack::admit. The other events wait with it.
bool must_hold(Engine& e, const Connection& c) {
  if ((c.pending & bit_of(EventKind::accepted)) == 0) {
    return false;
  }
  Listener const* const listener = listener_of(e, c);
  return listener != nullptr && listener->admitted == 0;
}

void begin_draining(Engine& e) {
  if (e.state->refused != 0) {
    notify_resources(e);
  }
  e.state->draining = true;
  while (!e.notify_next().empty()) {
    Index const at = e.notify_next().pop_front();
    Connection& c = e.connection(at);
    c.pending = static_cast<std::uint16_t>(c.pending | c.deferred);
    c.deferred = 0;
    c.telling = TellPlace::now;
    e.notify_now().push_back(at);
  }
}

// Moves the first connection of this turn's list to the list in which it has to wait, if any.
void set_aside(Engine& e) {
  Index const at = e.notify_now().pop_front();
  Connection& c = e.connection(at);
  c.telling = TellPlace::none;
  if (c.pending != 0) {
    c.telling = TellPlace::held;
    e.held(e.listeners[c.backlog.listener]).push_back(at);
  } else if (c.deferred != 0) {
    c.telling = TellPlace::next;
    e.notify_next().push_back(at);
  } else if (c.wants != Resource::none) [[unlikely]] {
    wait_for_room(e, c);
  }
}

Bytes bytes_of(Engine& e, Connection& c, EventKind kind) {
  switch (kind) {
    case EventKind::received:
      return unread_of(c);
    case EventKind::acknowledged: {
      Bytes const acknowledged = c.writing.acknowledged_untold;
      c.writing.acknowledged_untold = {};
      return acknowledged;
    }
    case EventKind::urgent:
      return c.receive_urgent && c.active != nil ? e.active(c).receive_up.since(c.receive.read)
                                                 : Bytes{};
    default:
      return {};
  }
}

Event make_event(Engine& e, Index at, EventKind kind) {
  Connection& c = e.connection(at);
  Event event;
  event.kind = kind;
  event.id = {at, c.generation};
  event.bytes = bytes_of(e, c, kind);
  if (kind == EventKind::closed) {
    event.cause = c.cause;
    event.heard_at = c.heard_at;
  } else if (kind == EventKind::soft_error) {
    event.cause = c.soft_cause;
    c.soft_cause = Cause::none;
  } else if (kind == EventKind::accepted) {
    CHECK(c.accepted_unreported);
    event.listener = {c.backlog.listener, c.backlog.generation};
    if (Listener* listener = listener_of(e, c)) {
      CHECK(listener->admitted != 0);
      listener->admitted -= listener->admitted == Count::unlimited().value ? 0 : 1;
      --listener->complete;
      --listener->pending;
    }
    c.accepted_unreported = false;
    c.writing = {e.config.send_buffer, Bytes{}};
  }
  return event;
}

}  // namespace

void leave_event_list(Engine& e, Connection& c) {
  switch (c.telling) {
    case TellPlace::none:
      return;
    case TellPlace::now:
      e.notify_now().remove(e.slot_of(c));
      break;
    case TellPlace::next:
      e.notify_next().remove(e.slot_of(c));
      break;
    case TellPlace::held:
      e.held(e.listeners[c.backlog.listener]).remove(e.slot_of(c));
      break;
    case TellPlace::wanting:
      e.wanting(c.wants).remove(e.slot_of(c));
      break;
    case TellPlace::half_open:
      e.half_open_records().remove(e.slot_of(c));
      break;
  }
  c.telling = TellPlace::none;
}

void notify_closed_if_due(Engine& e, Connection& c) {
  if (c.detached && unread_of(c).empty()) {
    notify(e, c, EventKind::closed);
  }
}

bool next_event(Engine& e, Event& out) {
  if (!e.state->draining) {
    begin_draining(e);
  }
  while (!e.notify_now().empty()) {
    Index const at = e.notify_now().first();
    Connection& c = e.connection(at);
    if (c.pending == 0 || must_hold(e, c)) {
      set_aside(e);
      continue;
    }
    auto const kind = static_cast<EventKind>(std::countr_zero(c.pending));
    c.pending = static_cast<std::uint16_t>(c.pending & ~bit_of(kind));
    out = make_event(e, at, kind);
    if (kind == EventKind::closed) {
      e.notify_now().pop_front();
      c.telling = TellPlace::none;
      release(e, c);
    } else if (c.pending == 0) {
      set_aside(e);
    }
    return true;
  }
  e.state->draining = false;
  return false;
}

bool events_pending(const Engine& e) {
  return !e.notify_now().empty() || !e.notify_next().empty() ||
         (e.state->refused != 0 && room_to_tell(e));
}

}  // namespace lockstep::tcp
