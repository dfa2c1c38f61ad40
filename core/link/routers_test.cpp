// Routers: solicitation, advertisements, and choice of the default router.
#include <gtest/gtest.h>

#include "core/link/discovery_kit.hpp"

namespace lockstep::link {
namespace {

//= rfc4861#6.3.7
//= type=test
//# 4861:ND-42 three solicitations four seconds apart; none after an advertisement
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

//= rfc4861#6.3.7
//= type=test
//# 4861:ND-42 only an advertisement of a default router ends them, early or late
TEST(Discovery, OnlyADefaultRouterEndsTheSolicitations) {
  World world(following());
  NdMessage none = World::router_message();
  none.lifetime_s = 0;
  none.has_link_address = false;
  ASSERT_EQ(world.hear_router(none), Drop::none);
  world.advance(Duration::seconds(1));
  EXPECT_EQ(world.sent().message.type, Icmp6Type::router_solicitation);
  DiscoveryConfig early = following();
  early.duplicate_tests = {1};
  World other(early);
  NdMessage one = World::router_message();
  one.has_link_address = false;
  ASSERT_EQ(other.hear_router(one), Drop::none);
  for (int i = 0; i < 20; ++i) {
    other.advance(Duration::seconds(1));
    while (other.cache.wants_transmit()) {
      EXPECT_EQ(other.sent().message.type, Icmp6Type::neighbour_solicitation);
    }
  }
}

//= rfc4861#6.3.4
//= type=test
//# 4861:ND-37 restarted by each advertisement; a router has only one entry
TEST(Discovery, ARouterHasOneEntry) {
  World world(following());
  NdMessage message = World::router_message();
  message.has_link_address = false;
  for (std::uint32_t i = 0; i < 2 * Discovery::routers_max; ++i) {
    ASSERT_EQ(world.hear_router(message), Drop::none);
  }
  IpAddress const second{router.high, 0x77};
  ASSERT_EQ(world.hear({second, all_nodes, mac_of(77), 255}, message), Drop::none);
  message.lifetime_s = 10;
  ASSERT_EQ(world.hear_router(message), Drop::none);
  world.advance(Duration::seconds(10));
  IpAddress hop;
  ASSERT_TRUE(world.cache.default_router(hop, world.now));
  EXPECT_EQ(hop, second);
}

//= rfc4861#6.3.6
//= type=test
//# 4861:ND-41 round robin while none answers: the next only when one has failed
TEST(Discovery, RoutersThatDoNotAnswerAreTriedInTurn) {
  World world(following());
  NdMessage silent = World::router_message();
  silent.has_link_address = false;
  IpAddress const second{router.high, 0x77};
  ASSERT_EQ(world.hear_router(silent), Drop::none);
  ASSERT_EQ(world.hear({second, all_nodes, mac_of(77), 255}, silent), Drop::none);
  IpAddress hop;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(world.cache.default_router(hop, world.now));
    EXPECT_EQ(hop, router) << "nobody has asked for it yet";
  }
  world.cache.resolve({router, our_link}, world.now);
  for (int i = 0; i < 3; ++i) {
    world.sent();
    world.advance(Duration::seconds(1));
  }
  ASSERT_EQ(world.state_of(router), DiscoveryState::failed);
  ASSERT_TRUE(world.cache.default_router(hop, world.now));
  EXPECT_EQ(hop, router);
  ASSERT_TRUE(world.cache.default_router(hop, world.now));
  EXPECT_EQ(hop, second);
}

//= rfc4861#6.3.4
//= type=test
//# 4861:ND-37 a default router for its lifetime; not at all if that is 0
//= rfc4861#6.1.2
//= type=test
//# 4861:ND-36 only from a link-local address and from this link
//= rfc4861#8.1
//= type=test
//# 4861:ND-43 a redirect changes nothing
//= rfc4861#8.3
//= type=test
//# 4861:ND-45 and causes none
TEST(Discovery, ARouterIsADefaultRouterForItsLifetime) {
  World world(following());
  IpAddress hop;
  EXPECT_FALSE(world.cache.default_router(hop, world.now));
  NdMessage message = World::router_message();
  EXPECT_EQ(world.hear({address_of(9), all_nodes, router_mac, 255}, message), Drop::nd_bad_sender);
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
//# 4861:ND-25 a router that clears its router flag is no longer used
TEST(Discovery, ARouterThatBecomesAHostIsRemoved) {
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
//# 4861:ND-41 a reachable one is preferred
TEST(Discovery, AReachableRouterIsPreferred) {
  World world(following());
  NdMessage silent = World::router_message();
  silent.has_link_address = false;
  ASSERT_EQ(world.hear_router(silent), Drop::none);
  IpAddress hop;
  ASSERT_TRUE(world.cache.default_router(hop, world.now));
  EXPECT_EQ(hop, router);
  world.cache.resolve({router, our_link}, world.now);
  IpAddress const second{router.high, 0x77};
  ASSERT_EQ(world.hear({second, all_nodes, mac_of(77), 255}, World::router_message()), Drop::none);
  ASSERT_TRUE(world.cache.default_router(hop, world.now));
  EXPECT_EQ(hop, second);
}

//= rfc4861#6.3.4
//= type=test
//# 4861:ND-38, 4861:ND-39 zero means unspecified; other values are adopted, an MTU within limits
//# 4861:ND-40 L=1 is on-link for its lifetime, L=0 has no meaning
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
