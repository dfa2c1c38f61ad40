// Tests of neighbour discovery: a cache with its own clock, messages to it, and what it writes.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/link/discovery.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::link {

using wire::Icmp6Type;
using wire::NdMessage;

inline constexpr Mac our_mac{{2, 0, 0, 0, 0, 1}};
inline constexpr Mac router_mac{{2, 0, 0, 0, 9, 9}};
inline constexpr IpAddress ours{0x2001'0db8'0000'0000, 1};
inline constexpr IpAddress our_link = link_local_of(our_mac);
inline constexpr IpAddress router{0xfe80'0000'0000'0000, 0x99};
inline constexpr IpAddress elsewhere{0x2001'0db8'00ff'0000, 7};

constexpr Mac mac_of(std::uint8_t host) { return {{2, 0, 0, 0, 1, host}}; }
constexpr IpAddress address_of(std::uint64_t host) { return {ours.high, 0x1000 + host}; }

// A written message, parsed.
struct Sent {
  Mac to;
  wire::Ipv6Header ip;
  NdMessage message;
};

class World {
 public:
  explicit World(const DiscoveryConfig& config) {
    memory::Layout measure;
    lay_out(measure, config);
    memory_.resize(measure.bytes() / 64 + 1);
    memory::Layout layout(
        {reinterpret_cast<std::byte*>(memory_.data()), memory_.size() * sizeof(Line)});
    lay_out(layout, config);
    wheel.start();
    cache.identify({our_mac, addresses});
    cache.start();
    cache.begin(now);
    forget_changes();
  }

  void advance(Duration by) {
    now = now + by;
    for (Index timer = wheel.pop_due(now); timer != nil; timer = wheel.pop_due(now)) {
      cache.expire(timer - 3, now);
    }
    EXPECT_TRUE(cache.sound());
  }

  Lookup resolve(std::uint64_t host) { return cache.resolve({address_of(host), ours}, now); }

  Drop hear(const DiscoveryArrival& arrival, const NdMessage& message) {
    Drop const drop = cache.receive(arrival, message, now);
    EXPECT_TRUE(cache.sound());
    return drop;
  }
  Drop solicit(std::uint8_t host, IpAddress target = ours) {
    NdMessage message;
    message.target = target;
    message.has_link_address = true;
    message.link_address = mac_of(host);
    return hear({address_of(host), target.solicited_node(), mac_of(host), 255}, message);
  }
  // A duplicate address probe for `target` by another host.
  Drop test(std::uint8_t host, IpAddress target) {
    NdMessage message;
    message.target = target;
    return hear({{}, target.solicited_node(), mac_of(host), 255}, message);
  }
  static NdMessage advertisement(std::uint8_t host) {
    NdMessage message;
    message.type = Icmp6Type::neighbour_advertisement;
    message.target = address_of(host);
    message.solicited = true;
    message.override = true;
    message.has_link_address = true;
    message.link_address = mac_of(host);
    return message;
  }
  Drop advertise(std::uint8_t host, const NdMessage& message) {
    bool const all = !message.solicited;
    return hear({address_of(host), all ? all_nodes : ours, mac_of(host), 255}, message);
  }
  Drop reply(std::uint8_t host) { return advertise(host, advertisement(host)); }
  static NdMessage router_message() {
    NdMessage message;
    message.type = Icmp6Type::router_advertisement;
    message.lifetime_s = 1800;
    message.has_link_address = true;
    message.link_address = router_mac;
    return message;
  }
  Drop hear_router(const NdMessage& message) {
    return hear({router, all_nodes, router_mac, 255}, message);
  }

  Sent sent() {
    std::array<std::byte, 96> octets{};
    Bytes const length = cache.write_next(now, octets);
    EXPECT_NE(length.count, 0u);
    wire::EthernetFrame frame;
    EXPECT_EQ(wire::parse(std::span(octets).first(length.count), frame), Drop::none);
    EXPECT_EQ(frame.header.type, wire::EtherType::ipv6);
    EXPECT_EQ(frame.header.source, our_mac);
    wire::Ipv6Packet packet;
    EXPECT_EQ(wire::parse(frame.payload, packet), Drop::none);
    EXPECT_EQ(wire::walk(packet), Drop::none);
    EXPECT_EQ(packet.header.hop_limit, 255);
    EXPECT_FALSE(packet.has_fragment);
    wire::Icmp6Message icmp;
    EXPECT_EQ(wire::parse({packet.header.source, packet.header.destination}, packet.payload, icmp),
              Drop::none);
    Sent out;
    out.to = frame.header.destination;
    out.ip = packet.header;
    EXPECT_EQ(wire::parse(icmp, out.message), Drop::none);
    return out;
  }

  DiscoveryState state_of(std::uint64_t host) const { return state_of(address_of(host)); }
  DiscoveryState state_of(IpAddress address) const {
    Index const index = cache.find(address);
    return index == nil ? DiscoveryState::vacant : cache.entry(index).state;
  }
  bool router_flag(std::uint64_t host) const {
    return cache.entry(cache.find(address_of(host))).router;
  }
  void forget_changes() {
    NeighbourChange change;
    while (cache.next_change(change)) {
    }
  }
  // Makes a neighbour reachable.
  void resolve_neighbour(std::uint8_t host) {
    resolve(host);
    sent();
    ASSERT_EQ(reply(host), Drop::none);
    forget_changes();
  }

  std::array<IpAddress, 3> addresses{IpAddress::v4(10, 0, 0, 1), ours, our_link};
  memory::TimerWheel wheel;
  Discovery cache;
  Instant now{5'000'000'000};

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> octets;
  };

  void lay_out(memory::Layout& layout, const DiscoveryConfig& config) {
    wheel = memory::TimerWheel::lay_out(layout, Count{Discovery::timers_max(config).value + 3});
    cache = Discovery::lay_out(layout, config, wheel, {3});
  }

  std::vector<Line> memory_;
};

// Without tests of our addresses: they are usable at once.
inline DiscoveryConfig plain() {
  DiscoveryConfig config;
  config.entries_max = {4};
  config.duplicate_tests = {0};
  return config;
}

inline DiscoveryConfig testing() {
  DiscoveryConfig config = plain();
  config.duplicate_tests = {1};
  return config;
}

inline DiscoveryConfig following() {
  DiscoveryConfig config = plain();
  config.follow_routers = true;
  return config;
}

}  // namespace lockstep::link
