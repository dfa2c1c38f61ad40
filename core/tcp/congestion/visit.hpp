// The field values of what congestion control remembers, for fingerprints and observers.
#pragma once

#include "core/tcp/inspect.hpp"

namespace lockstep::tcp::congestion {

// What an active part holds.
void visit(const Engine& e, const InFlightState& a, FieldSink& sink);
// What an observer sees of a connection.
void fill(Engine& e, Connection& c, ConnectionInfo& info);
// CHECKs what must hold between any two events.
void check_invariants(const Engine& e, const Connection& c, const InFlightState& a);

}  // namespace lockstep::tcp::congestion
