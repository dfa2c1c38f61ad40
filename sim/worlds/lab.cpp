// Draws a row of routers with hosts at both ends.
#include "sim/worlds/lab.hpp"

#include <array>

#include "core/units/random.hpp"
#include "sim/routers/plan.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint32_t pairs = 3;

LaneSpec access_lane() {
  LaneSpec lane;
  lane.rate_bits_per_second = 100'000'000;
  lane.delay = Duration::milliseconds(1);
  return lane;
}

LaneSpec narrow_lane(Random& random) {
  LaneSpec lane;
  lane.rate_bits_per_second = random.within({1'000'000, 20'000'000});
  lane.delay = Duration::milliseconds(random.below(30));
  lane.queue_packets = static_cast<std::uint32_t>(random.within({10, 100}));
  OutputSpec& output = lane.output;
  output.discipline = static_cast<DisciplineKind>(random.below(discipline_count));
  output.red.max_packets = static_cast<std::uint32_t>(random.within({6, 10}));
  output.red.gentle = random.below(2) == 0;
  output.red.ecn = random.below(2) == 0;
  output.codel.ecn = random.below(2) == 0;
  output.pie.ecn = random.below(2) == 0;
  output.fq_codel.limit_packets = lane.queue_packets;
  std::uint64_t const kind = random.below(3);
  if (kind == 0) {
    output.shape_bits_per_second = lane.rate_bits_per_second / 2;
  }
  for (std::uint32_t ms = 1; kind == 1 && ms <= 200; ++ms) {
    auto const count = static_cast<std::size_t>(random.below(3));
    output.trace_ms.insert(output.trace_ms.end(), count, ms);
  }
  if (kind == 1) {
    output.trace_ms.push_back(201);
  }
  return lane;
}

void add_host(World& world, Name name, std::uint8_t number, bool six) {  // NOLINT
  HostSpec host = plain_host(name, number, profile_at(number % profile_count));
  if (six) {
    std::uint64_t const net = std::uint64_t{0x2001'0db8'0000'0000} + number;
    host.config.addresses[0] = {IpAddress{net, 1}, 64};
  } else {
    host.config.addresses[0] = {IpAddress::v4(10, 1, number, 1), 24};
  }
  host.config.tcp.ecn = tcp::EcnPolicy::on;
  world.hosts.push_back(host);
}

void add_link(World& world, NodeRef from, NodeRef to, const LaneSpec& lane) {  // NOLINT
  auto const link = static_cast<std::uint32_t>(world.links.size());
  for (NodeRef const end : {from, to}) {
    if (end.kind == NodeKind::router) {
      world.routers[end.index].ports.push_back({link, end == from, {}, {}});
    }
  }
  world.links.push_back({from.kind == NodeKind::host ? world.hosts[from.index].name : Name("hop"),
                         from, to, lane, lane});
}

AppSpec lab_app(Random& random, std::uint32_t pair) {
  AppSpec app = app_of("bulk", 100'000);
  constexpr std::array<std::string_view, pairs> names{"x", "y", "z"};
  app.name = names[pair];
  app.client = {pair * 2};
  app.server = {pair * 2 + 1};
  app.flows = static_cast<std::uint32_t>(random.within({1, 12}));
  app.draws.start.kind = DrawKind::uniform;
  app.draws.start.most = 500'000'000;
  constexpr std::array<DrawKind, 4> kinds{DrawKind::exponential, DrawKind::pareto,
                                          DrawKind::uniform, DrawKind::listed};
  Draw& bytes = app.draws.bytes;
  bytes.kind = kinds[static_cast<std::size_t>(random.below(kinds.size()))];
  bytes.least = 1'000;
  bytes.mean = 40'000;
  bytes.most = 300'000;
  bytes.shape_thousandths = 1'200;
  bytes.values = {1, 1'460, 70'000};
  std::uint64_t const arrival = random.below(3);
  app.draws.arrivals = {static_cast<ArrivalKind>(arrival), Duration::milliseconds(50),
                        Duration::milliseconds(200), Duration::milliseconds(300)};
  return app;
}

}  // namespace

World lab_world(std::uint64_t seed) {
  Random random = Random(seed).fork("lab");
  World world;
  world.name = "lab";
  auto const routers = static_cast<std::uint32_t>(random.within({2, 3}));
  world.routers.resize(routers);
  constexpr std::array<std::string_view, 3> names{"r0", "r1", "r2"};
  for (std::uint32_t i = 0; i < routers; ++i) {
    world.routers[i].name = names[i];
  }
  for (std::uint32_t i = 1; i < routers; ++i) {
    add_link(world, {NodeKind::router, i - 1}, {NodeKind::router, i}, narrow_lane(random));
  }
  constexpr std::array<std::string_view, 2 * pairs> hosts{"a0", "b0", "a1", "b1", "a2", "b2"};
  for (std::uint32_t i = 0; i < 2 * pairs; ++i) {
    bool const six = i >= 2 * pairs - 2;
    add_host(world, hosts[i], static_cast<std::uint8_t>(i + 1), six);
    add_link(world, {NodeKind::host, i}, {NodeKind::router, i % 2 == 0 ? 0 : routers - 1},
             access_lane());
  }
  for (std::uint32_t i = 0; i < pairs; ++i) {
    world.apps.push_back(lab_app(random, i));
  }
  give_macs(world);
  complete_routers(world);
  return world;
}

}  // namespace lockstep::sim
