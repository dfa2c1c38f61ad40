// Segments that arrive in fragments: accepted, refused, answered.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/stack/testing/six_kit.hpp"

namespace lockstep::testing {
namespace {

Config taking(std::uint32_t datagrams = 4) {
  Config config = six_config();
  config.reassembly_datagrams = Count{datagrams};
  return config;
}

// [begin, begin + length) of a payload, after a fragment header.
SixPacket piece(const Octets& whole, std::uint32_t begin, std::uint32_t length,
                std::uint8_t next = 6, std::uint8_t identification = 1) {
  SixPacket packet;
  packet.next = 44;
  std::uint32_t const word = begin | (begin + length < whole.size() ? 1u : 0u);
  packet.payload = {static_cast<std::byte>(next),
                    std::byte{0},
                    static_cast<std::byte>(word >> 8),
                    static_cast<std::byte>(word & 0xff),
                    std::byte{0},
                    std::byte{0},
                    std::byte{0},
                    std::byte{identification}};
  std::uint32_t const header = 8;
  packet.payload.resize(header + length);
  std::copy_n(whole.begin() + begin, length, packet.payload.begin() + header);
  return packet;
}

Octets syn() {
  wire::Segment segment;
  segment.flags = flag::syn;
  segment.window = {65535};
  return segment_octets(segment);
}

// A segment of 100 octets of data, in fragments of 40 octets, on a connection of the peer.
TEST(Fragments, FragmentedDataIsReadAndKept) {
  Six six(taking());
  six.listen();
  SixPacket opening;
  opening.payload = syn();
  six.deliver(opening);
  Sequence const next = six.next_segment().sequence.next();
  wire::Segment data;
  data.flags = flag::ack | flag::psh;
  data.sequence = {1};
  data.acknowledgment = next;
  data.window = {65535};
  std::string said(100, 'a');
  said[50] = 'b';
  Octets const whole = segment_octets(data, said);
  EXPECT_EQ(six.drop_of(piece(whole, 80, 40)), Drop::none);
  EXPECT_EQ(six.drop_of(piece(whole, 40, 40)), Drop::none);
  EXPECT_EQ(six.received, "");
  EXPECT_EQ(six.drop_of(piece(whole, 0, 40)), Drop::none);
  EXPECT_EQ(six.received, said);
}

TEST(Fragments, WithoutReassemblyTheyAreDropped) {
  Six six(taking(0));
  six.listen();
  EXPECT_EQ(six.drop_of(piece(syn(), 0, 8)), Drop::ip_header_chain);
  EXPECT_EQ(six.drop_of(piece(syn(), 8, 12)), Drop::ip_fragment);
}

//= rfc6946#4
//= type=test
//# 6946:ATOM-1, 6946:ATOM-2 an atomic fragment is never combined with others
//= rfc8200#4.5
//= type=test
//# 8200:V6-18 processed alone
TEST(Fragments, AnAtomicFragmentIsSeparate) {
  Six six(taking());
  six.listen();
  Octets const data = segment_octets({}, std::string(60, 'x'));
  EXPECT_EQ(six.drop_of(piece(data, 0, 40)), Drop::none);
  Octets const opening = syn();
  EXPECT_EQ(six.drop_of(piece(opening, 0, static_cast<std::uint32_t>(opening.size()))), Drop::none);
  EXPECT_TRUE(six.next_segment().flags == (flag::syn | flag::ack));
  EXPECT_EQ(six.drop_of(piece(data, 40, 40)), Drop::tcp_no_ack);  // the queued fragment was kept
}

//= rfc8200#4.5
//= type=test
//# 8200:V6-14, 8200:V6-15 points at the invalid field
TEST(Fragments, InvalidFragmentsAreAnswered) {
  Six six(taking());
  SixPacket ragged = piece(Octets(64), 0, 40);
  ragged.payload.pop_back();
  EXPECT_EQ(six.drop_of(ragged), Drop::ip_fragment_malformed);
  wire::Icmp6Message problem = six.next_icmp();
  EXPECT_EQ(problem.code, wire::problem_field);
  EXPECT_EQ(problem.rest, 4u);
  SixPacket beyond = piece(Octets(64), 0, 40);
  beyond.payload[2] = std::byte{0xff};
  beyond.payload[3] = std::byte{0xf9};
  EXPECT_EQ(six.drop_of(beyond), Drop::ip_fragment_malformed);
  problem = six.next_icmp();
  EXPECT_EQ(problem.rest, 42u);
}

//= rfc5722#4
//= type=test
//# 5722:OVL-2 silently
//= rfc8200#4.5
//= type=test
//# 8200:V6-17 no error is sent
TEST(Fragments, AnOverlapIsNotAnswered) {
  Six six(taking());
  EXPECT_EQ(six.drop_of(piece(Octets(64), 0, 40)), Drop::none);
  EXPECT_EQ(six.drop_of(piece(Octets(64), 32, 24)), Drop::ip_fragment_overlap);
  EXPECT_EQ(six.drop_of(piece(Octets(64), 0, 40)), Drop::ip_fragment_overlap);
  six.advance(Duration::seconds(61));
  EXPECT_TRUE(six.out.empty());
  EXPECT_EQ(six.drop_of(piece(Octets(64), 0, 40)), Drop::none);
}

//= rfc6980#5
//= type=test
//# 6980:NDF-2 fragmented neighbour discovery is ignored
TEST(Fragments, NeighbourDiscoveryIsNotReassembled) {
  Config config = six_config(LinkType::ethernet);
  config.reassembly_datagrams = Count{4};
  config.duplicate_tests = Count{0};
  Six six(config);
  wire::NdMessage message;
  message.target = six_device;
  message.has_link_address = true;
  message.link_address = six_peer_mac;
  Octets whole(wire::nd_message_bytes_max);
  whole.resize(wire::write({six_peer, six_device}, message, whole).count);
  for (std::uint32_t begin : {0u, 16u}) {
    SixPacket packet = piece(whole, begin, 16, 58);
    packet.hop_limit = 255;
    EXPECT_EQ(six.drop_of(packet), begin == 0 ? Drop::none : Drop::nd_fragmented);
  }
  EXPECT_TRUE(six.out.empty());
}

//= rfc791#3.1
//= type=test
//# 791:IP4-3 in fragments, too
TEST(Fragments, ADatagramOfIpv4IsReassembled) {
  Config config = kit_config();
  config.reassembly_datagrams = Count{2};
  Kit kit(config);
  kit.accept_connection();
  std::string const said(536, 'q');
  auto const frame =
      kit.frame_of({.flags = flag::ack | flag::psh, .seq = 1, .ack = 1, .data = said});
  std::span<const std::byte> const payload = std::span(frame).subspan(20);
  for (std::uint32_t begin : {272u, 0u}) {
    wire::Ipv4Header ip;
    ip.source = kit.peer;
    ip.destination = kit.device;
    ip.protocol = wire::IpProtocol::tcp;
    ip.time_to_live = 64;
    ip.identification = 9;
    ip.more_fragments = begin == 0;
    ip.fragment_offset = static_cast<std::uint16_t>(begin / 8);
    auto const part = begin == 0 ? payload.first(272) : payload.subspan(272);
    std::vector<std::byte> packet(20);
    wire::write(ip, Bytes{static_cast<std::uint32_t>(part.size())}, packet);
    packet.insert(packet.end(), part.begin(), part.end());
    kit.send_packet(packet);
    kit.turn();
  }
  EXPECT_EQ(kit.received, said);
}

//= rfc1122#3.3.2
//= type=test
//# 1122:H-8 after the timeout the datagram is discarded; Time Exceeded if the first one arrived
TEST(Fragments, ATimeoutIsReportedIfTheFirstFragmentArrived) {
  for (bool const first : {true, false}) {
    Config config = kit_config();
    config.reassembly_datagrams = Count{2};
    Kit kit(config);
    kit.keep_frames = true;
    kit.listen();
    wire::Ipv4Header ip;
    ip.source = kit.peer;
    ip.destination = kit.device;
    ip.protocol = wire::IpProtocol::tcp;
    ip.time_to_live = 64;
    ip.identification = 9;
    ip.more_fragments = true;
    ip.fragment_offset = first ? 0 : 100;
    std::vector<std::byte> packet(20 + 800, std::byte{7});
    wire::write(ip, Bytes{800}, packet);
    kit.send_packet(packet);
    kit.turn();
    kit.advance(config.reassembly_timeout - Duration{1});
    EXPECT_EQ(kit.other_packets, 0u);
    kit.advance(Duration{1});
    ASSERT_EQ(kit.other_packets, first ? 1u : 0u);
    kit.advance(Duration::seconds(300));
    EXPECT_EQ(kit.other_packets, first ? 1u : 0u);
    if (!first) {
      continue;
    }
    wire::Ipv4Packet sent;
    ASSERT_EQ(wire::parse(kit.frames_sent.back(), sent), Drop::none);
    EXPECT_EQ(sent.header.destination, kit.peer);
    wire::IcmpMessage message;
    ASSERT_EQ(wire::parse(sent.payload, message), Drop::none);
    EXPECT_EQ(message.type, wire::IcmpType::time_exceeded);
    EXPECT_EQ(message.code, 1);
    EXPECT_TRUE(std::ranges::equal(message.body, std::span(packet).first(message.body.size())));
    EXPECT_EQ(message.body.size(), 548u);
  }
}

// Before: four forged first fragments ended reassembly for a source, for a minute.
TEST(Fragments, ForgedFragmentsBlockNoSource) {
  Config config;
  config.link = LinkType::ip;
  config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
  config.address_count = Count{1};
  Kit kit(config);
  kit.accept_connection();
  std::string const said(536, 'q');
  auto const frame =
      kit.frame_of({.flags = flag::ack | flag::psh, .seq = 1, .ack = 1, .data = said});
  std::span<const std::byte> const payload = std::span(frame).subspan(20);
  auto const deliver = [&](std::uint16_t identification, bool rest) {
    wire::Ipv4Header ip;
    ip.source = kit.peer;
    ip.destination = kit.device;
    ip.protocol = wire::IpProtocol::tcp;
    ip.time_to_live = 64;
    ip.identification = identification;
    ip.more_fragments = !rest;
    ip.fragment_offset = rest ? 272 / 8 : 0;
    auto const part = rest ? payload.subspan(272) : payload.first(272);
    std::vector<std::byte> packet(20);
    wire::write(ip, Bytes{static_cast<std::uint32_t>(part.size())}, packet);
    packet.insert(packet.end(), part.begin(), part.end());
    kit.send_packet(packet);
    kit.turn();
  };
  for (std::uint16_t forged = 100; forged < 104; ++forged) {
    deliver(forged, false);
  }
  deliver(9, false);
  deliver(9, true);
  EXPECT_EQ(kit.received, said);
}

}  // namespace
}  // namespace lockstep::testing
