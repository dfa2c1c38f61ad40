// ICMPv6 and neighbour discovery messages: writing and parsing agree, invalid ones are refused.
#include "core/wire/icmpv6.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "core/wire/ipv6.hpp"
#include "core/wire/neighbour_discovery.hpp"

namespace lockstep::wire {
namespace {

constexpr Icmp6Path path{{0x2001'0db8'0000'0000, 1}, {0x2001'0db8'0000'0000, 2}};
constexpr Mac mac{{2, 0, 0, 0, 0, 1}};

std::vector<std::byte> bytes_of(std::size_t count) {
  std::vector<std::byte> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::byte>(i);
  }
  return out;
}

//= rfc4443#2.3
//= type=test
//# 4443:ICMP6-1 the pseudo-header is part of the sum
TEST(Icmp6, TheChecksumCoversTheAddresses) {
  auto const body = bytes_of(13);
  std::vector<std::byte> into(64);
  Bytes const length = write(path, {Icmp6Type::echo_request, 3, 0x1234'5678, body}, into);
  ASSERT_EQ(length, Bytes{21});
  auto const bytes = std::span(into).first(length.count);
  Icmp6Message read;
  ASSERT_EQ(parse(path, bytes, read), Drop::none);
  EXPECT_EQ(read.type, Icmp6Type::echo_request);
  EXPECT_EQ(read.code, 3);
  EXPECT_EQ(read.rest, 0x1234'5678u);
  EXPECT_TRUE(std::equal(read.body.begin(), read.body.end(), body.begin(), body.end()));
  Icmp6Path other = path;
  other.source.low = 3;
  EXPECT_EQ(parse(other, bytes, read), Drop::icmp_checksum);
  into[9] ^= std::byte{1};
  EXPECT_EQ(parse(path, bytes, read), Drop::icmp_checksum);
  EXPECT_EQ(parse(path, bytes.first(7), read), Drop::icmp_too_short);
}

TEST(Icmp6, AQuoteNamesItsSegment) {
  std::vector<std::byte> quote(ipv6_header_bytes + 8);
  Ipv6Header header;
  header.source = path.source;
  header.destination = path.destination;
  header.next_header = 6;
  header.hop_limit = 1;
  write(header, Bytes{1000}, quote);
  std::array<std::byte, 8> const ports{std::byte{0}, std::byte{80}, std::byte{1}, std::byte{2},
                                       std::byte{9}, std::byte{8},  std::byte{7}, std::byte{6}};
  std::memcpy(quote.data() + ipv6_header_bytes, ports.data(), ports.size());
  IcmpQuote read;
  ASSERT_EQ(parse_quote6(quote, read), Drop::none);
  EXPECT_EQ(read.header.source, path.source);
  EXPECT_EQ(read.header.destination, path.destination);
  EXPECT_EQ(read.header.protocol, IpProtocol::tcp);
  EXPECT_EQ(read.packet_bytes, Bytes{1040});
  EXPECT_EQ(read.source_port, Port{80});
  EXPECT_EQ(read.destination_port, Port{0x0102});
  EXPECT_EQ(read.sequence, Sequence{0x0908'0706});
  EXPECT_EQ(parse_quote6(std::span(quote).first(47), read), Drop::icmp_quote_malformed);
  quote[8] = std::byte{0xff};
  EXPECT_EQ(parse_quote6(quote, read), Drop::icmp_quote_malformed);
  quote[0] = std::byte{0x45};
  EXPECT_EQ(parse_quote6(quote, read), Drop::icmp_quote_malformed);
}

NdMessage round_trip(const NdMessage& message) {
  std::array<std::byte, nd_message_bytes_max> into{};
  Bytes const length = write(path, message, into);
  Icmp6Message icmp;
  EXPECT_EQ(parse(path, std::span(into).first(length.count), icmp), Drop::none);
  NdMessage read;
  EXPECT_EQ(parse(icmp, read), Drop::none);
  return read;
}

TEST(NeighbourDiscovery, WhatIsWrittenIsReadBack) {
  NdMessage message;
  message.target = path.destination;
  EXPECT_FALSE(round_trip(message).has_link_address);
  EXPECT_EQ(round_trip(message).target, message.target);
  message.type = Icmp6Type::neighbour_advertisement;
  message.solicited = true;
  message.has_link_address = true;
  message.link_address = mac;
  NdMessage const read = round_trip(message);
  EXPECT_EQ(read.link_address, mac);
  EXPECT_TRUE(read.solicited);
  EXPECT_FALSE(read.override);
  EXPECT_FALSE(read.router);
  NdMessage solicitation;
  solicitation.type = Icmp6Type::router_solicitation;
  solicitation.has_link_address = true;
  solicitation.link_address = mac;
  EXPECT_EQ(round_trip(solicitation).link_address, mac);
}

Drop drop_of(Icmp6Type type, std::uint8_t code, std::span<const std::byte> body) {
  NdMessage read;
  return parse(Icmp6Message{type, code, 0, body}, read);
}

//= rfc4861#7.1.1
//= type=test
//# 4861:ND-1 code, length, target and option lengths of a solicitation
//# 4861:ND-5 an unknown option is skipped
//= rfc4861#7.1.2
//= type=test
//# 4861:ND-3 the same for an advertisement
//= rfc4861#6.1.2
//= type=test
//# 4861:ND-36 and for a router advertisement
TEST(NeighbourDiscovery, WhatIsNotWellFormedIsRefused) {
  for (Icmp6Type const type :
       {Icmp6Type::neighbour_solicitation, Icmp6Type::neighbour_advertisement}) {
    auto body = bytes_of(32);
    body[16] = std::byte{77};
    body[17] = std::byte{2};
    EXPECT_EQ(drop_of(type, 0, body), Drop::none);
    EXPECT_EQ(drop_of(type, 1, body), Drop::nd_malformed);
    EXPECT_EQ(drop_of(type, 0, std::span(body).first(15)), Drop::nd_malformed);
    body[17] = std::byte{3};
    EXPECT_EQ(drop_of(type, 0, body), Drop::nd_malformed);
    body[17] = std::byte{0};
    EXPECT_EQ(drop_of(type, 0, body), Drop::nd_malformed);
    body.resize(20);
    EXPECT_EQ(drop_of(type, 0, body), Drop::nd_malformed);
    body.resize(16);
    body[0] = std::byte{0xff};
    EXPECT_EQ(drop_of(type, 0, body), Drop::nd_malformed);
  }
  EXPECT_EQ(drop_of(Icmp6Type::router_advertisement, 0, bytes_of(7)), Drop::nd_malformed);
  EXPECT_EQ(drop_of(Icmp6Type::redirect, 0, bytes_of(31)), Drop::nd_malformed);
}

TEST(NeighbourDiscovery, ARoutersOptionsAreRead) {
  std::vector<std::byte> body(8 + 8 + 32 + 8);
  body[3] = std::byte{50};
  std::byte* const mtu = body.data() + 8;
  mtu[0] = std::byte{5};
  mtu[1] = std::byte{1};
  mtu[6] = std::byte{5};
  std::byte* const prefix = mtu + 8;
  prefix[0] = std::byte{3};
  prefix[1] = std::byte{4};
  prefix[2] = std::byte{64};
  prefix[3] = std::byte{0x80};
  prefix[7] = std::byte{60};
  prefix[16] = std::byte{0x20};
  std::byte* const link = prefix + 32;
  link[0] = std::byte{1};
  link[1] = std::byte{1};
  link[7] = std::byte{9};
  NdMessage read;
  ASSERT_EQ(parse(Icmp6Message{Icmp6Type::router_advertisement, 0, 0x4000'0708, body}, read),
            Drop::none);
  EXPECT_EQ(read.hop_limit, 64);
  EXPECT_EQ(read.lifetime_s, 0x708);
  EXPECT_EQ(read.reachable_ms, 50u);
  EXPECT_EQ(read.mtu, 1280u);
  ASSERT_EQ(read.prefix_count, 1u);
  EXPECT_EQ(read.prefixes[0].bits, 64);
  EXPECT_TRUE(read.prefixes[0].on_link);
  EXPECT_EQ(read.prefixes[0].lifetime_s, 60u);
  EXPECT_EQ(read.link_address, (Mac{{0, 0, 0, 0, 0, 9}}));
}

}  // namespace
}  // namespace lockstep::wire
