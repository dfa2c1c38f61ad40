// A host of several shards: stacks side by side behind one port, with the same addresses.
#pragma once

#include "core/units/random.hpp"
#include "core/units/shard.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// Makes `shards` hosts of this one, which must be on a link of Ethernet frames and have its link
// address: itself the first, the others behind all hosts, called NAME-1, NAME-2 and so on; and the
// port, NAME-port, that takes its place on its link. A fault of the host is one of each of them.
// With a NIC they stand on one, each a worker of it, and it is the NIC that steers, right or
// wrong. To be called once everything else refers to the host.
// CHECKs 2 <= shards <= ShardCount::most.
struct Spreading {
  HostIndex host;
  ShardCount shards;
  Probability missteer;
};
void spread(World& world, const Spreading& how);

// What one shard of a client does of an application: every so manyth flow.
AppSpec share_of(const AppSpec& app, ShardId shard, ShardCount shards);

}  // namespace lockstep::sim
