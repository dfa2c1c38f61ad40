// A nasty little world out of a seed: few hosts, every fault, mixed models, Config near its edges.
#pragma once

#include <cstdint>

#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// The same world for the same seed. Its faults end after some seconds of virtual time, so that the
// run completes within World::limit.
World nasty_world(std::uint64_t seed);

}  // namespace lockstep::sim
