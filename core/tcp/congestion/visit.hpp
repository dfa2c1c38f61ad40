// Field values of congestion control, for fingerprints and observers.
#pragma once

#include "core/tcp/inspect.hpp"

namespace lockstep::tcp::congestion {

// The fields in an InFlightState.
void visit(const Engine& e, const InFlightState& a, FieldSink& sink);
// Fills in what an observer sees of a connection.
void fill(Engine& e, Connection& c, ConnectionInfo& info);
// CHECKs the invariants, which hold between any two events.
void check_invariants(const Engine& e, const Connection& c, const InFlightState& a);

}  // namespace lockstep::tcp::congestion
