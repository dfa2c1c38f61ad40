// A simulated host's mPIPE: the hardware's driver on the model of the hardware.
#pragma once

#include <memory>

#include "sim/kernel/registry.hpp"

namespace lockstep::tools {

/// What `driver` in a world's file may be.
inline constexpr std::string_view mpipe_driver = "mpipe";

std::unique_ptr<sim::Nic> make_mpipe_nic(const sim::HostSpec& spec, Random random);

/// Adds the NICs that stand on drivers of hw/ to those that a world may name.
void add_nics(sim::Registry& registry);

/// `registry` with these NICs.
sim::Registry with_nics(sim::Registry registry);

/// Gives each host of the world that has none an mPIPE; what the NIC cannot carry keeps the plain
/// port. Receive rings become as deep as the next one that an mPIPE has. How many were given.
std::uint32_t give_nics(sim::World& world);

/// Makes each host of the world that can have shards one of so many, all on the NIC that it has.
/// Who calls and is called by the same host cannot. A narrow range of ports is widened, so that
/// each worker finds some whose answers reach it. How many were spread.
std::uint32_t spread_over_workers(sim::World& world, ShardCount workers);

/// Gives the NICs of a world what a seed draws of errors: of a third of them none. All are over
/// after 20 s at most.
void draw_errors(sim::World& world, std::uint64_t seed);

}  // namespace lockstep::tools
