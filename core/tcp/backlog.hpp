// The backlog of a listener, and the half-open connections that give way to others.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// The handshake of a listener's connection is complete. It counts against the backlog until the
// application has its `accepted` event.
void complete_in_backlog(Engine& e, const Connection& c);
// Whether the handshake may complete: not while the backlog is full of connections that wait for
// the application.
bool may_complete(Engine& e, const Connection& c);
// The listener against whose backlog the connection still counts, or null.
Listener* listener_of(Engine& e, const Connection& c);
// The connection no longer counts against a backlog.
void leave_backlog(Engine& e, Connection& c);

// Enters a connection in SYN-RECEIVED into the list of those that give way to others until the
// application knows them, as their peers have proved nothing yet.
void hold_half_open(Engine& e, Connection& c);
// Ends one of them, to free its record and its active part; false if none may end.
[[nodiscard]] bool shed_half_open(Engine& e);
// Whether there is a record and an active part for one more connection whose peer has proved its
// address, or that the application opens. If not, the oldest half-open connection is ended,
// provided that its SYN-ACK was sent twice.
[[nodiscard]] bool make_room_for_one(Engine& e);

}  // namespace lockstep::tcp
