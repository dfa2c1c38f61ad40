// Events for the application: marking them as pending, and reporting them in their order.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// The bit of a kind of event in a connection's masks.
constexpr std::uint16_t bit_of(EventKind kind) {
  return static_cast<std::uint16_t>(1u << static_cast<std::uint32_t>(kind));
}

// Takes the connection out of the list that holds it by its `notify` link.
void leave_event_list(Engine& e, Connection& c);
// The connection, which had no events, gets one: it leaves the list of those that wait for a
// resource or are half open.
void leave_untold(Engine& e, Connection& c);

// Marks an event as pending. An event that the application's own calls raise while it reads events
// is reported in the next turn.
inline void notify(Engine& e, Connection& c, EventKind kind) {
  if (kind == EventKind::soft_error) {
    // `accepted` is the first event of an id: before it the application does not know the
    // connection.
    bool const unknown = c.passive && c.accepted_unreported &&
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
// Reports `closed` of a detached connection once nothing is left to read.
void notify_closed_if_due(Engine& e, Connection& c);
// The next event of this turn, or false. Releases the record after `closed`.
bool next_event(Engine& e, Event& out);
bool events_pending(const Engine& e);

}  // namespace lockstep::tcp
