// Draws a whole world from a seed: topology, configurations, applications, faults, an adversary.
#pragma once

#include <cstdint>

#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// The same world for the same seed, on every machine. All faults end; behind the last one lies so
// much time that every application must have come to its end.
World draw_world(std::uint64_t seed);

// The time that is granted after the last fault: what backed-off timers may take at most.
inline constexpr Duration healing_time = Duration::seconds(1'200);

}  // namespace lockstep::sim
