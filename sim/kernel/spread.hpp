// A host of several shards: stacks side by side behind one port, with the same addresses.
#pragma once

#include "core/units/random.hpp"
#include "core/units/shard.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// Replaces this host by `shards` hosts. It must be on an Ethernet link and have its link address.
// It becomes the first shard; the others follow all other hosts and are named NAME-1, NAME-2 and so
// on. A port named NAME-port takes its place on its link. A fault of the host applies to each
// shard.
// With a NIC the shards are workers of one NIC, and the NIC steers frames, correctly or not.
// Call it after everything else in the world that refers to the host is complete. CHECKs 2 <=
// shards <= ShardCount::most.
struct Spreading {
  HostIndex host;
  ShardCount shards;
  Probability missteer;
};
void spread(World& world, const Spreading& how);

// The part of an application that one shard of a client runs: every shards-th flow.
AppSpec share_of(const AppSpec& app, ShardId shard, ShardCount shards);

}  // namespace lockstep::sim
