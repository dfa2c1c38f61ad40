// Limits on data stored above gaps: a share for each remote host; old data is evicted under
// pressure.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp::gaps {

// Whether `missing` more blocks and, if `fresh`, one more range may be stored above a gap of this
// connection. Evicts data above old gaps of other connections if necessary. O(1) plus the
// evictions.
bool make_room(Engine& e, const Connection& c, const InFlightState& a, Count missing, bool fresh);

// Account for blocks or one range above gaps that the connection has gained or released.
void add_blocks(Engine& e, const Connection& c, InFlightState& a, Count blocks);
void remove_blocks(Engine& e, const Connection& c, InFlightState& a, Count blocks);
void add_range(Engine& e, const Connection& c, InFlightState& a);
void remove_range(Engine& e, const Connection& c, InFlightState& a);
// RCV.NXT advanced, or the first range was stored: restarts the age of the gap.
void renew(Engine& e, InFlightState& a);

}  // namespace lockstep::tcp::gaps
