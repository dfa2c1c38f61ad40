// Stall: while it holds, a host does not turn at all; what arrives waits in its receive ring.
#pragma once

namespace lockstep::sim {

struct Stall {};

}  // namespace lockstep::sim
