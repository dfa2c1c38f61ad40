// Draws a nasty world: hosts with odd configurations, links with faults, all models.
#include "sim/worlds/nasty.hpp"

#include <array>

#include "core/units/random.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

constexpr Instant heal{Duration::seconds(8).ns};

std::uint32_t draw(Random& random, std::uint32_t least, std::uint32_t most) {
  return static_cast<std::uint32_t>(random.within({least, most}));
}

template <class T, std::size_t n>
T one_of(Random& random, const std::array<T, n>& choices) {
  return choices[static_cast<std::size_t>(random.below(n))];
}

HostSpec nasty_host(Random random, std::uint8_t number) {
  constexpr std::array<std::string_view, 4> names{"a", "b", "c", "d"};
  Config const profile =
      profile_at(static_cast<std::uint32_t>(random.fork("profile").below(profile_count)));
  HostSpec host = plain_host(names[number - 1u], number, profile);
  Config& config = host.config;
  set_mtu(config, {one_of<std::uint32_t>(random, std::array{576u, 1'500u, 1'500u, 296u, 9'000u})});
  // Initial sequence numbers a few bytes below 2^32, or anywhere.
  config.tcp.isn_base = {random.below(2) == 0 ? ~draw(random, 0, 40'000) : draw(random, 0, ~0u)};
  config.tcp.connections_max = {64};
  config.tcp.active_max = {64};
  config.tcp.time_wait_max = {draw(random, 1, 32)};
  config.tcp.listeners_max = {16};
  config.tcp.blocks_max = {512};
  config.tcp.block_bytes = {one_of<std::uint32_t>(random, std::array{512u, 2'048u})};
  config.tcp.pieces_max = {512};
  config.tcp.extents_max = {draw(random, 8, 256)};
  config.tcp.owed_max = {draw(random, 16, 128)};
  config.tcp.receive_buffer = {draw(random, 1'000, 65'535)};
  config.tcp.send_buffer = {draw(random, 4'000, 100'000)};
  config.tcp.nagle = random.below(2) == 0;
  config.tcp.delayed_acks = random.below(4) != 0;
  config.tcp.limited_transmit = random.below(2) == 0;
  config.tcp.msl = Duration::milliseconds(draw(random, 100, 2'000));
  config.tcp.rto_max = Duration::seconds(60);
  config.burst_frames = {one_of<std::uint32_t>(random, std::array{1u, 7u, 64u})};
  config.neighbour_reachable = Duration::seconds(draw(random, 1, 60));
  host.clock.skew_ppb = static_cast<std::int32_t>(draw(random, 0, 400'000)) - 200'000;
  // Some clocks start an hour before the end of time.
  host.clock.origin = random.below(4) == 0
                          ? Duration{Duration::ns_max - Duration::seconds(3'600).ns}
                          : Duration{random.below(Duration::seconds(100'000).ns)};
  // One draw per statement: within an expression the compiler chooses the order.
  bool const polls = random.below(2) != 0;
  std::uint32_t const poll_us = draw(random, 1, 500);
  host.poll = Duration::microseconds(polls ? poll_us : 0);
  host.transmit_ring = draw(random, 2, 64);
  host.receive_ring = draw(random, 8, 256);
  return host;
}

LaneSpec nasty_lane(Random& random) {
  constexpr std::array<std::uint64_t, 4> rates{1'000'000, 10'000'000, 100'000'000, 0};
  LaneSpec lane;
  lane.rate_bits_per_second = one_of(random, rates);
  lane.delay = Duration::microseconds(draw(random, 1, 30'000));
  lane.queue_bytes = draw(random, 3'000, 60'000);
  lane.queue_packets = draw(random, 3, 60);
  lane.mtu_bytes = 9'000;
  return lane;
}

void add_faults(World& world, Random random, std::uint32_t link) {
  auto const some = [&random](std::uint32_t per_mille) {
    return Probability{draw(random, 0, per_mille * 1'000'000)};
  };
  Active const until_healed{Instant{0}, heal, {}, {}};
  auto const add = [&](Name name, const LaneFault& fault) {
    // Each fault is present in half of the worlds.
    if (random.below(2) == 0) {
      world.lane_faults.push_back(
          {name, link, random.below(4) != 0, random.below(4) != 0, until_healed, fault});
    }
  };
  add("loss", Loss{some(50)});
  add("bursts", BurstLoss{some(10), some(400), some(1), some(1'000), false});
  add("copies", Duplicate{some(50), Duration::milliseconds(draw(random, 0, 20))});
  add("late", Reorder{some(100), Duration::milliseconds(draw(random, 1, 30))});
  add("jitter", Delay{{}, Duration::milliseconds(draw(random, 0, 5)), random.below(2) == 0, {}});
  // The bits after the Ethernet and IPv4 headers, which the TCP checksum covers.
  add("bits", Corrupt{some(30), 14 * 8 + 160, 0xffff'ffff});
}

AppSpec nasty_app(const World& world, Random random, std::uint16_t number) {
  constexpr std::array<std::string_view, 6> models{"bulk",       "echo",        "chatter",
                                                   "half_close", "slow_reader", "mutual"};
  std::string_view const model = one_of(random, models);
  AppSpec app = app_of(model, draw(random, 1, 120'000));
  auto const hosts = static_cast<std::uint32_t>(world.hosts.size());
  app.client = {draw(random, 0, hosts - 1)};
  app.server = {(app.client.value + draw(random, 1, hosts - 1)) % hosts};
  app.port = {static_cast<std::uint16_t>(5'000 + number)};
  app.start = Duration::milliseconds(draw(random, 0, 2'000));
  app.flows = draw(random, 1, 3);
  app.repeat = draw(random, 1, 2);
  app.stagger = Duration::milliseconds(draw(random, 0, 300));
  app.reply_bytes = draw(random, 0, 40'000);
  app.lend = random.below(2) == 0;
  app.urgent_every = draw(random, 0, 3);
  app.read_bytes = draw(random, 500, 20'000);
  app.read_after = Duration::milliseconds(draw(random, 0, 1'500));
  if (app.model == Name("chatter")) {
    app.bytes = draw(random, 1, 3'000);
    app.reply_bytes = draw(random, 1, 8'000);
    app.rounds = draw(random, 1, 10);
    bool const thinks = random.below(2) != 0;
    std::uint32_t const think_ms = draw(random, 1, 400);
    app.think = Duration::milliseconds(thinks ? think_ms : 0);
  }
  return app;
}

}  // namespace

World nasty_world(std::uint64_t seed) {
  Random const root = Random(seed).fork("nasty world");
  Random shape = root.fork("shape");
  World world;
  world.name = "nasty";
  world.limit = Duration::seconds(900);
  std::uint32_t const hosts = draw(shape, 2, 4);
  std::uint32_t mtu = 9'000;
  for (std::uint32_t i = 0; i < hosts; ++i) {
    Random const stream = root.fork("host").fork(std::array{"a", "b", "c", "d"}[i]);
    world.hosts.push_back(nasty_host(stream, static_cast<std::uint8_t>(i + 1)));
    mtu = mtu < world.hosts[i].config.mtu.count ? mtu : world.hosts[i].config.mtu.count;
  }
  if (hosts == 2) {
    world.links = {
        {"ab", {NodeKind::host, 0}, {NodeKind::host, 1}, nasty_lane(shape), nasty_lane(shape)}};
  } else {
    world.switches = {{"switch", 16}};
    for (std::uint32_t i = 0; i < hosts; ++i) {
      world.links.push_back({world.hosts[i].name,
                             {NodeKind::host, i},
                             {NodeKind::learning_switch, 0},
                             nasty_lane(shape),
                             nasty_lane(shape)});
    }
  }
  add_faults(world, root.fork("faults"), 0);
  std::uint32_t const apps = draw(shape, 1, 4);
  for (std::uint16_t i = 0; i < apps; ++i) {
    Random const stream = root.fork("app").fork(std::array{"0", "1", "2", "3"}[i]);
    world.apps.push_back(nasty_app(world, stream, i));
  }
  return world;
}

}  // namespace lockstep::sim
