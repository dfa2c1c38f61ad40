// Small worlds made by a line of code.
#include "sim/worlds/build.hpp"

namespace lockstep::sim {

Config profile_at(std::uint32_t number) {
  switch (number) {
    case 0:
      return profile_rfc();
    case 1:
      return profile_linux();
    case 2:
      return profile_freebsd();
    default:
      return Config{};
  }
}

HostSpec plain_host(Name name, std::uint8_t last, const Config& config) {
  HostSpec host;
  host.name = name;
  host.config = config;
  host.config.addresses[0] = {IpAddress::v4(10, 0, 0, last), 24};
  host.config.address_count = {1};
  host.config.mac.octets = {0x02, 0, 0, 0, 0, last};
  return host;
}

World two_hosts(const LaneSpec& lane) {
  World world;
  world.name = "two_hosts";
  world.hosts = {plain_host("a", 1), plain_host("b", 2)};
  world.links = {{"ab", {NodeKind::host, 0}, {NodeKind::host, 1}, lane, lane}};
  return world;
}

AppSpec app_of(Name model, std::uint64_t bytes) {
  AppSpec app;
  app.name = model;
  app.model = model;
  app.client = {0};
  app.server = {1};
  app.bytes = bytes;
  return app;
}

LaneFaultSpec fault_of_link(Name name, const LaneFault& fault) {
  LaneFaultSpec spec;
  spec.name = name;
  spec.fault = fault;
  return spec;
}

}  // namespace lockstep::sim
