// The models and stations that every kernel knows.
#include "sim/kernel/registry.hpp"

#include "sim/models/adversary.hpp"
#include "sim/models/bulk.hpp"
#include "sim/models/chatter.hpp"
#include "sim/models/echo.hpp"
#include "sim/models/half_close.hpp"
#include "sim/models/mutual.hpp"
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
  return std::make_unique<ClientModel>(app, address_of(world, app.server));
}

std::unique_ptr<Model> mutual(const World& world, const AppSpec& app, Role role) {
  HostIndex const peer = role == Role::client ? app.server : app.client;
  return std::make_unique<Mutual>(app, address_of(world, peer));
}

std::unique_ptr<Station> adversary(const World& world, const StationSpec& spec, Random random) {
  return std::make_unique<Adversary>(world, spec, random);
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
  registry.add_station("adversary", adversary);
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

}  // namespace lockstep::sim
