// IPv6 routes: on-link destinations and next-hop routers.
#include "core/internet/ipv6_routes.hpp"

#include <gtest/gtest.h>

namespace lockstep::internet {
namespace {

constexpr std::uint64_t ours = 0x2001'0db8'0000'0001;
constexpr std::uint64_t other = 0x2001'0db8'0000'0002;
constexpr std::uint64_t local = 0xfe80'0000'0000'0000;
constexpr IpAddress router{local, 1};

// 2001:db8:0:1::5/64.
Addresses one() {
  Addresses addresses;
  EXPECT_TRUE(addresses.add({ours, 5}, 64));
  return addresses;
}

//= rfc4861#5.2
//= type=test
//# 4861:ND-35 the destination itself if it is on-link, otherwise the router of the longest prefix
TEST(Ipv6Routes, TheLongestPrefixDecides) {
  Ipv6Routes routes;
  ASSERT_TRUE(routes.add({{other, 0}, router, 64}));
  ASSERT_TRUE(routes.add({{ours, 0x1'0000}, {local, 2}, 112}));
  IpAddress hop;
  ASSERT_TRUE(routes.next_hop(one(), {ours, 7}, 0, hop));
  EXPECT_EQ(hop, (IpAddress{ours, 7}));
  ASSERT_TRUE(routes.next_hop(one(), {other, 7}, 0, hop));
  EXPECT_EQ(hop, router);
  ASSERT_TRUE(routes.next_hop(one(), {ours, 0x1'0007}, 0, hop));
  EXPECT_EQ(hop, (IpAddress{local, 2})) << "longer than the prefix of the link";
  EXPECT_FALSE(routes.next_hop(one(), {0x2001'0db8'0000'0003, 7}, 0, hop));
}

//= rfc4861#5.2
//= type=test
//# 4861:ND-35 link-local is always on-link, and so is an advertised prefix
TEST(Ipv6Routes, LinkLocalAndAdvertisedPrefixesAreOnLink) {
  Ipv6Routes routes;
  ASSERT_TRUE(routes.add({{local, 0}, router, 64}));
  ASSERT_TRUE(routes.add({{other, 0}, router, 48}));
  IpAddress hop;
  ASSERT_TRUE(routes.next_hop(one(), {local, 9}, 0, hop));
  EXPECT_EQ(hop, (IpAddress{local, 9})) << "no route leads away from the link";
  ASSERT_TRUE(routes.next_hop(one(), {other, 9}, 64, hop));
  EXPECT_EQ(hop, (IpAddress{other, 9}));
  ASSERT_TRUE(routes.next_hop(one(), {other, 9}, 47, hop));
  EXPECT_EQ(hop, router);
}

}  // namespace
}  // namespace lockstep::internet
