// IPv4 headers: one invalid packet per check; writing and parsing agree.
#include "core/wire/ipv4.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/units/random.hpp"
#include "core/wire/checksum.hpp"

namespace lockstep::wire {
namespace {

using Octets = std::vector<std::byte>;

Ipv4Header header_of_test() {
  Ipv4Header header;
  header.source = IpAddress::v4(10, 0, 0, 1);
  header.destination = IpAddress::v4(10, 0, 0, 2);
  header.protocol = IpProtocol::tcp;
  header.time_to_live = 64;
  header.dont_fragment = true;
  return header;
}

void put16(Octets& octets, std::size_t at, std::uint16_t value) {
  octets[at] = static_cast<std::byte>(value >> 8);
  octets[at + 1] = static_cast<std::byte>(value & 0xff);
}

// Corrects the checksum of the header at the front, of `words` words.
void fix_checksum(Octets& octets) {
  std::size_t const header = std::to_integer<std::size_t>(octets[0] & std::byte{0xf}) * 4;
  put16(octets, 10, 0);
  put16(octets, 10, sum(std::span(octets).first(header)).checksum());
}

Octets packet_of(std::uint32_t payload) {
  Octets octets(20 + payload);
  write(header_of_test(), {payload}, octets);
  return octets;
}

// A packet with these options, padded with end marks, and 8 octets of payload.
Octets packet_with_options(std::vector<std::uint8_t> options) {
  options.resize((options.size() + 3) / 4 * 4);
  Octets octets(20 + options.size() + 8);
  write(header_of_test(), {static_cast<std::uint32_t>(octets.size() - 20)}, octets);
  octets[0] = static_cast<std::byte>(0x40 | (20 + options.size()) / 4);
  for (std::size_t i = 0; i < options.size(); ++i) {
    octets[20 + i] = std::byte{options[i]};
  }
  fix_checksum(octets);
  return octets;
}

Drop drop_of(const Octets& octets) {
  Ipv4Packet packet;
  return parse(octets, packet);
}

//= rfc791#3.2
//= type=test
//# 791:IP4-15 well-formed datagrams are sent
//= rfc791#3.1
//= type=test
//# 791:IP4-5 the reserved flag is zero, the offset counts units of 8
TEST(Ipv4, WhatIsWrittenIsReadBack) {
  Random random(1);
  for (int round = 0; round < 2'000; ++round) {
    Ipv4Header header;
    header.source = IpAddress::from(Ipv4{static_cast<std::uint32_t>(random.next())});
    header.destination = IpAddress::from(Ipv4{static_cast<std::uint32_t>(random.next())});
    header.protocol = static_cast<IpProtocol>(random.next() & 0xff);
    header.time_to_live = static_cast<std::uint8_t>(random.within({1, 255}));
    header.traffic_class = static_cast<std::uint8_t>(random.next());
    header.dont_fragment = random.chance({500'000'000});
    header.more_fragments = random.chance({500'000'000});
    header.fragment_offset = static_cast<std::uint16_t>(random.below(0x2000));
    header.identification = static_cast<std::uint16_t>(random.next());
    Bytes const payload{static_cast<std::uint32_t>(random.below(1481))};
    Octets octets(1500, std::byte{0xee});  // previous content does not matter
    ASSERT_EQ(write(header, payload, octets).count, 20u);
    ASSERT_EQ(octets[6] & std::byte{0x80}, std::byte{0});
    Ipv4Packet packet;
    ASSERT_EQ(parse(octets, packet), Drop::none);
    ASSERT_EQ(packet.header, header);
    ASSERT_EQ(packet.payload.size(), payload.count);
    ASSERT_EQ(packet.bytes.size(), 20 + payload.count);
    ASSERT_TRUE(packet.options.empty());
  }
}

TEST(Ipv4, LinkPaddingIsRemoved) {
  Octets octets = packet_of(4);
  octets.resize(46);
  Ipv4Packet packet;
  ASSERT_EQ(parse(octets, packet), Drop::none);
  EXPECT_EQ(packet.payload.size(), 4u);
  EXPECT_EQ(packet.payload.data(), octets.data() + 20);
}

TEST(Ipv4, NineteenOctetsAreTooShort) {
  Octets octets = packet_of(0);
  EXPECT_EQ(drop_of(octets), Drop::none);
  octets.pop_back();
  EXPECT_EQ(drop_of(octets), Drop::ip_too_short);
  EXPECT_EQ(drop_of({}), Drop::ip_too_short);
}

//= rfc1122#3.2.1.1
//= type=test
//# 1122:H-16 a version other than 4 is discarded
TEST(Ipv4, AnotherVersionIsDropped) {
  for (int version = 0; version < 16; ++version) {
    Octets octets = packet_of(8);
    octets[0] = static_cast<std::byte>(version << 4 | 5);
    fix_checksum(octets);
    EXPECT_EQ(drop_of(octets), version == 4 ? Drop::none : Drop::ip_version) << version;
  }
}

//= rfc791#3.1
//= type=test
//# 791:IP4-1 fewer than five words, or more than the packet has, are invalid
TEST(Ipv4, AHeaderLengthUnderFiveOrBeyondThePacketIsDropped) {
  Octets octets = packet_of(8);
  octets[0] = std::byte{0x44};
  fix_checksum(octets);
  EXPECT_EQ(drop_of(octets), Drop::ip_header_length);
  octets[0] = std::byte{0x48};  // 32 octets, but only 28 are there
  EXPECT_EQ(drop_of(octets), Drop::ip_header_length);
}

//= rfc791#3.1
//= type=test
//# 791:IP4-1 the total length covers header and data, and at most what was received
TEST(Ipv4, ATotalLengthBeyondTheFrameOrWithinTheHeaderIsDropped) {
  Octets octets = packet_of(8);
  put16(octets, 2, 29);
  fix_checksum(octets);
  EXPECT_EQ(drop_of(octets), Drop::ip_total_length);
  put16(octets, 2, 19);
  fix_checksum(octets);
  EXPECT_EQ(drop_of(octets), Drop::ip_total_length);
  put16(octets, 2, 20);
  fix_checksum(octets);
  EXPECT_EQ(drop_of(octets), Drop::none);
}

//= rfc791#3.1
//= type=test
//# 791:IP4-2 the header checksum is verified
//= rfc1122#3.2.1.2
//= type=test
//# 1122:H-17 a bad one is silently discarded
TEST(Ipv4, EveryBitErrorInTheHeaderIsDetected) {
  Octets const good = packet_of(8);
  for (std::size_t bit = 0; bit < 160; ++bit) {
    Octets bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(0x80 >> bit % 8);
    EXPECT_NE(drop_of(bad), Drop::none) << bit;
  }
  Octets bad = good;
  bad[12] ^= std::byte{1};
  EXPECT_EQ(drop_of(bad), Drop::ip_checksum);
  Octets with_options = packet_with_options({1, 1, 1, 1});
  with_options[21] = std::byte{0};
  EXPECT_EQ(drop_of(with_options), Drop::ip_checksum);
}

//= rfc1122#3.2.1.8
//= type=test
//# 1122:H-25, 9293:MUST-50 options that are not understood are ignored
//= rfc791#3.1
//= type=test
//# 791:IP4-4 known: end of list, NOP, record route, timestamp; lengths include type and length
TEST(Ipv4, OptionsAreSkipped) {
  EXPECT_EQ(drop_of(packet_with_options({1, 1, 1, 0})), Drop::none);
  EXPECT_EQ(drop_of(packet_with_options({0xaa, 6, 9, 9, 9, 9, 1})), Drop::none);
  EXPECT_EQ(drop_of(packet_with_options({7, 7, 4, 0, 0, 0, 0})), Drop::none);      // record route
  EXPECT_EQ(drop_of(packet_with_options({68, 8, 5, 0, 0, 0, 0, 0})), Drop::none);  // timestamp
  EXPECT_EQ(drop_of(packet_with_options({0, 255, 255, 255})), Drop::none);  // after the end mark
  Octets const octets = packet_with_options({0xaa, 6, 9, 9, 9, 9, 1});
  Ipv4Packet packet;
  ASSERT_EQ(parse(octets, packet), Drop::none);
  EXPECT_EQ(packet.options.size(), 8u);
  EXPECT_EQ(packet.payload.size(), 8u);
}

TEST(Ipv4, AnInvalidOptionLengthIsDropped) {
  EXPECT_EQ(drop_of(packet_with_options({0xaa, 0, 1, 1})), Drop::ip_option_malformed);
  EXPECT_EQ(drop_of(packet_with_options({0xaa, 1, 1, 1})), Drop::ip_option_malformed);
  EXPECT_EQ(drop_of(packet_with_options({0xaa, 5, 1, 1})), Drop::ip_option_malformed);
  EXPECT_EQ(drop_of(packet_with_options({1, 1, 1, 0xaa})), Drop::ip_option_malformed);
  EXPECT_EQ(drop_of(packet_with_options({7, 2, 1, 1})), Drop::ip_option_malformed);
  EXPECT_EQ(drop_of(packet_with_options({131, 3, 3, 1})), Drop::ip_option_malformed);
  EXPECT_EQ(drop_of(packet_with_options({68, 4, 4, 1})), Drop::ip_option_malformed);
}

TEST(Ipv4, AnUnfinishedSourceRouteIsDropped) {
  for (std::uint8_t kind : {std::uint8_t{131}, std::uint8_t{137}}) {
    EXPECT_EQ(drop_of(packet_with_options({kind, 7, 4, 10, 0, 0, 9})), Drop::ip_source_routed);
    // The pointer is beyond the route: this host is the last hop.
    EXPECT_EQ(drop_of(packet_with_options({kind, 7, 8, 10, 0, 0, 9})), Drop::none);
  }
}

//= rfc1122#3.2.1.7
//= type=test
//# 1122:H-23 a datagram is not dropped because its TTL is below 2
//= rfc791#3.1
//= type=test
//# 791:IP4-14 the destination accepts it
TEST(Ipv4, ATimeToLiveOfZeroOrOneIsAccepted) {
  for (std::uint8_t ttl : {std::uint8_t{0}, std::uint8_t{1}}) {
    Octets octets = packet_of(8);
    octets[8] = std::byte{ttl};
    fix_checksum(octets);
    EXPECT_EQ(drop_of(octets), Drop::none);
  }
}

TEST(Ipv4, RandomOctetsNeverDoHarm) {
  Random random(2);
  for (int round = 0; round < 20'000; ++round) {
    Octets octets(random.below(90));
    for (std::byte& octet : octets) {
      octet = static_cast<std::byte>(random.next());
    }
    if (octets.size() >= 20) {
      // Passes the first checks, so that the options are parsed.
      octets[0] = static_cast<std::byte>(
          0x40 | random.within({5, octets.size() / 4 > 15 ? 15 : octets.size() / 4}));
      put16(octets, 2, static_cast<std::uint16_t>(octets.size()));
      fix_checksum(octets);
    }
    Ipv4Packet packet;
    if (parse(octets, packet) == Drop::none) {
      ASSERT_EQ(packet.bytes.size(), 20 + packet.options.size() + packet.payload.size());
    }
  }
}

}  // namespace
}  // namespace lockstep::wire
