// Stall: while active, a host takes no turns; arriving frames wait in its receive ring.
#pragma once

namespace lockstep::sim {

struct Stall {};

}  // namespace lockstep::sim
