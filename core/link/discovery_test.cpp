// Neighbour discovery: asking, answering, doubting, testing our own addresses, heeding routers.
#include "core/link/discovery.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/wire/ethernet.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::link {
namespace {

using wire::Icmp6Type;
using wire::NdMessage;

constexpr Mac our_mac{{2, 0, 0, 0, 0, 1}};
constexpr Mac router_mac{{2, 0, 0, 0, 9, 9}};
constexpr IpAddress ours{0x2001'0db8'0000'0000, 1};
constexpr IpAddress our_link = link_local_of(our_mac);
constexpr IpAddress router{0xfe80'0000'0000'0000, 0x99};
constexpr IpAddress elsewhere{0x2001'0db8'00ff'0000, 7};

constexpr Mac mac_of(std::uint8_t host) { return {{2, 0, 0, 0, 1, host}}; }
constexpr IpAddress address_of(std::uint64_t host) { return {ours.high, 0x1000 + host}; }

// What was written, taken apart.
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
  // Somebody tests whether `target` is free.
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
    EXPECT_EQ(wire::parse({packet.header.source, packet.header.destination}, packet.payload,
                          icmp),
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
  // A neighbour that has answered.
  void befriend(std::uint8_t host) {
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

// No tests of our own addresses: they stand at once.
DiscoveryConfig plain() {
  DiscoveryConfig config;
  config.entries_max = {4};
  config.duplicate_tests = {0};
  return config;
}

DiscoveryConfig testing() {
  DiscoveryConfig config = plain();
  config.duplicate_tests = {1};
  return config;
}

DiscoveryConfig following() {
  DiscoveryConfig config = plain();
  config.follow_routers = true;
  return config;
}

//= rfc4861#7.2.2
//= type=test
//# 4861:ND-7, 4861:ND-8, 4861:ND-9 INCOMPLETE; to the solicited-node group, with our link address
//= rfc6980#5
//= type=test
//# 6980:NDF-1 no fragment header
TEST(Discovery, AnUnknownNextHopIsAskedForInItsGroup) {
  World world(plain());
  EXPECT_EQ(world.resolve(7).kind, LookupKind::waiting);
  EXPECT_EQ(world.state_of(7), DiscoveryState::incomplete);
  Sent const request = world.sent();
  EXPECT_EQ(request.message.type, Icmp6Type::neighbour_solicitation);
  EXPECT_EQ(request.message.target, address_of(7));
  EXPECT_EQ(request.ip.source, ours);
  EXPECT_EQ(request.ip.destination, address_of(7).solicited_node());
  EXPECT_EQ(request.to, (Mac{{0x33, 0x33, 0xff, 0, 0x10, 7}}));
  EXPECT_TRUE(request.message.has_link_address);
  EXPECT_EQ(request.message.link_address, our_mac);
}

//= rfc4861#7.2.2
//= type=test
//# 4861:ND-11, 4861:ND-12 once a second, three times, with or without traffic; then it has failed
//# 4861:ND-10 whoever waits is told
TEST(Discovery, NobodyAnswersThreeSolicitations) {
  World world(plain());
  Index const index = world.resolve(7).neighbour;
  for (int i = 0; i < 3; ++i) {
    world.sent();
    world.resolve(7);
    EXPECT_FALSE(world.cache.wants_transmit());
    world.advance(Duration::milliseconds(999));
    EXPECT_FALSE(world.cache.wants_transmit());
    world.advance(Duration::milliseconds(1));
  }
  EXPECT_FALSE(world.cache.wants_transmit());
  NeighbourChange change;
  ASSERT_TRUE(world.cache.next_change(change));
  EXPECT_EQ(change.neighbour, index);
  EXPECT_FALSE(change.resolved);
  EXPECT_EQ(world.resolve(7).kind, LookupKind::unreachable);
  world.advance(Duration::seconds(1));
  EXPECT_EQ(world.resolve(7).kind, LookupKind::waiting);
}

//= rfc4861#7.2.5
//= type=test
//# 4861:ND-21 REACHABLE if it was solicited, else STALE; override does not matter
//# 4861:ND-22 without a link address it tells nothing
//# 4861:ND-20 nor from somebody who was not asked
TEST(Discovery, AnAnswerEndsTheWaiting) {
  World world(plain());
  EXPECT_EQ(world.reply(7), Drop::nd_unsolicited);
  EXPECT_EQ(world.state_of(7), DiscoveryState::vacant);
  world.resolve(7);
  world.resolve(8);
  NdMessage bare = World::advertisement(7);
  bare.has_link_address = false;
  EXPECT_EQ(world.advertise(7, bare), Drop::nd_unsolicited);
  NdMessage meek = World::advertisement(7);
  meek.override = false;
  EXPECT_EQ(world.advertise(7, meek), Drop::none);
  EXPECT_EQ(world.state_of(7), DiscoveryState::reachable);
  NdMessage loud = World::advertisement(8);
  loud.solicited = false;
  EXPECT_EQ(world.advertise(8, loud), Drop::none);
  EXPECT_EQ(world.state_of(8), DiscoveryState::stale);
  NeighbourChange change;
  ASSERT_TRUE(world.cache.next_change(change));
  EXPECT_TRUE(change.resolved);
  EXPECT_EQ(world.resolve(7).mac, mac_of(7));
  EXPECT_EQ(world.resolve(8).mac, mac_of(8));
}

//= rfc4861#7.3.3
//= type=test
//# 4861:ND-28 REACHABLE ends after a half to one and a half of the base time
//# 4861:ND-29 STALE is used, and probed five seconds later
//# 4861:ND-30 alone, a second apart, and given up after three
TEST(Discovery, ANeighbourThatFallsSilentIsProbedAndGivenUp) {
  World world(plain());
  world.befriend(7);
  world.advance(Duration::seconds(15) - Duration{1});
  EXPECT_EQ(world.state_of(7), DiscoveryState::reachable);
  world.advance(Duration::seconds(30) + Duration{1});
  EXPECT_EQ(world.state_of(7), DiscoveryState::stale);
  EXPECT_FALSE(world.cache.wants_transmit());
  EXPECT_EQ(world.resolve(7).mac, mac_of(7));
  EXPECT_EQ(world.state_of(7), DiscoveryState::delay);
  world.advance(Duration::seconds(5) - Duration{1});
  EXPECT_FALSE(world.cache.wants_transmit());
  world.advance(Duration{1});
  EXPECT_EQ(world.state_of(7), DiscoveryState::probe);
  for (int i = 0; i < 3; ++i) {
    Sent const probe = world.sent();
    EXPECT_EQ(probe.to, mac_of(7));
    EXPECT_EQ(probe.ip.destination, address_of(7));
    EXPECT_EQ(world.resolve(7).mac, mac_of(7));
    world.advance(Duration::seconds(1));
  }
  EXPECT_EQ(world.resolve(7).kind, LookupKind::unreachable);
  world.forget_changes();
  world.advance(Duration::seconds(1));
  EXPECT_EQ(world.state_of(7), DiscoveryState::vacant);
}

//= rfc4861#7.3.1
//= type=test
//# 4861:ND-26 what TCP says spares the probe
//= rfc4861#7.3.3
//= type=test
//# 4861:ND-31 but it tells nothing of a neighbour that never answered
TEST(Discovery, ProgressConfirmsANeighbour) {
  World world(plain());
  world.befriend(7);
  world.advance(Duration::seconds(46));
  world.resolve(7);
  ASSERT_EQ(world.state_of(7), DiscoveryState::delay);
  world.cache.confirm(address_of(7), world.now);
  EXPECT_EQ(world.state_of(7), DiscoveryState::reachable);
  world.advance(Duration::seconds(6));
  EXPECT_FALSE(world.cache.wants_transmit());
  world.resolve(8);
  world.cache.confirm(address_of(8), world.now);
  EXPECT_EQ(world.state_of(8), DiscoveryState::incomplete);
  world.cache.doubt(address_of(7), world.now);
  world.advance(Duration{});
  EXPECT_EQ(world.state_of(7), DiscoveryState::probe);
}

//= rfc4861#7.2.5
//= type=test
//# 4861:ND-23, 4861:ND-24 override decides about another link address, solicited about reachability
//= rfc4861#7.3.1
//= type=test
//# 4861:ND-27 an unsolicited advertisement confirms nothing
TEST(Discovery, AnotherLinkAddressNeedsOverride) {
  World world(plain());
  world.befriend(7);
  NdMessage other = World::advertisement(7);
  other.link_address = mac_of(77);
  other.override = false;
  EXPECT_EQ(world.advertise(7, other), Drop::none);
  EXPECT_EQ(world.state_of(7), DiscoveryState::stale);
  EXPECT_EQ(world.resolve(7).mac, mac_of(7));
  NdMessage same = World::advertisement(7);
  same.solicited = false;
  EXPECT_EQ(world.advertise(7, same), Drop::none);
  EXPECT_EQ(world.state_of(7), DiscoveryState::delay);
  other.override = true;
  other.solicited = false;
  EXPECT_EQ(world.advertise(7, other), Drop::none);
  EXPECT_EQ(world.state_of(7), DiscoveryState::stale);
  EXPECT_EQ(world.resolve(7).mac, mac_of(77));
  other.solicited = true;
  EXPECT_EQ(world.advertise(7, other), Drop::none);
  EXPECT_EQ(world.state_of(7), DiscoveryState::reachable);
}

//= rfc4861#7.2.4
//= type=test
//# 4861:ND-17, 4861:ND-18, 4861:ND-19 with link address and override, no router, to whoever asked
//= rfc4861#7.2.3
//= type=test
//# 4861:ND-14, 4861:ND-13 whoever asks for us gets an entry, whoever asks for others nothing
//= rfc4861#7.3.3
//= type=test
//# 4861:ND-32 which begins as STALE
TEST(Discovery, WhoAsksForUsIsAnswered) {
  World world(plain());
  EXPECT_EQ(world.solicit(7, address_of(8)), Drop::nd_not_for_us);
  EXPECT_EQ(world.state_of(7), DiscoveryState::vacant);
  EXPECT_EQ(world.solicit(7), Drop::none);
  EXPECT_EQ(world.state_of(7), DiscoveryState::stale);
  Sent const answer = world.sent();
  EXPECT_EQ(answer.to, mac_of(7));
  EXPECT_EQ(answer.ip.source, ours);
  EXPECT_EQ(answer.ip.destination, address_of(7));
  EXPECT_EQ(answer.message.type, Icmp6Type::neighbour_advertisement);
  EXPECT_EQ(answer.message.target, ours);
  EXPECT_TRUE(answer.message.solicited);
  EXPECT_TRUE(answer.message.override);
  EXPECT_FALSE(answer.message.router);
  EXPECT_EQ(answer.message.link_address, our_mac);
  EXPECT_FALSE(world.cache.wants_transmit());
}

//= rfc4861#7.2.3
//= type=test
//# 4861:ND-15 another link address is taken over as STALE; what it is stays
//# 4861:ND-16 who asks from nowhere gets no entry
//= rfc4861#7.2.4
//= type=test
//# 4861:ND-18 but an unsolicited answer, to all nodes
TEST(Discovery, ASolicitationTellsOfItsSender) {
  World world(plain());
  world.befriend(7);
  NdMessage as_router = World::advertisement(7);
  as_router.router = true;
  ASSERT_EQ(world.advertise(7, as_router), Drop::none);
  NdMessage moved;
  moved.target = ours;
  moved.has_link_address = true;
  moved.link_address = mac_of(77);
  EXPECT_EQ(world.hear({address_of(7), ours, mac_of(77), 255}, moved), Drop::none);
  EXPECT_EQ(world.state_of(7), DiscoveryState::stale);
  EXPECT_TRUE(world.router_flag(7));
  world.sent();
  std::uint32_t const used = world.cache.used();
  EXPECT_EQ(world.test(9, ours), Drop::none);
  EXPECT_EQ(world.cache.used(), used);
  Sent const answer = world.sent();
  EXPECT_EQ(answer.ip.destination, all_nodes);
  EXPECT_EQ(answer.to, group_mac(all_nodes));
  EXPECT_FALSE(answer.message.solicited);
}

//= rfc4861#7.1.1
//= type=test
//# 4861:ND-1, 4861:ND-2 what may have been forwarded, or asks wrongly from nowhere
//= rfc4861#7.1.2
//= type=test
//# 4861:ND-3, 4861:ND-4 so is an advertisement, and a solicited one to a group
//= rfc6980#5
//= type=test
//# 6980:NDF-2 and all of it behind a fragment header
TEST(Discovery, WhatIsNotOfThisLinkIsRefused) {
  World world(plain());
  NdMessage message;
  message.target = ours;
  EXPECT_EQ(world.hear({address_of(7), ours, mac_of(7), 254}, message), Drop::nd_not_from_link);
  EXPECT_EQ(world.hear({address_of(7), ours, mac_of(7), 255, true}, message),
            Drop::nd_fragmented);
  EXPECT_EQ(world.hear({{}, ours, mac_of(7), 255}, message), Drop::nd_malformed);
  EXPECT_EQ(world.hear({ours, ours, mac_of(7), 255}, message), Drop::nd_bad_sender);
  EXPECT_EQ(world.hear({address_of(7), ours, our_mac, 255}, message), Drop::nd_bad_sender);
  message.has_link_address = true;
  message.link_address = mac_of(7);
  EXPECT_EQ(world.hear({{}, ours.solicited_node(), mac_of(7), 255}, message),
            Drop::nd_malformed);
  message.link_address = Mac::broadcast();
  EXPECT_EQ(world.hear({address_of(7), ours, mac_of(7), 255}, message), Drop::nd_bad_sender);
  NdMessage loud = World::advertisement(7);
  EXPECT_EQ(world.hear({address_of(7), all_nodes, mac_of(7), 255}, loud), Drop::nd_malformed);
  EXPECT_EQ(world.hear({address_of(7), ours, mac_of(7), 64}, loud), Drop::nd_not_from_link);
  loud.target = ours;
  EXPECT_EQ(world.hear({address_of(7), ours, mac_of(7), 255}, loud), Drop::nd_bad_sender);
  EXPECT_FALSE(world.cache.wants_transmit());
  EXPECT_EQ(world.cache.used(), 0u);
}

TEST(Discovery, AStaticEntryIsNeverAskedForNorChanged) {
  World world(plain());
  EXPECT_FALSE(world.cache.add_static(all_nodes, mac_of(7)));
  EXPECT_FALSE(world.cache.add_static(address_of(7), Mac::broadcast()));
  ASSERT_TRUE(world.cache.add_static(address_of(7), mac_of(7)));
  EXPECT_EQ(world.resolve(7).mac, mac_of(7));
  NdMessage other = World::advertisement(7);
  other.link_address = mac_of(8);
  EXPECT_EQ(world.advertise(7, other), Drop::nd_static_conflict);
  world.advance(Duration::seconds(100));
  EXPECT_EQ(world.resolve(7).mac, mac_of(7));
  EXPECT_FALSE(world.cache.wants_transmit());
}

TEST(Discovery, AFloodOfStrangersPushesOutNobodyWeTalkTo) {
  World world(plain());
  world.befriend(7);
  for (std::uint8_t host = 20; host < 120; ++host) {
    EXPECT_EQ(world.solicit(host), Drop::none);
    world.sent();
  }
  EXPECT_EQ(world.cache.used(), 4u);
  EXPECT_EQ(world.state_of(7), DiscoveryState::reachable);
  for (std::uint64_t host = 30; host < 33; ++host) {
    EXPECT_EQ(world.resolve(host).kind, LookupKind::waiting);
  }
  EXPECT_EQ(world.solicit(121), Drop::nd_cache_full);
}

//= rfc4862#5.4
//= type=test
//# 4862:DAD-1, 4862:DAD-11 nothing leaves before the test, and all may an interval after it
//= rfc4862#5.4.2
//= type=test
//# 4862:DAD-5, 4862:DAD-6 one solicitation from nowhere, within a second of the start
TEST(Discovery, AnAddressIsTestedBeforeItIsUsed) {
  World world(testing());
  Lookup const waits = world.resolve(7);
  EXPECT_EQ(waits.kind, LookupKind::waiting);
  EXPECT_EQ(world.state_of(7), DiscoveryState::vacant);
  EXPECT_EQ(world.cache.test_of(1), TestState::tentative);
  world.advance(Duration::seconds(1));
  for (IpAddress const tested : {ours, our_link}) {
    Sent const probe = world.sent();
    EXPECT_EQ(probe.ip.source, IpAddress{});
    EXPECT_EQ(probe.ip.destination, tested.solicited_node());
    EXPECT_EQ(probe.to, group_mac(tested.solicited_node()));
    EXPECT_EQ(probe.message.target, tested);
    EXPECT_FALSE(probe.message.has_link_address);
  }
  EXPECT_FALSE(world.cache.wants_transmit());
  world.advance(Duration::seconds(1) - Duration{1});
  EXPECT_EQ(world.cache.test_of(1), TestState::tentative);
  world.advance(Duration{1});
  EXPECT_EQ(world.cache.test_of(1), TestState::usable);
  NeighbourChange change;
  ASSERT_TRUE(world.cache.next_change(change));
  EXPECT_EQ(change.neighbour, waits.neighbour);
  EXPECT_TRUE(change.resolved);
  world.resolve(7);
  EXPECT_EQ(world.state_of(7), DiscoveryState::incomplete);
}

//= rfc4862#5.4.3
//= type=test
//# 4862:DAD-7 a tentative address answers nobody
//# 4862:DAD-8 another's test is a duplicate, our own looped back is none
//= rfc4862#5.4.5
//= type=test
//# 4862:DAD-10 a duplicate is never used; the other address still is
TEST(Discovery, SomebodyElseTestsTheSameAddress) {
  World world(testing());
  EXPECT_EQ(world.solicit(7), Drop::ip_tentative);
  EXPECT_FALSE(world.cache.wants_transmit());
  NdMessage own;
  own.target = ours;
  EXPECT_EQ(world.hear({{}, ours.solicited_node(), our_mac, 255}, own), Drop::nd_bad_sender);
  EXPECT_EQ(world.cache.test_of(1), TestState::tentative);
  EXPECT_EQ(world.test(7, ours), Drop::none);
  EXPECT_EQ(world.cache.test_of(1), TestState::duplicate);
  EXPECT_EQ(world.resolve(8).kind, LookupKind::unreachable);
  EXPECT_EQ(world.solicit(7), Drop::nd_not_for_us);
  world.advance(Duration::seconds(1));
  world.sent();
  world.advance(Duration::seconds(1));
  EXPECT_EQ(world.cache.test_of(2), TestState::usable);
}

//= rfc4862#5.4.4
//= type=test
//# 4862:DAD-9 whoever advertises the address has it
//= rfc4862#5.4.5
//= type=test
//# 4862:DAD-10 where it is the one of our link address, IPv6 ends here
TEST(Discovery, SomebodyHasTheAddressAlready) {
  World world(testing());
  NdMessage theirs = World::advertisement(7);
  theirs.target = our_link;
  theirs.solicited = false;
  EXPECT_EQ(world.hear({our_link, all_nodes, mac_of(7), 255}, theirs), Drop::none);
  EXPECT_EQ(world.cache.test_of(2), TestState::duplicate);
  EXPECT_EQ(world.cache.test_of(1), TestState::duplicate);
  world.advance(Duration::seconds(10));
  EXPECT_FALSE(world.cache.wants_transmit());
}

//= rfc4861#6.3.7
//= type=test
//# 4861:ND-42 three solicitations four seconds apart; none once a router has spoken
TEST(Discovery, RoutersAreSolicited) {
  World world(following());
  world.advance(Duration::seconds(1));
  for (int i = 0; i < 3; ++i) {
    Sent const request = world.sent();
    EXPECT_EQ(request.message.type, Icmp6Type::router_solicitation);
    EXPECT_EQ(request.ip.destination, all_routers);
    EXPECT_EQ(request.ip.source, our_link);
    EXPECT_TRUE(request.message.has_link_address);
    world.advance(Duration::seconds(4));
  }
  EXPECT_FALSE(world.cache.wants_transmit());
  World other(following());
  ASSERT_EQ(other.hear_router(World::router_message()), Drop::none);
  other.advance(Duration::seconds(20));
  EXPECT_FALSE(other.cache.wants_transmit());
  World deaf(plain());
  deaf.advance(Duration::seconds(20));
  EXPECT_FALSE(deaf.cache.wants_transmit());
  EXPECT_EQ(deaf.hear_router(World::router_message()), Drop::nd_router);
}

//= rfc4861#6.3.4
//= type=test
//# 4861:ND-37 a default router for its lifetime, and not at all with one of 0
//= rfc4861#6.1.2
//= type=test
//# 4861:ND-36 only from a link-local address and from this link
//= rfc4861#8.1
//= type=test
//# 4861:ND-43 a redirect changes nothing
//= rfc4861#8.3
//= type=test
//# 4861:ND-45 and draws none
TEST(Discovery, ARouterIsADefaultRouterForItsLifetime) {
  World world(following());
  IpAddress hop;
  EXPECT_FALSE(world.cache.default_router(hop, world.now));
  NdMessage message = World::router_message();
  EXPECT_EQ(world.hear({address_of(9), all_nodes, router_mac, 255}, message),
            Drop::nd_bad_sender);
  EXPECT_EQ(world.hear({router, all_nodes, router_mac, 64}, message), Drop::nd_not_from_link);
  ASSERT_EQ(world.hear_router(message), Drop::none);
  ASSERT_TRUE(world.cache.default_router(hop, world.now));
  EXPECT_EQ(hop, router);
  EXPECT_EQ(world.state_of(router), DiscoveryState::stale);
  NdMessage redirect;
  redirect.type = Icmp6Type::redirect;
  redirect.target = address_of(66);
  EXPECT_EQ(world.hear({router, ours, router_mac, 255}, redirect), Drop::nd_router);
  EXPECT_FALSE(world.cache.wants_transmit());
  world.advance(Duration::seconds(1799));
  EXPECT_TRUE(world.cache.default_router(hop, world.now));
  world.advance(Duration::seconds(1));
  EXPECT_FALSE(world.cache.default_router(hop, world.now));
  ASSERT_EQ(world.hear_router(message), Drop::none);
  message.lifetime_s = 0;
  ASSERT_EQ(world.hear_router(message), Drop::none);
  EXPECT_FALSE(world.cache.default_router(hop, world.now));
}

//= rfc4861#7.2.5
//= type=test
//# 4861:ND-25 whoever says that it is no router any more is none
TEST(Discovery, ARouterThatBecomesAHostIsNoDefaultRouter) {
  World world(following());
  ASSERT_EQ(world.hear_router(World::router_message()), Drop::none);
  NdMessage host = World::advertisement(7);
  host.target = router;
  host.link_address = router_mac;
  ASSERT_EQ(world.advertise(7, host), Drop::none);
  IpAddress hop;
  EXPECT_FALSE(world.cache.default_router(hop, world.now));
}

//= rfc4861#6.3.6
//= type=test
//# 4861:ND-41 one that answers goes before one that does not
TEST(Discovery, ARouterThatAnswersIsPreferred) {
  World world(following());
  NdMessage silent = World::router_message();
  silent.has_link_address = false;
  ASSERT_EQ(world.hear_router(silent), Drop::none);
  IpAddress hop;
  ASSERT_TRUE(world.cache.default_router(hop, world.now));
  EXPECT_EQ(hop, router);
  world.cache.resolve({router, our_link}, world.now);
  IpAddress const second{router.high, 0x77};
  ASSERT_EQ(world.hear({second, all_nodes, mac_of(77), 255}, World::router_message()),
            Drop::none);
  ASSERT_TRUE(world.cache.default_router(hop, world.now));
  EXPECT_EQ(hop, second);
}

//= rfc4861#6.3.4
//= type=test
//# 4861:ND-38, 4861:ND-39 what is zero is not said; the rest is adopted, an MTU within limits
//# 4861:ND-40 L=1 is on-link for its lifetime, L=0 says nothing
TEST(Discovery, ARoutersParametersAreAdopted) {
  World world(following());
  NdMessage message = World::router_message();
  message.hop_limit = 17;
  message.mtu = 1400;
  message.retrans_ms = 200;
  message.prefixes[0] = {elsewhere, 64, true, 60};
  message.prefix_count = 1;
  ASSERT_EQ(world.hear_router(message), Drop::none);
  message.hop_limit = 0;
  message.retrans_ms = 0;
  message.mtu = 1279;
  message.prefixes[0].on_link = false;
  message.prefixes[0].lifetime_s = 0;
  ASSERT_EQ(world.hear_router(message), Drop::none);
  message.mtu = 1501;
  ASSERT_EQ(world.hear_router(message), Drop::none);
  EXPECT_EQ(world.cache.hop_limit(), 17);
  EXPECT_EQ(world.cache.mtu(), Bytes{1400});
  EXPECT_EQ(world.cache.on_link_bits(elsewhere, world.now), 64);
  EXPECT_EQ(world.cache.on_link_bits(ours, world.now), 0);
  world.resolve(7);
  world.sent();
  world.advance(Duration::milliseconds(200));
  EXPECT_TRUE(world.cache.wants_transmit());
  world.advance(Duration::seconds(60));
  EXPECT_EQ(world.cache.on_link_bits(elsewhere, world.now), 0);
  message.prefixes[0] = {elsewhere, 64, true, 60};
  ASSERT_EQ(world.hear_router(message), Drop::none);
  message.prefixes[0].lifetime_s = 0;
  ASSERT_EQ(world.hear_router(message), Drop::none);
  EXPECT_EQ(world.cache.on_link_bits(elsewhere, world.now), 0);
}

}  // namespace
}  // namespace lockstep::link
