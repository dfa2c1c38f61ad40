// IPv6 headers: writing and parsing agree; the walk along extension headers.
#include "core/wire/ipv6.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>
#include <vector>

namespace lockstep::wire {
namespace {

using Octets = std::vector<std::byte>;

constexpr IpAddress here{0x2001'0db8'0000'0000, 1};
constexpr IpAddress there{0x2001'0db8'0000'0000, 2};
constexpr std::uint8_t tcp = 6;

Octets octets(std::initializer_list<unsigned> values) {
  Octets out;
  for (unsigned value : values) {
    out.push_back(static_cast<std::byte>(value));
  }
  return out;
}

// A packet whose first header is `next`, followed by the pieces.
Octets packet(std::uint8_t next, std::initializer_list<Octets> pieces) {
  Octets body;
  for (Octets const& piece : pieces) {
    body.insert(body.end(), piece.begin(), piece.end());
  }
  Octets out(ipv6_header_bytes);
  Ipv6Header header;
  header.source = there;
  header.destination = here;
  header.next_header = next;
  header.hop_limit = 64;
  write(header, Bytes{static_cast<std::uint32_t>(body.size())}, out);
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

Octets data() { return Octets(20, std::byte{0x55}); }

struct Walked {
  Octets bytes;  // the octets of the packet
  Drop drop = Drop::none;
  Ipv6Packet packet;
};

Walked walked(Octets bytes) {
  Walked out;
  out.bytes = std::move(bytes);
  EXPECT_EQ(parse(out.bytes, out.packet), Drop::none);
  out.drop = walk(out.packet);
  return out;
}

//= rfc8200#3
//= type=test
//# 8200:V6-1 version 6 and the length of the rest; link padding is removed
//# 8200:V6-2 a hop limit of 0 is valid
TEST(Ipv6, WhatIsWrittenIsReadBack) {
  Ipv6Header header;
  header.source = here;
  header.destination = there;
  header.next_header = 17;
  header.hop_limit = 0;
  header.traffic_class = 0xb9;
  header.flow_label = 0xf'1234;
  Octets bytes(ipv6_header_bytes + 7);
  EXPECT_EQ(write(header, Bytes{3}, bytes), Bytes{ipv6_header_bytes});
  Ipv6Packet read;
  ASSERT_EQ(parse(bytes, read), Drop::none);
  EXPECT_EQ(read.header, header);
  EXPECT_EQ(read.bytes.size(), 43u);
  EXPECT_EQ(bytes[0] >> 4, std::byte{6});
}

TEST(Ipv6, ABrokenFixedHeaderIsRefused) {
  Octets bytes = packet(tcp, {data()});
  Ipv6Packet read;
  EXPECT_EQ(parse(std::span(bytes).first(39), read), Drop::ip_too_short);
  EXPECT_EQ(parse(std::span(bytes).first(59), read), Drop::ip_total_length);
  bytes[0] = std::byte{0x45};
  EXPECT_EQ(parse(bytes, read), Drop::ip_version);
}

//= rfc8200#4.1
//= type=test
//# 8200:V6-6 in any order and number
//= rfc8200#4
//= type=test
//# 8200:V6-3 one after the other
//= rfc8200#4.2
//= type=test
//# 8200:V6-8 Pad1 and PadN are skipped
//= rfc8200#4.4
//= type=test
//# 8200:V6-9 so is a routing header without segments left
TEST(Ipv6, ExtensionHeadersAreWalked) {
  Octets const hop = octets({60, 0, 1, 4, 0, 0, 0, 0});
  Octets const destination = octets({43, 1, 0, 0, 0, 0, 1, 8, 0, 0, 0, 0, 0, 0, 0, 0});
  Octets const route = octets({60, 0, 99, 0, 0, 0, 0, 0});
  Octets const again = octets({tcp, 0, 0x1e, 4, 0, 0, 0, 0});
  Walked const out = walked(packet(0, {hop, destination, route, again, data()}));
  EXPECT_EQ(out.drop, Drop::none);
  EXPECT_EQ(out.packet.protocol, IpProtocol::tcp);
  EXPECT_EQ(out.packet.payload.size(), 20u);
  EXPECT_EQ(out.packet.payload.front(), std::byte{0x55});
}

//= rfc8200#4
//= type=test
//# 8200:V6-4, 8200:V6-5 the pointer gives the position of the unknown number
TEST(Ipv6, AnUnknownNextHeaderGivesAPointer) {
  Walked const plain = walked(packet(17, {data()}));
  EXPECT_EQ(plain.drop, Drop::ip_protocol_unknown);
  EXPECT_TRUE(plain.packet.problem.send_icmp_error);
  EXPECT_EQ(plain.packet.problem.code, problem_next_header);
  EXPECT_EQ(plain.packet.problem.pointer, 6u);
  Octets const hidden = octets({0, 0, 1, 4, 0, 0, 0, 0});
  Walked const late = walked(packet(60, {hidden, hidden, data()}));
  EXPECT_EQ(late.drop, Drop::ip_protocol_unknown);
  EXPECT_EQ(late.packet.problem.pointer, 40u);
}

//= rfc8200#4.2
//= type=test
//# 8200:V6-7 00 skips, 01 drops, 10 answers to groups too, 11 only if not sent to a group
TEST(Ipv6, TheTopBitsOfAnUnknownOptionDecide) {
  struct Case {
    unsigned type;
    Drop drop;
    bool send_icmp_error;
    bool to_group_too;
  };
  for (Case const& each :
       {Case{0x1e, Drop::none, false, false}, Case{0x5e, Drop::ip_option_unknown, false, false},
        Case{0x9e, Drop::ip_option_unknown, true, true},
        Case{0xde, Drop::ip_option_unknown, true, false}}) {
    Octets const options = octets({tcp, 0, 0, 1, 0, each.type, 1, 0});
    Octets const rest = octets({tcp, 0, each.type, 4, 0, 0, 0, 0});
    Walked const out = walked(packet(60, {rest, data()}));
    EXPECT_EQ(out.drop, each.drop);
    EXPECT_EQ(out.packet.problem.send_icmp_error, each.send_icmp_error);
    EXPECT_EQ(out.packet.problem.to_group_too, each.to_group_too);
    Walked const later = walked(packet(0, {options, data()}));
    EXPECT_EQ(later.drop, each.drop);
    if (each.send_icmp_error) {
      EXPECT_EQ(out.packet.problem.code, problem_option);
      EXPECT_EQ(out.packet.problem.pointer, 42u);
      EXPECT_EQ(later.packet.problem.pointer, 45u);
    }
  }
}

TEST(Ipv6, AnOptionBeyondItsHeaderIsRefused) {
  Walked const beyond = walked(packet(60, {octets({tcp, 0, 1, 5, 0, 0, 0, 0}), data()}));
  EXPECT_EQ(beyond.drop, Drop::ip_option_malformed);
  EXPECT_EQ(beyond.packet.problem.pointer, 43u);
  Walked const cut = walked(packet(60, {octets({tcp, 0, 0, 0, 0, 0, 0, 1}), data()}));
  EXPECT_EQ(cut.drop, Drop::ip_option_malformed);
}

//= rfc8200#4.4
//= type=test
//# 8200:V6-10 a routing header with segments left is refused, with a pointer to its type
TEST(Ipv6, ARouteWithSegmentsLeftIsRefused) {
  Walked const out = walked(packet(43, {octets({tcp, 0, 0, 1, 0, 0, 0, 0}), data()}));
  EXPECT_EQ(out.drop, Drop::ip_routing_header);
  EXPECT_EQ(out.packet.problem.code, problem_field);
  EXPECT_EQ(out.packet.problem.pointer, 42u);
}

//= rfc8200#4.7
//= type=test
//# 8200:V6-22 data after next header 59 is ignored
TEST(Ipv6, NoNextHeaderEndsIt) {
  Walked const out = walked(packet(59, {data()}));
  EXPECT_EQ(out.drop, Drop::ip_no_next_header);
  EXPECT_FALSE(out.packet.problem.send_icmp_error);
}

TEST(Ipv6, AChainThatDoesNotEndIsRefused) {
  EXPECT_EQ(walked(packet(60, {octets({tcp, 9, 0, 0, 0, 0, 0, 0})})).drop, Drop::ip_header_chain);
  EXPECT_EQ(walked(packet(60, {octets({tcp, 0, 0})})).drop, Drop::ip_header_chain);
  EXPECT_EQ(walked(packet(44, {octets({tcp, 0, 0})})).drop, Drop::ip_header_chain);
  Octets chain;
  for (int i = 0; i < 65; ++i) {
    Octets const link = octets({60, 0, 1, 4, 0, 0, 0, 0});
    chain.insert(chain.end(), link.begin(), link.end());
  }
  EXPECT_EQ(walked(packet(60, {chain})).drop, Drop::ip_header_chain);
}

//= rfc8200#4.5
//= type=test
//# 8200:V6-21 reserved bits are ignored
//= rfc6946#4
//= type=test
//# 6946:ATOM-3 an atomic fragment is skipped
TEST(Ipv6, AnAtomicFragmentIsWhole) {
  Octets const atomic = octets({tcp, 0xff, 0, 6, 1, 2, 3, 4});
  Walked const out = walked(packet(44, {atomic, data()}));
  EXPECT_EQ(out.drop, Drop::none);
  EXPECT_TRUE(out.packet.has_fragment);
  EXPECT_TRUE(out.packet.fragment.is_atomic());
  EXPECT_EQ(out.packet.protocol, IpProtocol::tcp);
  EXPECT_EQ(out.packet.payload.size(), 20u);
}

TEST(Ipv6, ARealFragmentEndsTheWalk) {
  Octets const hop = octets({44, 0, 1, 4, 0, 0, 0, 0});
  Walked const out = walked(packet(0, {hop, octets({tcp, 0, 0, 0x19, 1, 2, 3, 4}), data()}));
  EXPECT_EQ(out.drop, Drop::none);
  EXPECT_EQ(out.packet.fragment, (Ipv6Fragment{0x0102'0304, 3, true}));
  EXPECT_EQ(out.packet.fragment_at, 48);
  EXPECT_EQ(out.packet.fragment_named_at, 40);
  EXPECT_EQ(out.packet.payload.size(), 20u);
}

//= rfc8200#4.5
//= type=test
//# 8200:V6-16 a first fragment contains all headers, including the transport's
TEST(Ipv6, AFirstFragmentWithoutItsHeadersIsRefused) {
  Octets const first = octets({tcp, 0, 0, 1, 1, 2, 3, 4});
  EXPECT_EQ(walked(packet(44, {first, data()})).drop, Drop::none);
  Walked const cut = walked(packet(44, {first, Octets(16)}));
  EXPECT_EQ(cut.drop, Drop::ip_header_chain);
  EXPECT_EQ(cut.packet.problem.code, problem_first_fragment);
  EXPECT_EQ(cut.packet.problem.pointer, 0u);
  Octets const more = octets({60, 0, 0, 1, 1, 2, 3, 4});
  Walked const hidden = walked(packet(44, {more, octets({tcp, 2, 1, 4, 0, 0, 0, 0})}));
  EXPECT_EQ(hidden.drop, Drop::ip_header_chain);
  EXPECT_EQ(hidden.packet.problem.code, problem_first_fragment);
}

}  // namespace
}  // namespace lockstep::wire
