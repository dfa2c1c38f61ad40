// A nasty small world from a seed: few hosts, every fault, mixed models, Config near its limits.
#pragma once

#include <cstdint>

#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// Deterministic. Its faults end after some seconds of virtual time, so that the run completes
// within World::limit.
World nasty_world(std::uint64_t seed);

}  // namespace lockstep::sim
