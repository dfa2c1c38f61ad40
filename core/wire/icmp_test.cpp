// ICMP messages and quoted packets: one invalid message per check.
#include "core/wire/icmp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/units/random.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/tcp.hpp"

namespace lockstep::wire {
namespace {

using Octets = std::vector<std::byte>;

//= rfc792#Echo
//= type=test
//# 792:ICMP4-2 over the message only, odd lengths too
TEST(Icmp, WhatIsWrittenIsReadBack) {
  Random random(1);
  for (int round = 0; round < 1'000; ++round) {
    Octets body(random.below(200));
    for (std::byte& octet : body) {
      octet = static_cast<std::byte>(random.next());
    }
    IcmpMessage const message{static_cast<IcmpType>(random.next() & 0xff),
                              static_cast<std::uint8_t>(random.next()),
                              static_cast<std::uint32_t>(random.next()), body};
    Octets octets(8 + body.size(), std::byte{0xee});
    ASSERT_EQ(write(message, octets).count, octets.size());
    ASSERT_TRUE(sum(octets).verifies());
    IcmpMessage read;
    ASSERT_EQ(parse(octets, read), Drop::none);
    ASSERT_EQ(read.type, message.type);
    ASSERT_EQ(read.code, message.code);
    ASSERT_EQ(read.rest, message.rest);
    ASSERT_TRUE(std::ranges::equal(read.body, body));
  }
}

TEST(Icmp, SevenOctetsAreTooShort) {
  Octets octets(8);
  write(IcmpMessage{}, octets);
  IcmpMessage read;
  EXPECT_EQ(parse(octets, read), Drop::none);
  octets.pop_back();
  EXPECT_EQ(parse(octets, read), Drop::icmp_too_short);
}

TEST(Icmp, AWrongChecksumIsDropped) {
  Octets octets(8);
  write(IcmpMessage{IcmpType::echo_request, 0, 0x0102'0304, {}}, octets);
  octets[7] ^= std::byte{1};
  IcmpMessage read;
  EXPECT_EQ(parse(octets, read), Drop::icmp_checksum);
}

TEST(Icmp, TheSecondWordIsReadByType) {
  IcmpMessage const message{IcmpType::unreachable, 4, 0x1234'05dc, {}};
  EXPECT_EQ(message.identifier(), 0x1234);
  EXPECT_EQ(message.sequence(), 0x05dc);
  EXPECT_EQ(message.next_hop_mtu(), 1500);
  EXPECT_EQ(message.pointer(), 0x12);
}

// The header of one of our TCP segments with its first eight octets.
Octets quote_of_test() {
  Ipv4Header header;
  header.source = IpAddress::v4(10, 0, 0, 1);
  header.destination = IpAddress::v4(10, 9, 9, 9);
  header.protocol = IpProtocol::tcp;
  header.time_to_live = 60;
  header.dont_fragment = true;
  header.identification = 77;
  Segment segment;
  segment.source = {40'000};
  segment.destination = {80};
  segment.sequence = {0xffff'fff0};
  Octets octets(40);
  write(header, {20}, octets);
  write(segment, std::span(octets).subspan(20));
  octets.resize(28);
  return octets;
}

//= rfc792#Dest-Unreachable
//= type=test
//# 792:ICMP4-5 the ports are in the 64 bits after the quoted header
TEST(IcmpQuote, NamesTheSegment) {
  Octets const octets = quote_of_test();
  IcmpQuote quote;
  ASSERT_EQ(parse(octets, quote), Drop::none);
  EXPECT_EQ(quote.header.source, IpAddress::v4(10, 0, 0, 1));
  EXPECT_EQ(quote.header.destination, IpAddress::v4(10, 9, 9, 9));
  EXPECT_EQ(quote.header.protocol, IpProtocol::tcp);
  EXPECT_EQ(quote.header.time_to_live, 60);
  EXPECT_EQ(quote.packet_bytes.count, 40u);
  EXPECT_EQ(quote.source_port.value, 40'000);
  EXPECT_EQ(quote.destination_port.value, 80);
  EXPECT_EQ(quote.sequence.value, 0xffff'fff0u);
}

TEST(IcmpQuote, AChecksumThatRoutersLeftStaleDoesNotMatter) {
  Octets octets = quote_of_test();
  octets[8] = std::byte{1};
  IcmpQuote quote;
  EXPECT_EQ(parse(octets, quote), Drop::none);
}

TEST(IcmpQuote, BehindOptionsTheDataIsFoundByTheHeaderLength) {
  Octets octets = quote_of_test();
  octets[0] = std::byte{0x46};
  IcmpQuote quote;
  EXPECT_EQ(parse(octets, quote),
            Drop::icmp_quote_malformed);  // 24 and 8 octets, but only 28 are there
  octets.insert(octets.begin() + 20, {std::byte{1}, std::byte{1}, std::byte{1}, std::byte{0}});
  ASSERT_EQ(parse(octets, quote), Drop::none);
  EXPECT_EQ(quote.source_port.value, 40'000);
}

TEST(IcmpQuote, ShortForeignOrLaterFragmentsAreMalformed) {
  IcmpQuote quote;
  Octets octets = quote_of_test();
  octets.pop_back();
  EXPECT_EQ(parse(octets, quote), Drop::icmp_quote_malformed);
  octets = quote_of_test();
  octets[0] = std::byte{0x65};
  EXPECT_EQ(parse(octets, quote), Drop::icmp_quote_malformed);
  octets = quote_of_test();
  octets[0] = std::byte{0x44};
  EXPECT_EQ(parse(octets, quote), Drop::icmp_quote_malformed);
  octets = quote_of_test();
  octets[7] = std::byte{1};
  EXPECT_EQ(parse(octets, quote), Drop::icmp_quote_malformed);
}

TEST(IcmpQuote, RandomOctetsNeverDoHarm) {
  Random random(2);
  for (int round = 0; round < 20'000; ++round) {
    Octets octets(random.below(80));
    for (std::byte& octet : octets) {
      octet = static_cast<std::byte>(random.next());
    }
    IcmpQuote quote;
    (void)parse(octets, quote);
    IcmpMessage message;
    (void)parse(octets, message);
  }
}

}  // namespace
}  // namespace lockstep::wire
