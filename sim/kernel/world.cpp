// Validates a world, and finds out when its faults end.
#include "sim/kernel/world.hpp"

#include <algorithm>

#include "core/units/check.hpp"
#include "core/units/random.hpp"
#include "sim/routers/plan.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint32_t nodes_max = 1'000'000;

std::uint32_t count_of(const World& world, NodeKind kind) {
  switch (kind) {
    case NodeKind::host:
      return static_cast<std::uint32_t>(world.hosts.size());
    case NodeKind::station:
      return static_cast<std::uint32_t>(world.stations.size());
    case NodeKind::learning_switch:
      return static_cast<std::uint32_t>(world.switches.size());
    case NodeKind::router:
      return static_cast<std::uint32_t>(world.routers.size());
  }
  return 0;
}

// A number for each node: hosts, then stations, then switches.
std::uint32_t number_of(const World& world, NodeRef node) {
  auto const hosts = static_cast<std::uint32_t>(world.hosts.size());
  auto const stations = static_cast<std::uint32_t>(world.stations.size());
  switch (node.kind) {
    case NodeKind::host:
      return node.index;
    case NodeKind::station:
      return hosts + node.index;
    case NodeKind::learning_switch:
      return hosts + stations + node.index;
    case NodeKind::router:
      return hosts + stations + static_cast<std::uint32_t>(world.switches.size()) + node.index;
  }
  return 0;
}

bool exists(const World& world, NodeRef node) { return node.index < count_of(world, node.kind); }

LinkType link_type(const World& world, NodeRef node) {
  return node.kind == NodeKind::host ? world.hosts[node.index].config.link : LinkType::ethernet;
}

WorldFault fault_of_link(const World& world, const LinkSpec& link) {
  if (!exists(world, link.a) || !exists(world, link.b)) {
    return {"a link must join two nodes that exist", link.name};
  }
  if (link.a == link.b) {
    return {"a link must join two different nodes", link.name};
  }
  if (link_type(world, link.a) != link_type(world, link.b)) {
    return {"both ends of a link must have the same link type", link.name};
  }
  for (const LaneSpec* lane : {&link.forward, &link.back}) {
    if (lane->mtu_bytes < 68 || lane->mtu_bytes > 65'535) {
      return {"the MTU of a link must be 68 to 65535 bytes", link.name};
    }
  }
  return {};
}

// A link to a router ends at its port, which belongs to nothing else: paths through routers may be
// loops.
bool ends_at_router(const LinkSpec& link) {
  return link.a.kind == NodeKind::router || link.b.kind == NodeKind::router;
}

// In a loop of links a flooded frame would circulate for ever. Finds loops by union-find.
WorldFault fault_of_topology(const World& world) {
  std::vector<std::uint32_t> set(world.hosts.size() + world.stations.size() +
                                 world.switches.size() + world.routers.size());
  std::vector<std::uint32_t> degree(set.size());
  for (std::uint32_t i = 0; i < set.size(); ++i) {
    set[i] = i;
  }
  for (const LinkSpec& link : world.links) {
    std::uint32_t const a = set[number_of(world, link.a)];
    std::uint32_t const b = set[number_of(world, link.b)];
    if (a == b && !ends_at_router(link)) {
      return {"the links make a loop: switches here have no spanning tree", link.name};
    }
    if (!ends_at_router(link)) {
      std::replace(set.begin(), set.end(), b, a);
    }
    ++degree[number_of(world, link.a)];
    ++degree[number_of(world, link.b)];
  }
  for (std::uint32_t i = 0; i < world.hosts.size(); ++i) {
    if (degree[i] != 1) {
      return {"a host must be on exactly one link", world.hosts[i].name};
    }
  }
  for (std::uint32_t i = 0; i < world.stations.size(); ++i) {
    if (degree[world.hosts.size() + i] != 1) {
      return {"a station must be on exactly one link", world.stations[i].name};
    }
  }
  return {};
}

WorldFault fault_of_host(const HostSpec& host) {
  if (std::string_view const fault = fault_of_nic(host); !fault.empty()) {
    return {fault, host.name};
  }
  // The kernel adds keys where there are none.
  Config keyed = host.config;
  draw_keys(keyed, entropy_of(Random(1)));
  std::string_view const fault = lockstep::fault_of(keyed);
  if (!fault.empty()) {
    return {fault, host.name};
  }
  if (host.transmit_ring == 0 || host.receive_ring == 0) {
    return {"a ring must have room for at least one frame", host.name};
  }
  if (host.shards() != 1 && host.shard_second == host.shard_first) {
    return {"the key `shards`, not the configuration, sets a host's shards", host.name};
  }
  if (host.clock.skew_ppb > ClockSpec::skew_ppb_max ||
      host.clock.skew_ppb < -ClockSpec::skew_ppb_max) {
    return {"a clock's skew must be within 500000000 parts per billion", host.name};
  }
  return {};
}

WorldFault fault_of_app(const World& world, const AppSpec& app) {
  if (app.client.value >= world.hosts.size() || app.server.value >= world.hosts.size()) {
    return {"an application must name two hosts that exist", app.name};
  }
  if (app.client == app.server) {
    return {"an application's client and server must be two hosts", app.name};
  }
  bool const spread =
      world.hosts[app.client.value].shards() != 1 || world.hosts[app.server.value].shards() != 1;
  if (spread && app.model == Name("mutual")) {
    return {"a mutual application fixes its ports: neither host can have shards", app.name};
  }
  if (app.port.value == 0 || app.flows == 0 || app.repeat == 0) {
    return {"an application needs at least a port, a flow and a connection", app.name};
  }
  if (app.draws.arrivals.kind != ArrivalKind::regular &&
      world.hosts[app.client.value].shards() != 1) {
    return {"a client that draws its arrivals has one shard", app.name};
  }
  if (app.draws.arrivals.hardly_on()) {
    return {"a source of arrivals must be on for longer", app.name};
  }
  return {};
}

// Whether a node is there. A station's is one that speaks TCP for applications.
bool is_end(const World& world, NodeRef node) {
  switch (node.kind) {
    case NodeKind::host:
      return node.index < world.hosts.size() && world.hosts[node.index].shards() == 1;
    case NodeKind::station:
      return node.index < world.stations.size() && !world.stations[node.index].device.empty();
    case NodeKind::learning_switch:
    case NodeKind::router:
      return false;
  }
  return false;
}

WorldFault fault_of_station_app(const World& world, const StationAppSpec& each) {
  if (!is_end(world, each.client) || !is_end(world, each.server) || each.client == each.server) {
    return {"an application with a device names two ends, each a device or a host with one shard",
            each.app.name};
  }
  if (each.app.port.value == 0 || each.app.flows == 0 || each.app.repeat == 0) {
    return {"an application needs at least a port, a flow and a connection", each.app.name};
  }
  return {};
}

// Hosts on links of one NIC must agree on the properties that the NIC has only once.
WorldFault fault_of_sharing(const World& world, const HostSpec& host) {
  const HostSpec& first = world.hosts[host.nic_first.value];
  if (host.nic_link != 0 &&
      (host.config.mtu != first.config.mtu || host.config.link != first.config.link ||
       host.config.burst_frames != first.config.burst_frames || host.shards() != first.shards() ||
       host.transmit_ring != first.transmit_ring || host.receive_ring != first.receive_ring ||
       host.clock.origin != first.clock.origin || host.clock.skew_ppb != first.clock.skew_ppb)) {
    return {
        "hosts on links of one nic have the same link, mtu_bytes, burst_frames, shards, "
        "transmit_ring, receive_ring and clock",
        host.name};
  }
  return {};
}

}  // namespace

void share_nic(World& world, HostIndex first, HostIndex other) {
  CHECK(first.value < other.value);
  HostSpec& owner = world.hosts[first.value];
  CHECK(!owner.nic.plain());
  CHECK(owner.nic_link == 0);
  HostSpec& host = world.hosts[other.value];
  host.nic = owner.nic;
  host.nic_first = first;
  host.nic_link = owner.nic_links++;
}

std::string_view fault_of_nic(const HostSpec& host) {
  constexpr std::uint32_t mtu_most = 10'222;
  constexpr std::uint32_t transmit_most = 8'191;
  constexpr std::uint32_t nic_workers_max = 64;
  constexpr std::uint32_t nic_rings_max = 24;
  constexpr std::uint32_t nic_links_max = 4;
  if (host.nic.plain()) {
    return {};
  }
  if (host.config.mtu.count > mtu_most) {
    return "a host with a nic has an MTU of at most 10222 bytes";
  }
  if (host.transmit_ring == 0 || host.transmit_ring > transmit_most) {
    return "a host with a nic has a transmit_ring of 1 to 8191 frames";
  }
  if (host.shards() > nic_workers_max) {
    return "a nic has at most 64 workers: shards";
  }
  if (host.nic_links > nic_links_max) {
    return "a nic has at most 4 links: same_nic_as";
  }
  // From 25 workers on, some share a transmit ring; with several links, from fewer workers on.
  std::uint32_t const rings = nic_rings_max / host.nic_links;
  std::uint32_t const sharing = (host.shards() + rings - 1) / rings;
  if (host.transmit_ring * sharing > transmit_most) {
    return "the workers of a nic that share a ring have a transmit_ring of 8191 frames together";
  }
  if (host.nic.batch == 0 || host.nic.batch > 32) {
    return "the batch of a nic is 1 to 32 frames";
  }
  if (host.nic.link_down_for.ns != 0 && host.nic.link_up_for.ns == 0) {
    return "a link that goes down needs a time up: link_up_for";
  }
  return {};
}

World with_keys(World world, std::uint64_t seed) {
  Random const root = Random(seed).fork("keys");
  for (HostSpec& host : world.hosts) {
    bool const alone = host.shards() == 1;
    HostSpec const& first = alone ? host : world.hosts[host.shard_first.value];
    draw_keys(host.config, entropy_of(root.fork(first.name.view())));
  }
  return world;
}

WorldFault fault_of(const World& world) {
  if (world.hosts.size() + world.stations.size() + world.switches.size() > nodes_max) {
    return {"more nodes than a world can have", world.name};
  }
  for (const HostSpec& host : world.hosts) {
    if (WorldFault const fault = fault_of_host(host); !fault.none()) {
      return fault;
    }
    if (WorldFault const fault = fault_of_sharing(world, host); !fault.none()) {
      return fault;
    }
  }
  for (const LinkSpec& link : world.links) {
    if (WorldFault const fault = fault_of_link(world, link); !fault.none()) {
      return fault;
    }
  }
  for (const AppSpec& app : world.apps) {
    if (WorldFault const fault = fault_of_app(world, app); !fault.none()) {
      return fault;
    }
  }
  for (const StationAppSpec& each : world.station_apps) {
    if (WorldFault const fault = fault_of_station_app(world, each); !fault.none()) {
      return fault;
    }
  }
  for (const LaneFaultSpec& fault : world.lane_faults) {
    if (fault.link >= world.links.size()) {
      return {"a fault must name a link that exists", fault.name};
    }
  }
  for (const HostFaultSpec& fault : world.host_faults) {
    if (fault.host.value >= world.hosts.size()) {
      return {"a fault must name a host that exists", fault.name};
    }
  }
  if (WorldFault const fault = fault_of_topology(world); !fault.none() || world.routers.empty()) {
    return fault;
  }
  return plan_routes(world).fault;
}

Instant faults_end(const World& world) {
  Instant end{0};
  for (const LaneFaultSpec& fault : world.lane_faults) {
    end = later(end, fault.active.until);
  }
  for (const HostFaultSpec& fault : world.host_faults) {
    end = later(end, fault.active.until);
  }
  for (const HostSpec& host : world.hosts) {
    if (!host.nic.plain() && host.nic.errs()) {
      end = later(end, host.nic.errors_until);
    }
  }
  return end;
}

void give_macs(World& world) {
  std::uint32_t number = 1;
  auto const give = [&number](Mac& mac) {
    if (mac == Mac{}) {
      mac.octets = {0x02,
                    0x00,
                    static_cast<std::uint8_t>(number >> 24),
                    static_cast<std::uint8_t>(number >> 16),
                    static_cast<std::uint8_t>(number >> 8),
                    static_cast<std::uint8_t>(number)};
    }
    ++number;
  };
  for (HostSpec& host : world.hosts) {
    give(host.config.mac);
  }
  for (StationSpec& station : world.stations) {
    give(station.mac);
  }
}

}  // namespace lockstep::sim
