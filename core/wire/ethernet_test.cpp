// Ethernet and ARP: writing and parsing agree, short and foreign packets are refused.
#include "core/wire/ethernet.hpp"

#include <gtest/gtest.h>

#include <array>

#include "core/units/random.hpp"
#include "core/wire/arp.hpp"

namespace lockstep::wire {
namespace {

Mac random_mac(Random& random) {
  Mac mac;
  for (std::uint8_t& octet : mac.octets) {
    octet = static_cast<std::uint8_t>(random.next());
  }
  return mac;
}

//= rfc1122#2.3.3
//= type=test
//# 1122:H-L4 destination, source, type, then the packet: RFC 894
TEST(Ethernet, HeaderIsDestinationSourceType) {
  EthernetHeader const header{{{1, 2, 3, 4, 5, 6}}, {{7, 8, 9, 10, 11, 12}}, EtherType::ipv4};
  std::array<std::byte, 14> octets{};
  ASSERT_EQ(write(header, octets).count, 14u);
  for (std::uint8_t i = 0; i < 12; ++i) {
    EXPECT_EQ(octets[i], std::byte(i + 1));
  }
  EXPECT_EQ(octets[12], std::byte{0x08});
  EXPECT_EQ(octets[13], std::byte{0x00});
}

TEST(Ethernet, WhatIsWrittenIsReadBack) {
  Random random(1);
  for (int round = 0; round < 1'000; ++round) {
    EthernetHeader const header{random_mac(random), random_mac(random),
                                static_cast<EtherType>(random.next() & 0xffff)};
    std::array<std::byte, 60> octets{};
    write(header, octets);
    EthernetFrame frame;
    ASSERT_EQ(parse(octets, frame), Drop::none);
    ASSERT_EQ(frame.header, header);
    ASSERT_EQ(frame.payload.size(), 46u);
    ASSERT_EQ(frame.payload.data(), octets.data() + 14);
  }
}

TEST(Ethernet, AFrameOf13OctetsIsTooShort) {
  std::array<std::byte, 14> octets{};
  EthernetFrame frame;
  EXPECT_EQ(parse(std::span(octets).first(13), frame), Drop::frame_too_short);
  EXPECT_EQ(parse(octets, frame), Drop::none);
  EXPECT_TRUE(frame.payload.empty());
}

//= rfc826#Packet-Generation
//= type=test
//# 826:ARP-1 the position of the fields
TEST(Arp, FieldsAreInTheirPlaces) {
  ArpPacket const packet{ArpOperation::request,
                         {{2, 0, 0, 0, 0, 1}},
                         {0x0a000001},
                         {{0, 0, 0, 0, 0, 0}},
                         {0x0a000002}};
  std::array<std::byte, 28> octets{};
  ASSERT_EQ(write(packet, octets).count, 28u);
  constexpr std::array<std::uint8_t, 28> expected{0,  1, 8, 0, 6, 4, 0, 1, 2, 0, 0,  0, 0, 1,
                                                  10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(octets[i], std::byte{expected[i]}) << i;
  }
}

TEST(Arp, WhatIsWrittenIsReadBack) {
  Random random(2);
  for (int round = 0; round < 1'000; ++round) {
    ArpPacket const packet{
        random.chance({500'000'000}) ? ArpOperation::request : ArpOperation::reply,
        random_mac(random),
        {static_cast<std::uint32_t>(random.next())},
        random_mac(random),
        {static_cast<std::uint32_t>(random.next())}};
    std::array<std::byte, 46> octets{};
    write(packet, octets);
    ArpPacket read;
    ASSERT_EQ(parse(octets, read), Drop::none);
    ASSERT_EQ(read, packet);
  }
}

//= rfc826#Packet-Reception
//= type=test
//# 826:ARP-2 another hardware or protocol type, length or operation is dropped
TEST(Arp, AnythingButEthernetAndIpv4IsMalformed) {
  std::array<std::byte, 28> good{};
  write(ArpPacket{}, good);
  ArpPacket read;
  EXPECT_EQ(parse(std::span(good).first(27), read), Drop::arp_malformed);
  for (std::size_t at = 0; at < 8; ++at) {
    std::array<std::byte, 28> bad = good;
    bad[at] ^= std::byte{0x40};
    EXPECT_EQ(parse(bad, read), Drop::arp_malformed) << at;
  }
  std::array<std::byte, 28> operation = good;
  for (int value : {0, 3, 255}) {
    operation[7] = static_cast<std::byte>(value);
    EXPECT_EQ(parse(operation, read), Drop::arp_malformed);
  }
}

TEST(Ethernet, AVlanTagIsBeforeTheType) {
  std::array<std::byte, 20> octets{};
  EthernetHeader const header{Mac::broadcast(), Mac{{2, 0, 0, 0, 0, 1}}, EtherType::ipv6, 4094};
  ASSERT_EQ(write(header, octets), Bytes{18});
  EthernetFrame frame;
  ASSERT_EQ(parse(octets, frame), Drop::none);
  EXPECT_EQ(frame.header, header);
  EXPECT_EQ(frame.payload.size(), 2u);
  EXPECT_EQ(parse(std::span(octets).first(17), frame), Drop::frame_too_short);
  octets[14] |= std::byte{0xe0};  // the priority is ignored
  ASSERT_EQ(parse(octets, frame), Drop::none);
  EXPECT_EQ(frame.header.vlan, 4094);
}

}  // namespace
}  // namespace lockstep::wire
