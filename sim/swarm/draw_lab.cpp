// Draws what a laboratory varies: queue disciplines, shapers, rate traces, random applications, and
// worlds with routers.
#include <algorithm>

#include "sim/routers/plan.hpp"
#include "sim/swarm/draw.hpp"
#include "sim/swarm/draw_parts.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint64_t shape_least = 500'000;

void draw_trace(Dice& dice, OutputSpec& output) {
  constexpr std::uint32_t period_ms = 50;
  for (std::uint32_t at = 1; at < period_ms; ++at) {
    output.trace_ms.insert(output.trace_ms.end(), dice.pick({0u, 0u, 1u, 2u}), at);
  }
  output.trace_ms.push_back(period_ms);
}

void draw_red(Dice& dice, RedSpec& red) {
  red.min_packets = dice.pick({1u, 5u});
  red.max_packets = red.min_packets + dice.pick({1u, 10u, 30u});
  red.gentle = dice.percent(50);
  red.ecn = dice.percent(50);
}

// Random amounts are as large as fixed ones, at most, so that a seed stays cheap.
void draw_random_app(Dice& dice, AppSpec& app) {
  AppDraws& draws = app.draws;
  if (dice.percent(50)) {
    draws.start.kind = DrawKind::uniform;
    draws.start.least = 0;
    draws.start.most = ms(2'000).ns;
  }
  bool const sized = app.model == Name("bulk") || app.model == Name("echo");
  if (sized && app.bytes > 1) {
    draws.bytes.kind = dice.pick({DrawKind::fixed, DrawKind::uniform, DrawKind::exponential,
                                  DrawKind::pareto, DrawKind::listed});
    draws.bytes.least = 1;
    draws.bytes.mean = app.bytes / 2;
    draws.bytes.most = app.bytes;
    draws.bytes.shape_thousandths = 1'200;
    draws.bytes.values = {1, app.bytes / 2 + 1, app.bytes};
  }
  if (dice.percent(30)) {
    draws.think.kind = DrawKind::exponential;
    draws.think.mean = ms(200).ns;
    draws.think.most = ms(5'000).ns;
  }
  if (app.model != Name("mutual") && dice.percent(50)) {
    draws.arrivals = {dice.pick({ArrivalKind::poisson, ArrivalKind::on_off}), ms(100), ms(300),
                      ms(500)};
  }
}

LaneSpec draw_hop(Dice& dice) {
  LaneSpec lane;
  lane.rate_bits_per_second = dice.pick(
      {std::uint64_t{1'000'000}, std::uint64_t{10'000'000}, std::uint64_t{1'000'000'000}});
  lane.delay = Duration::microseconds(dice.pick({5u, 500u, 20'000u}));
  lane.queue_packets = dice.pick({4u, 16u, 64u});
  return lane;
}

// Each host has a prefix of its own, so that every packet crosses a router.
void give_prefixes(World& world) {
  for (std::uint32_t i = 0; i < world.hosts.size(); ++i) {
    Config& config = world.hosts[i].config;
    bool const six = !config.addresses[0].address.is_v4();
    auto const net = static_cast<std::uint8_t>(i + 1);
    config.addresses[0] = {six ? IpAddress{std::uint64_t{0x2001'0db8'0000'0000} + net, 1}
                               : IpAddress::v4(10, net, 0, 1),
                           static_cast<std::uint8_t>(six ? 64 : 24)};
    config.address_count = {1};
    config.vlan = 0;
    config.follow_routers = false;
    config.tcp.ttl = std::max<std::uint8_t>(config.tcp.ttl, 64);  // the routers count it down
  }
}

void join(World& world, NodeRef from, const LinkSpec& link) {
  auto const index = static_cast<std::uint32_t>(world.links.size());
  world.links.push_back(link);
  world.links.back().a = from;
  for (NodeRef const end : {from, link.b}) {
    if (end.kind == NodeKind::router) {
      world.routers[end.index].ports.push_back({index, end == from, {}, {}});
    }
  }
}

// A row of routers, each host at one of them.
void draw_routers(Dice& dice, World& world) {
  constexpr Name routers[] = {"r0", "r1", "r2"};
  constexpr Name hops[] = {"hop1", "hop2"};
  std::uint32_t const count = 1 + dice.below32(3);
  std::uint32_t mtu = 1'500;
  for (const HostSpec& host : world.hosts) {
    mtu = std::max(mtu, host.config.mtu.count);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    world.routers.push_back({routers[i], {}, {}});
    if (i != 0) {
      LaneSpec lane = draw_hop(dice);
      lane.mtu_bytes = mtu;
      join(world, {NodeKind::router, i - 1}, {hops[i - 1], {}, {NodeKind::router, i}, lane, lane});
    }
  }
  for (std::uint32_t i = 0; i < world.hosts.size(); ++i) {
    LaneSpec lane = draw_lane(dice);
    lane.mtu_bytes = world.hosts[i].config.mtu.count;
    join(world, {NodeKind::host, i},
         {world.hosts[i].name, {}, {NodeKind::router, dice.below32(count)}, lane, lane});
  }
}

// Of a hop limit of 64 this fault leaves none, so that routers drop the packet. The checksum of an
// IPv4 header would show it.
void draw_hops_lost(Dice& dice, World& world) {
  constexpr std::uint32_t bit_of_64 = (14 + 7) * 8 + 1;
  bool const v4 = world.hosts[0].config.addresses[0].address.is_v4();
  if (v4 || !dice.percent(40)) {
    return;
  }
  LaneFaultSpec spec;
  spec.name = "hops";
  spec.link = static_cast<std::uint32_t>(world.links.size()) - 1;
  spec.active.until = Instant{ms(8'000).ns};
  spec.fault = Corrupt{{200'000'000}, bit_of_64, bit_of_64};
  world.lane_faults.push_back(spec);
}

// A hop that carries less than the hosts' links: routers report it, and hosts obey.
void draw_narrow_hops(Dice& dice, World& world) {
  if (!dice.percent(30)) {
    return;
  }
  bool const v4 = world.hosts[0].config.addresses[0].address.is_v4();
  for (LinkSpec& link : world.links) {
    if (link.a.kind == NodeKind::router) {
      std::uint32_t const mtu =
          v4 ? dice.pick({576u, 1'006u, 1'499u}) : dice.pick({1'280u, 1'400u});
      link.forward.mtu_bytes = std::min(link.forward.mtu_bytes, mtu);
      link.back.mtu_bytes = link.forward.mtu_bytes;
    }
  }
  for (HostSpec& host : world.hosts) {
    host.config.tcp.path_mtu_discovery = true;
    host.config.tcp.path_mtu_probing = true;
  }
}

}  // namespace

void draw_output(Dice& dice, LaneSpec& lane) {
  if (lane.rate_bits_per_second == 0) {
    lane.rate_bits_per_second = 10'000'000;
  }
  // A queue of an output does not count the frame in transmission: one octet would be none.
  lane.queue_bytes = lane.queue_bytes == 1 ? 0 : lane.queue_bytes;
  lane.mark_packets = 0;
  OutputSpec& output = lane.output;
  output.discipline = static_cast<DisciplineKind>(dice.below(discipline_count));
  draw_red(dice, output.red);
  output.codel.ecn = output.pie.ecn = dice.percent(50);
  output.fq_codel.flows = dice.pick({1u, 16u, 1'024u});
  output.fq_codel.limit_packets = lane.queue_packets == 0 ? 64 : lane.queue_packets;
  std::uint32_t const kind = dice.below32(4);
  if (kind == 0) {
    output.shape_bits_per_second = std::max(lane.rate_bits_per_second / 2, shape_least);
  } else if (kind == 1) {
    draw_trace(dice, output);
  }
}

void draw_lab(Dice& dice, World& world) {
  if (dice.percent(15)) {
    for (LinkSpec& link : world.links) {
      if (dice.percent(60)) {
        draw_output(dice, link.forward);
        link.back = dice.percent(50) ? link.forward : link.back;
      }
    }
  }
  if (dice.percent(15)) {
    for (AppSpec& app : world.apps) {
      draw_random_app(dice, app);
    }
  }
}

World draw_routed(const Random& root) {
  World world;
  world.name = "routed";
  Dice hosts(root.fork("hosts"));
  draw_hosts(hosts, world, hosts.pick({3u, 3u, 4u, 6u}));
  Dice family(root.fork("family"));
  draw_family(family, world);
  give_prefixes(world);
  fit_least_segments(world);
  Dice topology(root.fork("topology"));
  draw_routers(topology, world);
  draw_narrow_hops(topology, world);
  for (LinkSpec& link : world.links) {
    if (topology.percent(link.a.kind == NodeKind::router ? 80 : 20)) {
      draw_output(topology, link.forward);
      link.back.output = link.forward.output;
      link.back.rate_bits_per_second = link.forward.rate_bits_per_second;
    }
  }
  give_macs(world);
  complete_routers(world);
  for (HostSpec& host : world.hosts) {
    Config& config = host.config;
    config.neighbours_max = {
        std::max(config.neighbours_max.value, config.static_neighbour_count.value + 2)};
  }
  Dice apps(root.fork("apps"));
  draw_apps(apps, world);
  aim_sequence_numbers(apps, world);
  for (AppSpec& app : world.apps) {
    if (apps.percent(40)) {
      draw_random_app(apps, app);
    }
  }
  Dice faults(root.fork("faults"));
  draw_faults(faults, world);
  draw_hops_lost(faults, world);
  world.invariants_every = 0;  // the invariant checker checks more often
  world.limit = faults_end(world).since(Instant{0}) + healing_time(world);
  return world;
}

}  // namespace lockstep::sim
