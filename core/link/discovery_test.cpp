// Neighbour discovery: soliciting, answering, probing, and tests of our addresses.
#include "core/link/discovery.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/link/discovery_kit.hpp"

namespace lockstep::link {
namespace {

//= rfc4861#7.2.2
//= type=test
//# 4861:ND-7, 4861:ND-8, 4861:ND-9 INCOMPLETE; to the solicited-node group, with our link address
//= rfc6980#5
//= type=test
//# 6980:NDF-1 no fragment header
TEST(Discovery, AnUnknownNextHopIsSolicitedInItsGroup) {
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
//# 4861:ND-11, 4861:ND-12 once a second, three times, with or without traffic; then failed
//# 4861:ND-10 those that wait are notified
TEST(Discovery, ResolutionFailsAfterThreeSolicitations) {
  World world(plain());
  Index const index = world.resolve(7).neighbour;
  for (int i = 0; i < 3; ++i) {
    world.sent();
    Lookup const again = world.resolve(7);
    EXPECT_EQ(again.kind, LookupKind::waiting);
    EXPECT_EQ(again.neighbour, index);
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
//# 4861:ND-21 REACHABLE if solicited, otherwise STALE; override does not matter
//# 4861:ND-22 without a link address it has no effect
//# 4861:ND-20 nor without a solicitation
TEST(Discovery, AnAdvertisementResolvesTheEntry) {
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
//# 4861:ND-28 REACHABLE ends after 0.5 to 1.5 times the base time
//# 4861:ND-29 STALE is used, and probed five seconds later
//# 4861:ND-30 unicast, a second apart, and removed after three
TEST(Discovery, ASilentNeighbourIsProbedAndRemoved) {
  World world(plain());
  world.resolve_neighbour(7);
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
//# 4861:ND-26 a confirmation by TCP makes the probe unnecessary
//= rfc4861#7.3.3
//= type=test
//# 4861:ND-31 but has no effect on a neighbour that never answered
TEST(Discovery, ProgressConfirmsANeighbour) {
  World world(plain());
  world.resolve_neighbour(7);
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
//# 4861:ND-23, 4861:ND-24 override decides about a new link address, solicited about reachability
//= rfc4861#7.3.1
//= type=test
//# 4861:ND-27 an unsolicited advertisement does not confirm
TEST(Discovery, AnotherLinkAddressNeedsOverride) {
  World world(plain());
  world.resolve_neighbour(7);
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
//# 4861:ND-17, 4861:ND-18, 4861:ND-19 with link address and override, no router flag, to the sender
//= rfc4861#7.2.3
//= type=test
//# 4861:ND-14, 4861:ND-13 a solicitation for us creates an entry, one for others does not
//= rfc4861#7.3.3
//= type=test
//# 4861:ND-32 which starts as STALE
TEST(Discovery, SolicitationsForUsAreAnswered) {
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
//# 4861:ND-15 a new link address is stored as STALE; the router flag does not change
//# 4861:ND-16 no entry for an unspecified source
//= rfc4861#7.2.4
//= type=test
//# 4861:ND-18 but an unsolicited answer to all nodes
TEST(Discovery, ASolicitationUpdatesItsSendersEntry) {
  World world(plain());
  world.resolve_neighbour(7);
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
//# 4861:ND-1, 4861:ND-2 may have been forwarded, or invalid with an unspecified source
//= rfc4861#7.1.2
//= type=test
//# 4861:ND-3, 4861:ND-4 the same for an advertisement; and a solicited one to a group
//= rfc6980#5
//= type=test
//# 6980:NDF-2 and everything after a fragment header
TEST(Discovery, ForwardedOrInvalidMessagesAreRefused) {
  World world(plain());
  NdMessage message;
  message.target = ours;
  EXPECT_EQ(world.hear({address_of(7), ours, mac_of(7), 254}, message), Drop::nd_not_from_link);
  EXPECT_EQ(world.hear({address_of(7), ours, mac_of(7), 255, true}, message), Drop::nd_fragmented);
  EXPECT_EQ(world.hear({{}, ours, mac_of(7), 255}, message), Drop::nd_malformed);
  EXPECT_EQ(world.hear({ours, ours, mac_of(7), 255}, message), Drop::nd_bad_sender);
  EXPECT_EQ(world.hear({address_of(7), ours, our_mac, 255}, message), Drop::nd_bad_sender);
  message.has_link_address = true;
  message.link_address = mac_of(7);
  EXPECT_EQ(world.hear({{}, ours.solicited_node(), mac_of(7), 255}, message), Drop::nd_malformed);
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

TEST(Discovery, AStaticEntryIsNeverSolicitedOrChanged) {
  World world(plain());
  EXPECT_FALSE(world.cache.add_static(all_nodes, mac_of(7)));
  EXPECT_FALSE(world.cache.add_static(address_of(7), Mac::broadcast()));
  ASSERT_TRUE(world.cache.add_static(address_of(7), mac_of(7)));
  EXPECT_EQ(world.resolve(7).mac, mac_of(7));
  NdMessage other = World::advertisement(7);
  other.link_address = mac_of(8);
  EXPECT_EQ(world.advertise(7, other), Drop::nd_static_conflict);
  EXPECT_EQ(world.solicit(7), Drop::none) << "it says what is known";
  world.sent();
  NdMessage moved;
  moved.target = ours;
  moved.has_link_address = true;
  moved.link_address = mac_of(8);
  EXPECT_EQ(world.hear({address_of(7), ours, mac_of(8), 255}, moved), Drop::nd_static_conflict);
  world.advance(Duration::seconds(100));
  EXPECT_EQ(world.resolve(7).mac, mac_of(7));
  EXPECT_FALSE(world.cache.wants_transmit());
}

TEST(Discovery, AFloodOfStrangersEvictsNoNeighbourInUse) {
  World world(plain());
  world.resolve_neighbour(7);
  for (std::uint8_t host = 20; host < 120; ++host) {
    EXPECT_EQ(world.solicit(host), Drop::none);
    world.sent();
  }
  EXPECT_EQ(world.cache.used(), 3u);
  EXPECT_EQ(world.state_of(7), DiscoveryState::reachable);
  for (std::uint64_t host = 30; host < 33; ++host) {
    EXPECT_EQ(world.resolve(host).kind, host < 32 ? LookupKind::waiting : LookupKind::unreachable);
  }
  EXPECT_EQ(world.solicit(121), Drop::none);
  EXPECT_EQ(world.resolve(7).kind, LookupKind::resolved);
}

//= rfc4861#7.2.4
//= type=test
//# 4861:ND-18 a solicitation for us is answered although the cache is full
TEST(Discovery, AFullCacheStillAnswers) {
  World world(plain());
  for (std::uint8_t host = 7; host < 10; ++host) {
    world.resolve_neighbour(host);
  }
  EXPECT_EQ(world.solicit(121), Drop::nd_cache_full);
  EXPECT_EQ(world.sent().message.type, Icmp6Type::neighbour_advertisement);
  EXPECT_EQ(world.state_of(121), DiscoveryState::vacant);
}

//= rfc4861#7.2.2
//= type=test
//# 4861:ND-7, 4861:ND-10 an entry learned from others is kept once we have sent to it
TEST(Discovery, AnEntryThatWeSendToIsKept) {
  World world(plain());
  ASSERT_EQ(world.solicit(7), Drop::none);
  world.sent();
  EXPECT_EQ(world.resolve(7).kind, LookupKind::resolved);
  for (std::uint8_t host = 20; host < 40; ++host) {
    EXPECT_EQ(world.solicit(host), Drop::none);
    world.sent();
  }
  EXPECT_EQ(world.resolve(7).kind, LookupKind::resolved);
}

//= rfc4862#5.4
//= type=test
//# 4862:DAD-1, 4862:DAD-11 nothing is sent before the test; everything one interval after it
//= rfc4862#5.4.2
//= type=test
//# 4862:DAD-5, 4862:DAD-6 one solicitation with unspecified source, within a second of the start
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

//= rfc4861#7.2.6
//= type=test
//# 4861:ND-34 unsolicited, to all nodes, RetransTimer apart, at most three times
TEST(Discovery, OurAddressesAreAnnouncedThreeTimesAtMost) {
  for (std::uint32_t const wanted : {0u, 2u, 3u, 10u}) {
    DiscoveryConfig config = plain();
    config.announcements = Count{wanted};
    World world(config);
    std::uint32_t const times = std::min(wanted, 3u);
    for (std::uint32_t i = 0; i < times; ++i) {
      for (IpAddress const announced : {ours, our_link}) {
        Sent const out = world.sent();
        EXPECT_EQ(out.message.type, Icmp6Type::neighbour_advertisement);
        EXPECT_EQ(out.ip.destination, all_nodes);
        EXPECT_EQ(out.to, group_mac(all_nodes));
        EXPECT_EQ(out.message.target, announced);
        EXPECT_FALSE(out.message.solicited);
        EXPECT_EQ(out.message.link_address, our_mac);
      }
      world.advance(config.retransmission - Duration{1});
      EXPECT_FALSE(world.cache.wants_transmit());
      world.advance(Duration{1});
    }
    world.advance(Duration::seconds(60));
    EXPECT_FALSE(world.cache.wants_transmit()) << wanted;
  }
}

//= rfc4862#5.4.3
//= type=test
//# 4862:DAD-7 a tentative address is never answered for
//# 4862:DAD-8 another host's test is a duplicate, our own looped back is not
//= rfc4862#5.4.5
//= type=test
//# 4862:DAD-10 a duplicate is never used; the other address still is
TEST(Discovery, AnotherHostTestsTheSameAddress) {
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
//# 4862:DAD-9 an advertisement for the address means that another host has it
//= rfc4862#5.4.5
//= type=test
//# 4862:DAD-10 if it is our link-local address, IPv6 is disabled
TEST(Discovery, AnotherHostHasTheAddress) {
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

}  // namespace
}  // namespace lockstep::link
