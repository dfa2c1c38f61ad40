// The configuration of a stack: a bare Config is profile `default`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/tcp/config.hpp"
#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/random.hpp"
#include "core/units/time.hpp"

namespace lockstep {

// ethernet: frames begin with a 14-byte Ethernet II header; next hops are resolved by ARP and ND.
// ip: frames begin with the IP header; no address resolution.
// ip: frames begin with the IP header; there are no neighbours.
enum class LinkType : std::uint8_t { ethernet, ip };

// One address of this host and the length of its on-link prefix.
struct HostAddress {
  IpAddress address;
  std::uint8_t prefix_bits = 24;  // IPv4: 0 to 32; IPv6: 0 to 128
};

// A route to a prefix through a gateway on our link.
struct ConfigRoute {
  IpAddress prefix;
  IpAddress gateway;
  std::uint8_t prefix_bits = 0;  // IPv4: 0 to 32; IPv6: 0 to 128; 0: default route of its family
};

// A neighbour whose Ethernet address is configured: it is neither looked up nor forgotten.
struct StaticNeighbour {
  IpAddress address;
  Mac mac;
};

// What one stack is made with: addresses, routes, the limits of the layers below TCP, and TCP's own
// part `tcp`. fault_of() says what is wrong with it.
struct Config {
  static constexpr std::uint32_t addresses_max = 8;
  static constexpr std::uint32_t static_neighbours_max = 64;
  static constexpr std::uint32_t routes_max = 15;

  LinkType link = LinkType::ethernet;
  Mac mac;
  std::array<HostAddress, addresses_max> addresses{};
  Count address_count{0};
  IpAddress gateway;  // of the IPv4 default route; unspecified: none
  std::array<ConfigRoute, routes_max> routes{};
  Count route_count{0};
  std::uint16_t vlan = 0;  // 802.1Q VLAN identifier of all frames, 1 to 4094; 0: no tag
  std::array<StaticNeighbour, static_neighbours_max> static_neighbours{};
  Count static_neighbour_count{0};

  Bytes mtu{1500};         // of the link, IP header included: 68 to 65535
  Count burst_frames{64};  // maximum number of frames between two settle() calls
  Count expire_max{64};    // maximum number of timers that one expire() fires
  Count events_per_turn{256};
  Count frames_per_turn{64};
  Count regions_max{16};
  Bytes reply_bytes{32768};  // queued replies that belong to no connection

  Count neighbours_max{256};
  Duration neighbour_reachable = Duration::seconds(60);
  Duration neighbour_retry = Duration::seconds(1);
  Count neighbour_tries{3};
  Count announcements{2};  // of each address at start-up, by ARP or ND (at most 3); 0: none
  // ARP probes of each IPv4 address before it is used; 0: none. Two are at most
  // `address_probe_interval` apart and at least half of it; after the last one it passes whole.
  // RFC 5227 1.1: three, with two seconds.
  Count address_probes{0};
  Duration address_probe_interval = Duration::seconds(2);
  bool defend_addresses = true;  // announce an IPv4 address again if another host has it, too
  Count icmp_replies_per_second{1000};

  // IPv6 on Ethernet, enabled where an IPv6 address is configured; a link-local address is then
  // added. Neighbours are resolved by ND.
  Duration discovery_reachable = Duration::seconds(30);  // RFC 4861 10, as are the next two
  Duration discovery_retransmission = Duration::seconds(1);
  Duration discovery_first_probe = Duration::seconds(5);
  Count duplicate_tests{1};     // DAD probes of each address before it is used; 0: none
  bool follow_routers = false;  // process router advertisements

  // Reassembly, both families. 0 datagrams: all fragments are dropped.
  Count reassembly_datagrams{64};  // reassembled at the same time
  Count reassembly_per_source{4};
  Bytes reassembly_bytes{2048};  // of one datagram, without headers
  Duration reassembly_timeout = Duration::seconds(60);

  Count paths_max{64};                         // destinations whose path MTU is stored
  Duration path_age = Duration::seconds(600);  // of an entry, since its last decrease

  tcp::Config tcp;
};

// The constants of the RFCs and no extensions. The conformance runs use it.
Config profile_rfc();
// Behaves as current Linux, as far as this core can.
Config profile_linux();
// Behaves as current FreeBSD, as far as this core can.
Config profile_freebsd();

// Switches off everything in `config` beyond RFCs 9293, 5681, 6298 and 5961: all SYN options but
// MSS, SACK recovery, CUBIC, ECN, SYN cookies, buffer growth, path MTU discovery and reassembly.
void switch_extensions_off(Config& config);

// Sets the MTU and the MSS that follows from it (for IPv4: MTU - 40).
void set_mtu(Config& config, Bytes mtu);

// 640 unpredictable bits, from getrandom() or an equivalent source.
using Entropy = std::array<std::uint64_t, 10>;
// For simulations: derived from the seed.
Entropy entropy_of(Random stream);

// Sets each key that is zero from `entropy`: the keys of the connection table, initial sequence
// numbers, ports, Fast Open cookies and timestamps. A stack cannot be made without them.
//= rfc6528#3
//# 6528:ISN-4 a secret of 128 bits
void draw_keys(Config& config, const Entropy& entropy);

// Describes the first invalid field and its range; empty if the configuration is valid.
std::string_view fault_of(const Config& config);

}  // namespace lockstep
