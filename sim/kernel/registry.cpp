// The standard models and stations.
#include "sim/kernel/registry.hpp"

#include <utility>

#include "sim/models/attacker.hpp"
#include "sim/models/bulk.hpp"
#include "sim/models/chatter.hpp"
#include "sim/models/echo.hpp"
#include "sim/models/half_close.hpp"
#include "sim/models/mutual.hpp"
#include "sim/models/random_peer.hpp"
#include "sim/models/slow_reader.hpp"

namespace lockstep::sim {
namespace {

IpAddress address_of(const World& world, HostIndex host) {
  return world.hosts[host.value].config.addresses[0].address;
}

template <class ClientModel, class ServerModel>
std::unique_ptr<Model> pair(const World& world, const AppSpec& app, Role role) {
  if (role == Role::server) {
    return std::make_unique<ServerModel>(app);
  }
  return std::make_unique<ClientModel>(app, app.server_address.is_unspecified()
                                                ? address_of(world, app.server)
                                                : app.server_address);
}

std::unique_ptr<Model> mutual(const World& world, const AppSpec& app, Role role) {
  HostIndex const peer = role == Role::client ? app.server : app.client;
  return std::make_unique<Mutual>(app, address_of(world, peer));
}

std::unique_ptr<Station> random_peer(const World& world, const StationSpec& spec, Random random) {
  return std::make_unique<RandomPeer>(world, spec, random);
}

template <std::uint32_t attack>
std::unique_ptr<Station> attacker(const World& world, const StationSpec& spec, Random random) {
  return std::make_unique<Attacker>(world, spec, random, static_cast<Attack>(attack));
}

template <std::uint32_t... attacks>
void add_attackers(Registry& registry, std::integer_sequence<std::uint32_t, attacks...>) {
  (registry.add_station(name_of(static_cast<Attack>(attacks)), attacker<attacks>), ...);
}

}  // namespace

Registry Registry::standard() {
  Registry registry;
  registry.add_model("bulk", pair<BulkClient, BulkServer>);
  registry.add_model("echo", pair<EchoClient, EchoServer>);
  registry.add_model("chatter", pair<ChatterClient, ChatterServer>);
  registry.add_model("half_close", pair<HalfCloseClient, HalfCloseServer>);
  registry.add_model("slow_reader", pair<BulkClient, SlowReader>);
  registry.add_model("mutual", mutual);
  registry.add_station("random_peer", random_peer);
  add_attackers(registry, std::make_integer_sequence<std::uint32_t, attack_count>{});
  return registry;
}

ModelMaker Registry::model(Name name) const {
  for (const NamedModel& each : models_) {
    if (each.name == name) {
      return each.maker;
    }
  }
  return nullptr;
}

StationMaker Registry::station(Name name) const {
  for (const NamedStation& each : stations_) {
    if (each.name == name) {
      return each.maker;
    }
  }
  return nullptr;
}

NicMaker Registry::nic(Name name) const {
  for (const NamedNic& each : nics_) {
    if (each.name == name) {
      return each.maker;
    }
  }
  return nullptr;
}

}  // namespace lockstep::sim
