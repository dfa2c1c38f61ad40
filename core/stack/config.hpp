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

// ethernet: frames begin with a 14-byte Ethernet II header and neighbours are resolved.
// ip: frames begin with the IP header; there are no neighbours.
enum class LinkType : std::uint8_t { ethernet, ip };

// One address of this host and the length of its on-link prefix.
struct HostAddress {
  IpAddress address;
  std::uint8_t prefix_bits = 24;  // 0 to 32, of IPv6 to 128
};

// A way to the destinations of a prefix, through a gateway on our link.
struct ConfigRoute {
  IpAddress prefix;
  IpAddress gateway;
  std::uint8_t prefix_bits = 0;  // 0 to 32, of IPv6 to 128; 0: the default route of its family
};

struct StaticNeighbour {
  IpAddress address;
  Mac mac;
};

struct Config {
  static constexpr std::uint32_t addresses_max = 8;
  static constexpr std::uint32_t static_neighbours_max = 64;
  static constexpr std::uint32_t routes_max = 15;

  LinkType link = LinkType::ethernet;
  Mac mac;
  std::array<HostAddress, addresses_max> addresses{};
  Count address_count{0};
  IpAddress gateway;  // of IPv4's default route; unspecified: none
  std::array<ConfigRoute, routes_max> routes{};
  Count route_count{0};
  std::uint16_t vlan = 0;  // 802.1Q identifier of all frames, 1 to 4094; 0: no tag
  std::array<StaticNeighbour, static_neighbours_max> static_neighbours{};
  Count static_neighbour_count{0};

  Bytes mtu{1500};         // of the link, IP header included: 68 to 65535
  Count burst_frames{64};  // most frames between two settles
  Count expire_max{64};    // most timers of one expire()
  Count events_per_turn{256};
  Count frames_per_turn{64};
  Count regions_max{16};
  Bytes reply_bytes{32768};  // replies without a connection, waiting to leave

  Count neighbours_max{256};
  Duration neighbour_reachable = Duration::seconds(60);
  Duration neighbour_retry = Duration::seconds(1);
  Count neighbour_tries{3};
  Count announcements{2};  // of each address at the start, by ARP, or ND (3 at most); 0: none
  Count icmp_replies_per_second{1000};

  // Of IPv6 on Ethernet, which is spoken where an address of it is configured; a link-local one
  // joins them. Neighbours are asked by ND instead of ARP.
  Duration discovery_reachable = Duration::seconds(30);  // RFC 4861 10, as are the next two
  Duration discovery_retransmission = Duration::seconds(1);
  Duration discovery_first_probe = Duration::seconds(5);
  Count duplicate_tests{1};     // of each address before it is used; 0: none
  bool follow_routers = false;  // heed router advertisements

  // Fragments of either family; 0 datagrams: none is taken.
  Count reassembly_datagrams{64};  // under way at once
  Count reassembly_per_source{4};
  Bytes reassembly_bytes{2048};  // of one datagram, headers aside
  Duration reassembly_timeout = Duration::seconds(60);

  Count paths_max{64};                         // destinations whose path MTU is known
  Duration path_age = Duration::seconds(600);  // of what is known, after the last decrease

  tcp::Config tcp;
};

// The RFCs' constants, and no extension: conformance runs on it.
Config profile_rfc();
// As current Linux speaks, as far as this core does.
Config profile_linux();
// As current FreeBSD speaks, as far as this core does.
Config profile_freebsd();

// Takes out of `config` whatever goes beyond RFC 9293, 5681, 6298 and 5961: every option of a SYN
// but the MSS, recovery by SACK, CUBIC, ECN, cookies, growing buffers, path MTUs and fragments.
void switch_extensions_off(Config& config);

// Gives the MTU, and the MSS that follows from it, to `config` (IPv4: MTU less 40).
void set_mtu(Config& config, Bytes mtu);

// 640 bits that nobody can guess, as of getrandom() or an equal of it.
using Entropy = std::array<std::uint64_t, 10>;
// Those of a simulation, which follow from its seed.
Entropy entropy_of(Random stream);

// Gives each key that is zero its part of `entropy`: those of the table, of initial sequence
// numbers, ports, Fast Open's cookies and timestamps. Without them there is no stack.
//= rfc6528#3
//# 6528:ISN-4 a secret of 128 bits
void draw_keys(Config& config, const Entropy& entropy);

// The first thing that is wrong with a configuration, in words with the range, or empty.
std::string_view fault_of(const Config& config);

}  // namespace lockstep
