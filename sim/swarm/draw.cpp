// Draws the topology and calls the functions that draw the parts.
#include "sim/swarm/draw.hpp"

#include <algorithm>

#include "sim/swarm/draw_parts.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint32_t hosts_most = 6;

// MTUs of hosts; a world has at most two different ones.
std::uint32_t draw_mtu(Dice& dice) {
  return dice.pick({68u, 128u, 296u, 576u, 1'006u, 1'500u, 1'500u, 1'500u, 4'000u, 9'000u});
}

void add_link(Dice& dice, World& world, NodeRef a, NodeRef b) {
  constexpr Name names[] = {"l0", "l1", "l2", "l3", "l4", "l5", "l6", "l7", "l8", "l9", "l10"};
  LinkSpec link;
  link.name = names[std::min<std::size_t>(world.links.size(), 10)];
  link.a = a;
  link.b = b;
  link.forward = draw_lane(dice);
  link.back = dice.percent(70) ? link.forward : draw_lane(dice);
  std::uint32_t mtu = 1'500;
  for (const HostSpec& host : world.hosts) {
    mtu = std::max(mtu, host.config.mtu.count);
  }
  // The link of a host carries no more than the host's MTU; links between switches carry all sizes.
  for (NodeRef const node : {a, b}) {
    if (node.kind == NodeKind::host && a.kind != b.kind) {
      mtu = world.hosts[node.index].config.mtu.count;
    }
  }
  link.forward.mtu_bytes = mtu;
  link.back.mtu_bytes = mtu;
  world.links.push_back(link);
}

// A pair, a star, or a row of switches.
void draw_links(Dice& dice, World& world, bool random_peer) {
  auto const hosts = static_cast<std::uint32_t>(world.hosts.size());
  bool const bare = world.hosts[0].config.link == LinkType::ip;
  if (bare || (hosts == 2 && !random_peer && dice.percent(70))) {
    add_link(dice, world, {NodeKind::host, 0}, {NodeKind::host, 1});
    return;
  }
  std::uint32_t const switches = 1 + dice.below32(3);
  constexpr Name names[] = {"s0", "s1", "s2"};
  for (std::uint32_t i = 0; i < switches; ++i) {
    world.switches.push_back({names[i], dice.pick({2u, 1'024u})});
    if (i != 0) {
      add_link(dice, world, {NodeKind::learning_switch, i - 1}, {NodeKind::learning_switch, i});
    }
  }
  for (std::uint32_t i = 0; i < hosts; ++i) {
    add_link(dice, world, {NodeKind::host, i}, {NodeKind::learning_switch, dice.below32(switches)});
  }
  if (random_peer) {
    add_link(dice, world, {NodeKind::station, 0},
             {NodeKind::learning_switch, dice.below32(switches)});
  }
}

void add_adversary(Dice& dice, World& world) {
  StationSpec station;
  station.name = "eve";
  station.model = dice.percent(60) ? "random_peer" : "drop_case_generator";
  if (!world.hosts[0].config.addresses[0].address.is_v4()) {
    station.model = "drop_case_generator6";
  }
  station.address = IpAddress::v4(10, 0, 0, 200);
  station.every = dice.pick(
      {Duration::microseconds(300), Duration::milliseconds(5), Duration::milliseconds(60)});
  station.acts = dice.pick({std::uint64_t{50}, std::uint64_t{300}, std::uint64_t{600}});
  world.stations.push_back(station);
}

// Static neighbour entries for all hosts: no ARP is needed.
void add_static_neighbours(World& world) {
  for (HostSpec& host : world.hosts) {
    std::uint32_t count = 0;
    for (const HostSpec& each : world.hosts) {
      if (!(each.config.mac == host.config.mac)) {
        host.config.static_neighbours[count++] = {each.config.addresses[0].address,
                                                  each.config.mac};
      }
    }
    host.config.static_neighbour_count = {count};
    host.config.neighbours_max = {std::max(host.config.neighbours_max.value, count + 2)};
  }
}

// Links with a smaller MTU than the hosts at their ends, with routers that report it.
void draw_narrow(Dice& dice, World& world) {
  bool const v4 = world.hosts[0].config.addresses[0].address.is_v4();
  for (LinkSpec& link : world.links) {
    std::uint32_t const mtu = v4 ? dice.pick({576u, 1'006u, 1'280u, 1'492u, 1'499u})
                                 : dice.pick({1'280u, 1'400u, 1'492u, 1'499u});
    bool const narrow = dice.percent(60);
    for (LaneSpec* const lane : {&link.forward, &link.back}) {
      lane->answers_too_big = narrow;
      lane->mtu_bytes = narrow ? std::min(lane->mtu_bytes, mtu) : lane->mtu_bytes;
    }
  }
}

bool is_narrow(const World& world) {
  return std::any_of(world.links.begin(), world.links.end(),
                     [](const LinkSpec& link) { return link.forward.answers_too_big; });
}

// All settings that change the size of a segment's data, at once.
void draw_together(Dice& dice, World& world) {
  if (!dice.percent(25)) {
    return;
  }
  for (HostSpec& host : world.hosts) {
    tcp::Config& tcp = host.config.tcp;
    tcp.sack = tcp.dsack = tcp.timestamps = tcp.window_scale = true;
    tcp.ecn = tcp::EcnPolicy::on;
    tcp.path_mtu_discovery = true;
    tcp.path_mtu_probing = dice.percent(75);
  }
  for (LinkSpec& link : world.links) {
    for (LaneSpec* const lane : {&link.forward, &link.back}) {
      lane->mark_packets = dice.pick({0u, 1u, 3u});
    }
  }
  draw_narrow(dice, world);
}

World draw_mixed(const Random& root) {
  Dice topology(root.fork("topology"));
  World world;
  world.name = "swarm";
  std::uint32_t const hosts = topology.pick({2u, 2u, 2u, 3u, 4u, 6u});
  Dice host_dice(root.fork("hosts"));
  draw_hosts(host_dice, world, hosts);
  Dice family(root.fork("family"));
  draw_family(family, world);
  fit_least_segments(world);
  bool const random_peer = world.hosts[0].config.link == LinkType::ethernet && topology.percent(35);
  if (random_peer) {
    add_adversary(topology, world);
  }
  draw_links(topology, world, random_peer);
  Dice together(root.fork("together"));
  draw_together(together, world);
  give_macs(world);
  if (topology.percent(15)) {
    add_static_neighbours(world);
  }
  Dice apps(root.fork("apps"));
  draw_apps(apps, world);
  if (is_narrow(world)) {
    draw_full_segments(together, world);
  }
  aim_sequence_numbers(apps, world);
  Dice lab(root.fork("lab"));
  draw_lab(lab, world);
  Dice faults(root.fork("faults"));
  draw_faults(faults, world);
  world.invariants_every = 0;  // the invariant checker checks more often
  world.limit = faults_end(world).since(Instant{0}) + healing_time(world);
  return world;
}

}  // namespace

LaneSpec draw_lane(Dice& dice) {
  LaneSpec lane;
  lane.rate_bits_per_second =
      dice.pick({std::uint64_t{0}, std::uint64_t{1'000'000}, std::uint64_t{10'000'000},
                 std::uint64_t{100'000'000}, std::uint64_t{1'000'000'000}});
  lane.delay = Duration::microseconds(dice.pick({0u, 5u, 500u, 5'000u, 50'000u, 300'000u}));
  if (dice.percent(40)) {
    lane.queue_packets = dice.pick({1u, 4u, 16u, 64u});
    lane.mark_packets = dice.pick({0u, 1u, 3u});
  }
  if (dice.percent(20)) {
    lane.queue_bytes = dice.pick({std::uint64_t{1}, std::uint64_t{20'000}});
  }
  return lane;
}

void draw_hosts(Dice& dice, World& world, std::uint32_t count) {
  bool const bare = count == 2 && dice.percent(25);
  std::uint32_t const mtus[2] = {draw_mtu(dice), draw_mtu(dice)};
  Config const profile = draw_profile(dice);
  constexpr Name names[hosts_most] = {"a", "b", "c", "d", "e", "f"};
  for (std::uint32_t i = 0; i < count; ++i) {
    HostSpec host;
    host.name = names[i];
    host.config = dice.percent(75) ? profile : draw_profile(dice);
    host.config.link = bare ? LinkType::ip : LinkType::ethernet;
    host.config.addresses[0] = {IpAddress::v4(10, 0, 0, static_cast<std::uint8_t>(i + 1)), 24};
    host.config.address_count = {1};
    if (dice.percent(20)) {
      host.config.addresses[1] = {IpAddress::v4(10, 1, 0, static_cast<std::uint8_t>(i + 1)), 16};
      host.config.address_count = {2};
    }
    draw_config(dice, host.config);
    std::uint32_t const mtu = mtus[dice.percent(80) ? 0 : 1];
    set_mtu(host.config, Bytes{mtu});
    draw_host(dice, host);
    world.hosts.push_back(host);
  }
}

// What a host sends to a peer that names a smaller MSS than the least it takes must fit into that
// peer's link: all frames would be lost.
void fit_least_segments(World& world) {
  constexpr Bytes headers{40};
  Bytes narrowest{65'535};
  for (const HostSpec& host : world.hosts) {
    narrowest = least(narrowest, host.config.mtu);
  }
  for (HostSpec& host : world.hosts) {
    host.config.tcp.mss_least = least(host.config.tcp.mss_least, narrowest - headers);
  }
}

bool draws_long(std::uint64_t seed) {
  Dice rare(Random(seed).fork("swarm").fork("rare"));
  return rare.below(long_one_in) == 0;
}

World draw_world(std::uint64_t seed) {
  Random const root = Random(seed).fork("swarm");
  if (draws_long(seed)) {
    return draw_long(root);
  }
  Dice kind(root.fork("kind"));
  if (kind.percent(10)) {
    return draw_trickled(root);
  }
  Dice routed(root.fork("routed"));
  return routed.percent(8) ? draw_routed(root) : draw_mixed(root);
}

Duration healing_time(const World& world) {
  bool slow = false;
  for (const LinkSpec& link : world.links) {
    for (const LaneSpec& lane : {link.forward, link.back}) {
      slow = slow || lane.queue_packets == 1 || lane.queue_bytes == 1;
    }
  }
  for (const HostSpec& host : world.hosts) {
    constexpr std::int32_t ports_enough = 16;
    Config const& config = host.config;
    slow = slow || host.receive_ring == 1 ||
           std::uint32_t{config.tcp.port_last.value} - config.tcp.port_first.value < ports_enough;
  }
  // The connection that gives up last does so before the healing time is over.
  Duration longest;
  for (const HostSpec& host : world.hosts) {
    longest = std::max(longest, host.config.tcp.user_timeout);
  }
  return Duration::seconds(slow ? 48'000 : 1'200) + longest;
}

}  // namespace lockstep::sim
