// A simulated host's mPIPE: the hardware's driver on the model of the hardware.
#pragma once

#include <memory>

#include "sim/kernel/registry.hpp"

namespace lockstep::tools {

/// The value of `driver` in a world's file.
inline constexpr std::string_view mpipe_driver = "mpipe";

std::unique_ptr<sim::Nic> make_mpipe_nic(const sim::HostSpec& spec, Random random);

/// Registers the NICs that use drivers of hw/, so that a world may name them.
void add_nics(sim::Registry& registry);

/// `registry` with these NICs added.
sim::Registry with_nics(sim::Registry registry);

/// Gives an mPIPE to each host of the world that has no NIC; hosts whose frames the NIC cannot
/// carry keep the plain port. Receive rings are rounded up to the next depth that an mPIPE has.
/// Returns how many hosts got one.
std::uint32_t give_nics(sim::World& world);

/// Splits each host of the world that can have shards into this many, all on its one NIC. A host
/// that both opens and accepts connections with one peer cannot be split. Narrow port ranges are
/// widened, so that each worker has ports whose replies reach it. Returns how many hosts were
/// split.
std::uint32_t spread_over_workers(sim::World& world, ShardCount workers);

/// Draws from the seed the errors of a world's NICs; a third of them get none. All errors end
/// within 20 s.
void draw_errors(sim::World& world, std::uint64_t seed);

}  // namespace lockstep::tools
