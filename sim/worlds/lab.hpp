// A world of a laboratory from a seed: routers, a queue discipline, and applications that draw.
#pragma once

#include <cstdint>

#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// Deterministic. Two or three routers in a row, every discipline, shapers, traces, all kinds of
// draws, IPv4 and IPv6.
World lab_world(std::uint64_t seed);

}  // namespace lockstep::sim
