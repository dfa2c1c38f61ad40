// Draws worlds in which tricklers attack and honest hosts must be served.
#include "sim/swarm/draw.hpp"
#include "sim/swarm/draw_parts.hpp"
#include "sim/swarm/trickler.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

void add_hosts(Dice& dice, World& world) {
  Config const profile = draw_profile(dice);
  std::uint32_t const count = dice.pick({2u, 2u, 3u});
  constexpr Name names[] = {"a", "b", "c"};
  for (std::uint32_t i = 0; i < count; ++i) {
    HostSpec host;
    host.name = names[i];
    host.config = dice.percent(75) ? profile : draw_profile(dice);
    auto const last = static_cast<std::uint8_t>(i + 1);
    host.config.addresses[0] = {IpAddress::v4(10, 0, 0, last), 16};
    host.config.address_count = {1};
    draw_plain(dice, host.config);
    draw_keys(dice, host.config);
    // Without cookies, 64 entries cannot serve anyone beside 500 forged SYNs a second.
    host.config.tcp.syn_cookies = dice.pick({tcp::SynCookies::on, tcp::SynCookies::always});
    // So that each connection of an application finds a port outside TIME-WAIT.
    host.config.tcp.msl = ms(500);
    world.hosts.push_back(host);
  }
}

LaneSpec good_lane(Dice& dice) {
  LaneSpec lane;
  lane.rate_bits_per_second = dice.pick({std::uint64_t{10'000'000}, std::uint64_t{1'000'000'000}});
  lane.delay = Duration::microseconds(dice.pick({5u, 500u, 20'000u}));
  return lane;
}

void add_links(Dice& dice, World& world) {
  world.switches = {{"s", 1'024}};
  for (std::uint32_t i = 0; i < world.hosts.size(); ++i) {
    LaneSpec const lane = good_lane(dice);
    world.links.push_back(
        {world.hosts[i].name, {NodeKind::host, i}, {NodeKind::learning_switch, 0}, lane, lane});
  }
  constexpr Name names[] = {"t0", "t1"};
  for (std::uint32_t i = 0; i < world.stations.size(); ++i) {
    LaneSpec const lane = good_lane(dice);
    world.links.push_back(
        {names[i], {NodeKind::station, i}, {NodeKind::learning_switch, 0}, lane, lane});
  }
}

// From 5 to 500 frames a second; sometimes for most of an hour.
void add_tricklers(Dice& dice, World& world) {
  std::uint32_t const count = dice.pick({1u, 1u, 2u});
  constexpr Name names[] = {"eve", "mallory"};
  for (std::uint32_t i = 0; i < count; ++i) {
    StationSpec station;
    station.name = names[i];
    station.model = name_of(static_cast<Trickle>(dice.below(trickle_count)));
    station.address = IpAddress::v4(10, 0, 0, static_cast<std::uint8_t>(200 + i));
    station.every = dice.pick({ms(200), ms(33), ms(10), ms(2)});
    station.acts = dice.percent(5) ? 10'000 : dice.pick({std::uint64_t{300}, std::uint64_t{1'500}});
    world.stations.push_back(station);
  }
}

void add_apps(Dice& dice, World& world) {
  auto const hosts = static_cast<std::uint32_t>(world.hosts.size());
  std::uint32_t const count = 1 + dice.below32(3);
  for (std::uint32_t i = 0; i < count; ++i) {
    Name const model = dice.pick({Name("bulk"), Name("echo"), Name("chatter")});
    AppSpec app = app_of(model, dice.magnitude({1, 20'000}));
    app.client = {dice.below32(hosts)};
    app.server = {(app.client.value + 1 + dice.below32(hosts - 1)) % hosts};
    app.port = {static_cast<std::uint16_t>(5'000 + i)};
    app.start = dice.within(Duration{}, ms(4'000));
    app.flows = dice.pick({1u, 2u});
    app.repeat = dice.pick({1u, 5u, 20u});
    app.think = dice.pick({ms(5), ms(300), ms(2'500)});
    app.rounds = app.model == Name("chatter") ? 3 : 1;
    app.reply_bytes = app.model == Name("chatter") ? 500 : 0;
    world.apps.push_back(app);
  }
}

}  // namespace

World draw_trickled(const Random& root) {
  World world;
  world.name = "trickle";
  world.served = true;
  Dice hosts(root.fork("hosts"));
  add_hosts(hosts, world);
  Dice stations(root.fork("stations"));
  add_tricklers(stations, world);
  Dice links(root.fork("links"));
  add_links(links, world);
  give_macs(world);
  Dice apps(root.fork("apps"));
  add_apps(apps, world);
  aim_sequence_numbers(apps, world);
  world.invariants_every = 0;  // the invariant checker checks more often
  world.limit = healing_time(world);
  return world;
}

}  // namespace lockstep::sim
