// The C calls of world.h: a kernel, and sockets on each of its hosts.
#include "tools/lib/sim_sockets/world.h"

#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "tools/lib/sim_apps/http_app.hpp"
#include "tools/lib/sim_sockets/simulated.hpp"
#include "tools/lib/world_file/world_file.hpp"

using lockstep::Duration;
using lockstep::Instant;
using lockstep::sim::HostIndex;
using lockstep::sim::Kernel;
using lockstep::tools::SimulatedSockets;

/// The opaque type of the C calls.
struct lockstep_world {
  lockstep_world(const lockstep::sim::World& world, std::uint64_t seed)
      : kernel(world, seed, lockstep::tools::world_registry()) {
    for (std::uint32_t i = 0; i < kernel.host_count(); ++i) {
      hosts.push_back(&SimulatedSockets::join(kernel, HostIndex{i}));
    }
  }

  Kernel kernel;
  std::vector<SimulatedSockets*> hosts;
  Instant now;
};

lockstep_world* lockstep_world_open(const char* path, uint64_t seed, char* why, size_t size) {
  try {
    lockstep::sim::World world = lockstep::tools::read_world(path);
    for (lockstep::sim::HostSpec& host : world.hosts) {
      host.config.tcp.accounts = true;  // needed for all fields of TCP_INFO
    }
    return std::make_unique<lockstep_world>(world, seed).release();
  } catch (const std::exception& failure) {
    if (why != nullptr && size != 0) {
      std::strncpy(why, failure.what(), size - 1);
      why[size - 1] = '\0';
    }
    return nullptr;
  }
}

void lockstep_world_free(lockstep_world* world) { delete world; }

lockstep_sockets* lockstep_world_host(lockstep_world* world, const char* name) {
  for (std::uint32_t i = 0; i < world->kernel.host_count(); ++i) {
    if (world->kernel.host(HostIndex{i}).spec().name.view() == name) {
      return world->hosts[i]->sockets().c();
    }
  }
  return nullptr;
}

void lockstep_world_run(lockstep_world* world, uint64_t ns) {
  world->now = world->now + Duration{ns};
  for (SimulatedSockets* each : world->hosts) {
    each->visit(world->kernel, world->now);
  }
  world->kernel.run_until(world->now);
}

uint64_t lockstep_world_now(const lockstep_world* world) { return world->now.ns; }

uint64_t lockstep_world_fingerprint(const lockstep_world* world) {
  return world->kernel.fingerprint();
}
