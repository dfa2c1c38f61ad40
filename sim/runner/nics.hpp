// What the runner needs from the program that links it: NICs, which sim does not contain.
#pragma once

#include <cstdint>

#include "sim/kernel/registry.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::sim {

/// The standard models and stations, and the available NICs.
Registry registry_with_nics();

/// Gives a NIC with errors drawn from the seed to each host of the world that supports one. Returns
/// the number of hosts with a NIC.
std::uint32_t give_nics(World& world, std::uint64_t seed);

/// Makes each host of the world that can have shards this many workers of its NIC. Returns the
/// number of such hosts.
std::uint32_t spread_over_workers(World& world, ShardCount workers);

}  // namespace lockstep::sim
