// Kinds of addresses, and one type for IPv4 and IPv6.
#include "core/units/address.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Mac, KnowsGroups) {
  EXPECT_TRUE(Mac::broadcast().is_group());
  EXPECT_TRUE((Mac{{0x01, 0x00, 0x5e, 0, 0, 1}}).is_group());
  EXPECT_FALSE((Mac{{0x02, 0, 0, 0, 0, 1}}).is_group());
  EXPECT_LT((Mac{{1, 2, 3, 4, 5, 6}}), (Mac{{1, 2, 3, 4, 6, 5}}));
}

TEST(Ipv4, KnowsItsKinds) {
  EXPECT_TRUE((Ipv4{0}).is_unspecified());
  EXPECT_TRUE((Ipv4{0xffff'ffff}).is_limited_broadcast());
  EXPECT_FALSE((Ipv4{0xffff'fffe}).is_limited_broadcast());
  EXPECT_TRUE((Ipv4{0xe000'0001}).is_multicast());
  EXPECT_TRUE((Ipv4{0xefff'ffff}).is_multicast());
  EXPECT_FALSE((Ipv4{0xdfff'ffff}).is_multicast());
  EXPECT_FALSE((Ipv4{0xf000'0000}).is_multicast());
  EXPECT_TRUE((Ipv4{0x7f00'0001}).is_loopback());
  EXPECT_FALSE((Ipv4{0x8000'0001}).is_loopback());
  EXPECT_TRUE((Ipv4{0x0001'0203}).is_reserved());
  EXPECT_TRUE((Ipv4{0xf000'0000}).is_reserved());
  EXPECT_TRUE((Ipv4{0xffff'ffff}).is_reserved());
  EXPECT_FALSE((Ipv4{0x0100'0000}).is_reserved());
  EXPECT_FALSE((Ipv4{0xefff'ffff}).is_reserved());
}

TEST(IpAddress, HoldsIpv4AsMapped) {
  constexpr IpAddress address = IpAddress::v4(10, 0, 0, 1);
  EXPECT_EQ(address.high, 0u);
  EXPECT_EQ(address.low, 0xffff'0a00'0001u);
  EXPECT_TRUE(address.is_v4());
  EXPECT_EQ(address.as_v4().value, 0x0a00'0001u);
  EXPECT_EQ(IpAddress::from(Ipv4{0x0a00'0001}), address);
  EXPECT_FALSE((IpAddress{0, 1}).is_v4());
  EXPECT_FALSE((IpAddress{0x2001'0db8'0000'0000, 0xffff'0a00'0001}).is_v4());
  EXPECT_FALSE((IpAddress{0, 0x1'ffff'0a00'0001}).is_v4());
}

TEST(IpAddress, KnowsItsKinds) {
  EXPECT_TRUE(IpAddress{}.is_unspecified());
  EXPECT_TRUE(IpAddress::v4(0, 0, 0, 0).is_unspecified());
  EXPECT_FALSE(IpAddress::v4(0, 0, 0, 1).is_unspecified());
  EXPECT_FALSE((IpAddress{1, 0}).is_unspecified());
  EXPECT_TRUE(IpAddress::v4(224, 0, 0, 1).is_multicast());
  EXPECT_TRUE((IpAddress{0xff02'0000'0000'0000, 1}).is_multicast());
  EXPECT_FALSE((IpAddress{0xfe80'0000'0000'0000, 1}).is_multicast());
}

TEST(FourTuple, DiffersInEveryPart) {
  FourTuple const tuple{{IpAddress::v4(10, 0, 0, 1), Port{80}},
                        {IpAddress::v4(10, 0, 0, 2), Port{1024}}};
  FourTuple other = tuple;
  EXPECT_EQ(tuple, other);
  other.local.port = Port{81};
  EXPECT_NE(tuple, other);
  other = tuple;
  other.remote.address = IpAddress::v4(10, 0, 0, 3);
  EXPECT_NE(tuple, other);
  other = tuple;
  other.remote.port = Port{1025};
  EXPECT_NE(tuple, other);
  other = tuple;
  other.local.address = IpAddress::v4(10, 0, 0, 0);
  EXPECT_NE(tuple, other);
}

//= rfc4862#5.3
//= type=test
//# 4862:DAD-12 fe80::, zeros, and the modified EUI-64
TEST(IpAddress, AddressesOfOneLinkFollowFromItsMac) {
  constexpr Mac mac{{0x00, 0x11, 0x22, 0x33, 0x44, 0x55}};
  EXPECT_EQ(link_local_of(mac), (IpAddress{0xfe80'0000'0000'0000, 0x0211'22ff'fe33'4455}));
  EXPECT_TRUE(link_local_of(mac).is_link_local());
  IpAddress const address{0x2001'0db8'0000'0000, 0xabcd'ef12};
  EXPECT_FALSE(address.is_link_local());
  EXPECT_EQ(address.solicited_node(), (IpAddress{0xff02'0000'0000'0000, 0x1'ffcd'ef12}));
  EXPECT_EQ(group_mac(address.solicited_node()), (Mac{{0x33, 0x33, 0xff, 0xcd, 0xef, 0x12}}));
}

TEST(IpAddress, SomeAddressesAreNotHosts) {
  EXPECT_TRUE((IpAddress{0x2001'0db8'0000'0000, 1}.is_v6_host()));
  EXPECT_FALSE((IpAddress{0, 0}.is_v6_host()));
  EXPECT_FALSE((IpAddress{0, 1}.is_v6_host()));
  EXPECT_FALSE(all_nodes.is_v6_host());
  EXPECT_FALSE(IpAddress::v4(10, 0, 0, 1).is_v6_host());
  EXPECT_EQ(common_bits({IpAddress{1, 0}, IpAddress{1, 1}}), 127u);
  EXPECT_EQ(common_bits({IpAddress{1, 0}, IpAddress{0, 0}}), 63u);
  EXPECT_EQ(common_bits({all_nodes, all_nodes}), 128u);
}

}  // namespace
}  // namespace lockstep
