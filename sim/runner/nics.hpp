// What the runner asks of the program that it is linked into: network NICs, which sim has none of.
#pragma once

#include <cstdint>

#include "sim/kernel/registry.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::sim {

/// The standard models and stations, and the NICs that hosts may have.
Registry registry_with_nics();

/// Gives a NIC to each host of the world that can have one, its errors drawn from the seed. Says
/// how many have one now.
std::uint32_t give_nics(World& world, std::uint64_t seed);

/// Makes each host of the world that can be several so many workers, all on the NIC that it has.
/// Says how many were.
std::uint32_t spread_over_workers(World& world, ShardCount workers);

}  // namespace lockstep::sim
