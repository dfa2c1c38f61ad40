// The link filter: one frame per drop reason.
#include "core/link/ethernet_input.hpp"

#include <gtest/gtest.h>

#include <array>

namespace lockstep::link {
namespace {

constexpr Mac ours{{2, 0, 0, 0, 0, 1}};
constexpr Mac theirs{{2, 0, 0, 0, 0, 2}};

Drop drop_of(const wire::EthernetHeader& header, bool* to_group = nullptr) {
  std::array<std::byte, 60> octets{};
  wire::write(header, octets);
  LinkArrival arrival;
  Drop const drop = ethernet_input({ours}, octets, arrival);
  if (to_group != nullptr) {
    *to_group = arrival.to_group;
  }
  return drop;
}

TEST(EthernetInput, AFrameForUsIsAccepted) {
  bool to_group = true;
  EXPECT_EQ(drop_of({ours, theirs, wire::EtherType::ipv4}, &to_group), Drop::none);
  EXPECT_FALSE(to_group);
  EXPECT_EQ(drop_of({ours, theirs, wire::EtherType::arp}), Drop::none);
}

TEST(EthernetInput, ABroadcastIsAcceptedAndMarked) {
  bool to_group = false;
  EXPECT_EQ(drop_of({Mac::broadcast(), theirs, wire::EtherType::arp}, &to_group), Drop::none);
  EXPECT_TRUE(to_group);
}

TEST(EthernetInput, AnotherHostsFrameIsDropped) {
  EXPECT_EQ(drop_of({theirs, theirs, wire::EtherType::ipv4}), Drop::frame_not_for_us);
  Mac const group{{1, 0, 0x5e, 0, 0, 1}};
  EXPECT_EQ(drop_of({group, theirs, wire::EtherType::ipv4}), Drop::frame_not_for_us);
}

TEST(EthernetInput, AGroupSourceIsDropped) {
  EXPECT_EQ(drop_of({ours, Mac::broadcast(), wire::EtherType::ipv4}), Drop::frame_bad_source);
}

TEST(EthernetInput, AnUnknownEtherTypeIsDropped) {
  EXPECT_EQ(drop_of({ours, theirs, wire::EtherType::ipv6}), Drop::ethertype_unknown);
  EXPECT_EQ(drop_of({ours, theirs, wire::EtherType{0x0026}}), Drop::ethertype_unknown);
}

TEST(EthernetInput, AShortFrameIsDropped) {
  std::array<std::byte, 13> octets{};
  LinkArrival arrival;
  EXPECT_EQ(ethernet_input({ours}, octets, arrival), Drop::frame_too_short);
}

Drop drop_for(const LinkFilter& filter, const wire::EthernetHeader& header) {
  std::array<std::byte, 60> octets{};
  wire::write(header, octets);
  LinkArrival arrival;
  return ethernet_input(filter, octets, arrival);
}

//= rfc4861#7.2.1
//= type=test
//# 4861:ND-6 IPv6 groups are accepted if IPv6 is configured
//= rfc4862#5.4.2
//= type=test
//# 4862:DAD-4 whatever the state of our addresses
TEST(EthernetInput, Ipv6GroupsAreAcceptedIfIpv6IsOn) {
  LinkFilter const six{ours, 0, true};
  Mac const group = group_mac(all_nodes);
  EXPECT_EQ(drop_for(six, {group, theirs, wire::EtherType::ipv6}), Drop::none);
  EXPECT_EQ(drop_for(six, {ours, theirs, wire::EtherType::ipv6}), Drop::none);
  EXPECT_EQ(drop_for(six, {group, theirs, wire::EtherType::ipv4}), Drop::frame_not_for_us);
  EXPECT_EQ(drop_for({ours}, {group, theirs, wire::EtherType::ipv6}), Drop::frame_not_for_us);
}

TEST(EthernetInput, OnlyFramesOfOurVlanAreAccepted) {
  LinkFilter const tagged{ours, 7};
  EXPECT_EQ(drop_for(tagged, {ours, theirs, wire::EtherType::ipv4, 7}), Drop::none);
  EXPECT_EQ(drop_for(tagged, {ours, theirs, wire::EtherType::ipv4, 8}), Drop::frame_other_vlan);
  EXPECT_EQ(drop_for(tagged, {ours, theirs, wire::EtherType::ipv4}), Drop::frame_other_vlan);
  EXPECT_EQ(drop_for({ours}, {ours, theirs, wire::EtherType::ipv4, 7}), Drop::frame_other_vlan);
}

}  // namespace
}  // namespace lockstep::link
