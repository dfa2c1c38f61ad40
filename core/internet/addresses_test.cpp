// Addresses and routes: our addresses, broadcasts, next hops and sources.
#include "core/internet/addresses.hpp"

#include <gtest/gtest.h>

#include "core/internet/routes.hpp"

namespace lockstep::internet {
namespace {

IpAddress ip(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return IpAddress::v4(a, b, c, d);
}

// 10.0.1.5/24 and 192.0.2.9/31.
Addresses two() {
  Addresses addresses;
  EXPECT_TRUE(addresses.add(ip(10, 0, 1, 5), 24));
  EXPECT_TRUE(addresses.add(ip(192, 0, 2, 9), 31));
  return addresses;
}

TEST(Addresses, FindReturnsTheIndex) {
  Addresses const addresses = two();
  EXPECT_EQ(addresses.find(ip(10, 0, 1, 5)), 0);
  EXPECT_EQ(addresses.find(ip(192, 0, 2, 9)), 1);
  EXPECT_EQ(addresses.find(ip(10, 0, 1, 6)), no_address);
  EXPECT_EQ(addresses.all().size(), 2u);
}

TEST(Addresses, AddAcceptsOnlyHostsUpToTheLimit) {
  Addresses addresses;
  EXPECT_FALSE(addresses.add(ip(0, 0, 0, 0), 24));
  EXPECT_FALSE(addresses.add(ip(127, 0, 0, 1), 8));
  EXPECT_FALSE(addresses.add(ip(224, 0, 0, 1), 24));
  EXPECT_FALSE(addresses.add(ip(255, 255, 255, 255), 24));
  EXPECT_FALSE(addresses.add(all_nodes, 64));
  EXPECT_FALSE(addresses.add(ip(10, 0, 0, 1), 33));
  for (std::uint8_t i = 1; i <= Addresses::addresses_max; ++i) {
    EXPECT_TRUE(addresses.add(ip(10, 0, 0, i), 32));
    EXPECT_FALSE(addresses.add(ip(10, 0, 0, i), 32)) << "twice";
  }
  EXPECT_FALSE(addresses.add(ip(10, 0, 0, 99), 32));
}

TEST(Addresses, BroadcastsFollowFromThePrefixes) {
  Addresses const addresses = two();
  EXPECT_EQ(addresses.classify(ip(255, 255, 255, 255)), AddressClass::broadcast);
  EXPECT_EQ(addresses.classify(ip(10, 0, 1, 255)), AddressClass::broadcast);
  EXPECT_EQ(addresses.classify(ip(10, 0, 1, 0)), AddressClass::broadcast);
  EXPECT_EQ(addresses.classify(ip(10, 0, 2, 255)), AddressClass::other);
  EXPECT_EQ(addresses.classify(ip(192, 0, 2, 8)), AddressClass::other);  // a /31 has no broadcast
  EXPECT_EQ(addresses.classify(ip(10, 0, 1, 5)), AddressClass::ours);
  EXPECT_EQ(addresses.classify(ip(239, 1, 2, 3)), AddressClass::multicast);
}

//= rfc1122#3.2.1.3
//= type=test
//# 1122:H-1 only a unicast address of another host is a valid source
//= rfc9293#3.9.1.1
//= type=test
//# 9293:MUST-46 or a valid remote address of an open
TEST(Addresses, SourcesAreOtherHosts) {
  Addresses const addresses = two();
  EXPECT_TRUE(addresses.may_be_source(ip(10, 0, 1, 6)));
  EXPECT_TRUE(addresses.may_be_source(ip(8, 8, 8, 8)));
  for (IpAddress const bad : {ip(255, 255, 255, 255), ip(10, 0, 1, 255), ip(10, 0, 1, 0),
                              ip(224, 0, 0, 1), ip(127, 0, 0, 1), ip(0, 0, 0, 0), ip(0, 1, 2, 3),
                              ip(240, 0, 0, 1), ip(10, 0, 1, 5), IpAddress{}}) {
    EXPECT_FALSE(addresses.may_be_source(bad));
    EXPECT_FALSE(may_be_remote(addresses, bad));
  }
}

//= rfc4861#7.2.1
//= type=test
//# 4861:ND-6 the solicited-node group of each address, and no other
TEST(Addresses, SolicitedNodeGroupsAreJoined) {
  IpAddress const first{0x2001'0db8'0000'0000, 0x0000'0000'0001'0203};
  IpAddress const second{0xfe80'0000'0000'0000, 0x0000'0000'0004'0506};
  Addresses addresses = two();
  EXPECT_FALSE(addresses.is_joined(all_nodes)) << "without IPv6 there is no group to be in";
  EXPECT_FALSE(addresses.is_joined(ip(10, 0, 1, 5).solicited_node()));
  ASSERT_TRUE(addresses.add(first, 64));
  ASSERT_TRUE(addresses.add(second, 10));
  EXPECT_TRUE(addresses.is_joined(all_nodes));
  EXPECT_TRUE(addresses.is_joined(first.solicited_node()));
  EXPECT_TRUE(addresses.is_joined(second.solicited_node()));
  EXPECT_FALSE(addresses.is_joined(IpAddress{first.high, 0x070809}.solicited_node()));
  EXPECT_FALSE(addresses.is_joined(ip(10, 0, 1, 5).solicited_node()));
}

//= rfc1122#3.2.1.3
//= type=test
//# 1122:H-18 the source is the index of one of our addresses
TEST(Routes, OnLinkIsDirectWithTheAddressOfThatLink) {
  Addresses const addresses = two();
  Routes routes;
  NextHop hop;
  ASSERT_TRUE(routes.next_hop(addresses, ip(10, 0, 1, 77), hop));
  EXPECT_EQ(hop.address, ip(10, 0, 1, 77));
  EXPECT_EQ(hop.source, 0);
  ASSERT_TRUE(routes.next_hop(addresses, ip(192, 0, 2, 8), hop));
  EXPECT_EQ(hop.source, 1);
  EXPECT_FALSE(routes.next_hop(addresses, ip(10, 0, 2, 77), hop));
  EXPECT_FALSE(routes.next_hop({}, ip(10, 0, 1, 77), hop));
  EXPECT_FALSE(routes.next_hop(addresses, IpAddress{1, 2}, hop));
}

TEST(Routes, OfOverlappingLinksTheLongerPrefixWins) {
  Addresses addresses;
  ASSERT_TRUE(addresses.add(ip(10, 0, 1, 5), 24));
  ASSERT_TRUE(addresses.add(ip(10, 9, 9, 9), 8));
  NextHop hop;
  ASSERT_TRUE(Routes{}.next_hop(addresses, ip(10, 0, 1, 77), hop));
  EXPECT_EQ(hop.source, 0);
  ASSERT_TRUE(Routes{}.next_hop(addresses, ip(10, 0, 2, 77), hop));
  EXPECT_EQ(hop.source, 1);
}

// Found by stack_fuzz: the last octets of an IPv6 address were taken for an IPv4 address.
TEST(Routes, Ipv6AddressesDoNotMatchIpv4Links) {
  Addresses addresses;
  ASSERT_TRUE(addresses.add(ip(192, 0, 2, 9), 31));
  ASSERT_TRUE(addresses.add({0xfe80'0000'0000'0000, 0x0a00'0105}, 10));
  ASSERT_TRUE(addresses.add({0x2001'0db8'0000'0000, 0x0a00'0105}, 64));
  NextHop hop;
  EXPECT_FALSE(Routes{}.next_hop(addresses, ip(10, 0, 1, 77), hop));
  EXPECT_FALSE(Routes{}.next_hop(addresses, ip(10, 0, 1, 5), hop));
  // An IPv6 address is not a destination of IPv4 routes, whatever its last octets.
  IpAddress const six{0x2001'0db8'0000'0000, ip(192, 0, 2, 8).low};
  EXPECT_FALSE(Routes{}.next_hop(addresses, six, hop));
}

//= rfc1122#3.2.1.3
//= type=test
//# 1122:H-18 also if the gateway is on none of our links: then the first address is used
TEST(Routes, AGatewayOffTheLinksIsReachedFromTheFirstAddress) {
  Routes routes;
  ASSERT_TRUE(routes.add({ip(0, 0, 0, 0), ip(203, 0, 113, 1), 0}));
  NextHop hop;
  ASSERT_TRUE(routes.next_hop(two(), ip(8, 8, 8, 8), hop));
  EXPECT_EQ(hop.address, ip(203, 0, 113, 1));
  EXPECT_EQ(hop.source, 0);
}

TEST(Routes, TheLongestPrefixWins) {
  Addresses const addresses = two();
  Routes routes;
  ASSERT_TRUE(routes.add({ip(0, 0, 0, 0), ip(10, 0, 1, 1), 0}));
  ASSERT_TRUE(routes.add({ip(172, 16, 0, 0), ip(192, 0, 2, 8), 12}));
  ASSERT_TRUE(routes.add({ip(172, 16, 9, 0), ip(10, 0, 1, 2), 24}));
  ASSERT_TRUE(routes.add({ip(10, 0, 1, 128), ip(10, 0, 1, 3), 25}));
  ASSERT_TRUE(routes.add({ip(10, 0, 1, 0), ip(10, 0, 1, 4), 24}));
  NextHop hop;
  ASSERT_TRUE(routes.next_hop(addresses, ip(8, 8, 8, 8), hop));
  EXPECT_EQ(hop.address, ip(10, 0, 1, 1));
  EXPECT_EQ(hop.source, 0);
  ASSERT_TRUE(routes.next_hop(addresses, ip(172, 17, 0, 1), hop));
  EXPECT_EQ(hop.address, ip(192, 0, 2, 8));
  EXPECT_EQ(hop.source, 1);
  ASSERT_TRUE(routes.next_hop(addresses, ip(172, 16, 9, 1), hop));
  EXPECT_EQ(hop.address, ip(10, 0, 1, 2));
  ASSERT_TRUE(routes.next_hop(addresses, ip(10, 0, 1, 200), hop));
  EXPECT_EQ(hop.address, ip(10, 0, 1, 3)) << "longer than the link's own prefix";
  ASSERT_TRUE(routes.next_hop(addresses, ip(10, 0, 1, 100), hop));
  EXPECT_EQ(hop.address, ip(10, 0, 1, 100)) << "the link beats a route of the same length";
}

TEST(Routes, AreBounded) {
  Routes routes;
  EXPECT_FALSE(routes.add({ip(0, 0, 0, 0), IpAddress::v4(0, 0, 0, 0), 0}));
  EXPECT_FALSE(routes.add({ip(0, 0, 0, 0), ip(10, 0, 0, 1), 33}));
  for (std::uint32_t i = 0; i < Routes::routes_max; ++i) {
    EXPECT_TRUE(routes.add({ip(0, 0, 0, 0), ip(10, 0, 0, 1), 0}));
  }
  EXPECT_FALSE(routes.add({ip(0, 0, 0, 0), ip(10, 0, 0, 1), 0}));
}

}  // namespace
}  // namespace lockstep::internet
