// The list of connections with something to send.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Appends the connection, which must have an active part, to the list.
inline void make_ready(Engine& e, Connection& c, InFlightState& a) {
  if (c.place == SendPlace::none) {
    c.place = SendPlace::ready;
    a.quantum = 0;
    e.ready().push_back(c.active);
  }
}
inline void make_ready(Engine& e, Connection& c) { make_ready(e, c, e.active(c)); }
// The first connection of the list has nothing more to send: it leaves the list, and the timer of a
// delayed ACK is set.
void leave_ready(Engine& e, Connection& c);
// Takes the connection out of the list, or out of the waiting list of a neighbour.
void unready(Engine& e, Connection& c);

}  // namespace lockstep::tcp
