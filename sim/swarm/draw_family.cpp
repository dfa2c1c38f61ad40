// Draws the address family: some worlds use IPv6, and some a VLAN tag.
#include "sim/swarm/draw_parts.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint32_t ipv6_mtu_least = 1'280;

void draw_discovery(Dice& dice, Config& config) {
  config.duplicate_tests = {dice.pick({0u, 1u, 1u, 2u})};
  config.follow_routers = dice.percent(30);
  config.discovery_reachable = dice.pick({Duration::milliseconds(500), Duration::seconds(30)});
  config.discovery_retransmission = dice.pick({Duration::seconds(1), Duration::seconds(3)});
  config.discovery_first_probe = dice.pick({Duration::milliseconds(1), Duration::seconds(5)});
}

}  // namespace

void draw_family(Dice& dice, World& world) {
  bool const six = dice.percent(30);
  std::uint16_t const vlan = dice.percent(8) ? std::uint16_t{100} : std::uint16_t{0};
  for (HostSpec& host : world.hosts) {
    Config& config = host.config;
    config.reassembly_datagrams = {dice.pick({0u, 1u, 8u})};
    config.reassembly_per_source = {dice.pick({1u, 4u})};
    config.tcp.path_mtu_discovery = dice.percent(60);
    config.tcp.path_mtu_probing = dice.percent(60);
    config.tcp.path_mtu_low = {dice.pick({68u, 256u, 1'024u})};
    config.vlan = config.link == LinkType::ethernet ? vlan : std::uint16_t{0};
    if (!six) {
      continue;
    }
    draw_discovery(dice, config);
    IpAddress const v4 = config.addresses[0].address;
    config.addresses[1] = config.addresses[0];
    config.addresses[0] = {IpAddress{0x2001'0db8'0000'0000, v4.low & 0xff}, 64};
    config.address_count = {dice.percent(50) ? 2u : 1u};
    if (config.mtu.count < ipv6_mtu_least) {
      set_mtu(config, Bytes{ipv6_mtu_least});
    }
  }
}

}  // namespace lockstep::sim
