// Draws worlds with one connection of more than 2^31 or 2^32 octets.
#include "sim/swarm/draw.hpp"
#include "sim/swarm/draw_parts.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

// As few segments as possible: the octets take long enough.
constexpr std::uint32_t mtu_most = 65'535;

void draw_memory(Dice& dice, Config& config) {
  draw_plain(dice, config);
  draw_keys(dice, config);
  set_mtu(config, Bytes{mtu_most});
  config.link = LinkType::ip;
  tcp::Config& tcp = config.tcp;
  tcp.blocks_max = {8'000};
  tcp.receive_buffer = {dice.pick({200'000u, 1'000'000u, 4'000'000u})};
  tcp.send_buffer = {dice.pick({200'000u, 1'000'000u})};
  tcp.receive_buffer_max = {};
  tcp.send_buffer_max = {};
}

LaneSpec fast_lane(Dice& dice) {
  LaneSpec lane;
  lane.rate_bits_per_second = 10'000'000'000;
  lane.delay = Duration::microseconds(dice.pick({5u, 100u}));
  lane.mark_packets = dice.pick({0u, 8u});
  lane.mtu_bytes = mtu_most;
  return lane;
}

}  // namespace

World draw_long(const Random& root) {
  Dice dice(root.fork("long"));
  World world = two_hosts(fast_lane(dice));
  world.name = "long";
  for (HostSpec& host : world.hosts) {
    Config const profile = draw_profile(dice);
    host = plain_host(host.name, host.config.mac.octets[5], profile);
    draw_memory(dice, host.config);
  }
  std::uint64_t const edge = std::uint64_t{1} << (dice.percent(70) ? 31 : 32);
  AppSpec app = app_of("bulk", edge + dice.within({1, 16'777'216}));
  app.lend = dice.percent(50);
  world.apps = {app};
  aim_sequence_numbers(dice, world);
  if (dice.percent(60)) {
    LaneFaultSpec loss = fault_of_link("loss", Loss{{dice.pick({20'000u, 200'000u})}});
    loss.active.until = Instant{Duration::seconds(60).ns};
    world.lane_faults = {loss};
  }
  world.invariants_every = 0;  // the invariant checker checks more often
  world.limit = faults_end(world).since(Instant{0}) + healing_time(world);
  return world;
}

}  // namespace lockstep::sim
