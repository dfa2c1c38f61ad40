// Who may keep data above gaps: a share for each remote, and age under pressure.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp::gaps {

// Whether `missing` more blocks and, if `fresh`, one more range may be kept above a gap of this
// connection. What others left above old gaps gives way if it must. Costs O(1), and what gives way.
bool make_room(Engine& e, const Connection& c, const InFlightState& a, Count missing, bool fresh);

// The connection holds so many more blocks, or one more range, above gaps; or less of them.
void add_blocks(Engine& e, const Connection& c, InFlightState& a, Count blocks);
void remove_blocks(Engine& e, const Connection& c, InFlightState& a, Count blocks);
void add_range(Engine& e, const Connection& c, InFlightState& a);
void remove_range(Engine& e, const Connection& c, InFlightState& a);
// RCV.NXT has moved, or the first range came: the gap that is open now begins to age.
void renew(Engine& e, InFlightState& a);

}  // namespace lockstep::tcp::gaps
