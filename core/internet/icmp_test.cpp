// ICMP input and output: echo, kinds of errors, and the rate limit.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/internet/icmp_errors.hpp"
#include "core/internet/icmp_input.hpp"
#include "core/wire/tcp.hpp"

namespace lockstep::internet {
namespace {

using Octets = std::vector<std::byte>;

constexpr IpAddress ours = IpAddress::v4(10, 0, 0, 1);
constexpr IpAddress theirs = IpAddress::v4(10, 0, 0, 2);
constexpr IpAddress remote = IpAddress::v4(192, 0, 2, 80);

Addresses host() {
  Addresses addresses;
  EXPECT_TRUE(addresses.add(ours, 24));
  return addresses;
}

// A packet of ours as a router would quote it.
Octets quoted(IpAddress source = ours, wire::IpProtocol protocol = wire::IpProtocol::tcp) {
  wire::Ipv4Header header;
  header.source = source;
  header.destination = remote;
  header.protocol = protocol;
  header.time_to_live = 1;
  wire::Segment segment;
  segment.source = {40'000};
  segment.destination = {80};
  segment.sequence = {0xffff'fffe};
  Octets octets(40);
  wire::write(header, {1'480}, octets);
  wire::write(segment, std::span(octets).subspan(20));
  octets.resize(28);
  return octets;
}

struct Judged {
  Drop drop = Drop::none;
  IcmpArrival icmp;
};

// Processes an ICMP message, whose body stays valid until the next call.
Judged judge(const Octets& message, IpAddress destination = ours) {
  static Octets octets;
  octets.assign(20 + message.size(), std::byte{0});
  wire::Ipv4Header header;
  header.source = theirs;
  header.destination = destination;
  header.protocol = wire::IpProtocol::icmp;
  header.time_to_live = 64;
  wire::write(header, {static_cast<std::uint32_t>(message.size())}, octets);
  std::ranges::copy(message, octets.begin() + 20);
  IpArrival arrival;
  KnownPath known;
  EXPECT_EQ(ip_input(host(), octets, false, known, arrival), Drop::none);
  Judged judged;
  judged.drop = icmp_input(host(), arrival, judged.icmp);
  return judged;
}

Octets message_of(wire::IcmpType type, std::uint8_t code, std::uint32_t rest, const Octets& body) {
  Octets octets(8 + body.size());
  wire::write({type, code, rest, body}, octets);
  return octets;
}

Judged judge_error(wire::IcmpType type, std::uint8_t code, std::uint32_t rest = 0) {
  return judge(message_of(type, code, rest, quoted()));
}

//= rfc792#Echo
//= type=test
//# 792:ICMP4-1 identifier, sequence number and data are returned
//= rfc1122#3.2.2.6
//= type=test
//# 1122:H-33 with all data
TEST(IcmpInput, AnEchoRequestIsAnsweredWithAllItsData) {
  for (std::size_t size : {0u, 1u, 56u, 1472u}) {
    Octets body(size, std::byte{0xc3});
    Judged const judged = judge(message_of(wire::IcmpType::echo_request, 0, 0x1234'0007, body));
    ASSERT_EQ(judged.drop, Drop::none);
    ASSERT_EQ(judged.icmp.act, IcmpAct::echo);
    Octets reply(echo_reply_bytes(judged.icmp.message).count);
    ASSERT_EQ(reply.size(), 8 + size);
    write_echo_reply(judged.icmp.message, reply);
    wire::IcmpMessage read;
    ASSERT_EQ(wire::parse(reply, read), Drop::none);
    EXPECT_EQ(read.type, wire::IcmpType::echo_reply);
    EXPECT_EQ(read.identifier(), 0x1234);
    EXPECT_EQ(read.sequence(), 7);
    EXPECT_TRUE(std::ranges::equal(read.body, body));
  }
}

//= rfc1122#3.2.2.6
//= type=test
//# 1122:H-L10 an echo request to all hosts is discarded
TEST(IcmpInput, AnEchoRequestToAllIsDropped) {
  Octets const request = message_of(wire::IcmpType::echo_request, 0, 0, {});
  EXPECT_EQ(judge(request, IpAddress::v4(10, 0, 0, 255)).drop, Drop::icmp_echo_to_group);
  EXPECT_EQ(judge(request, IpAddress::v4(255, 255, 255, 255)).drop, Drop::icmp_echo_to_group);
}

TEST(IcmpInput, AShortOrDamagedMessageIsDropped) {
  EXPECT_EQ(judge(Octets(7)).drop, Drop::icmp_too_short);
  EXPECT_EQ(judge(Octets(8)).drop, Drop::icmp_checksum);
}

//= rfc1122#3.2.2
//= type=test
//# 1122:H-26 an unknown type is discarded
TEST(IcmpInput, UnknownTypesAreDropped) {
  for (int type : {0, 1, 2, 5, 9, 10, 13, 14, 15, 42, 255}) {
    EXPECT_EQ(judge(message_of(static_cast<wire::IcmpType>(type), 0, 0, quoted())).drop,
              Drop::icmp_type_unknown)
        << type;
  }
}

//= rfc9293#3.9.2.2
//= type=test
//# 9293:MUST-55 source quench is silently discarded
//= rfc6633#3
//= type=test
//# 6633:SQ-1, 6633:SQ-3 before it reaches TCP
TEST(IcmpInput, SourceQuenchIsDropped) {
  EXPECT_EQ(judge_error(wire::IcmpType::source_quench, 0).drop, Drop::icmp_source_quench);
}

//= rfc9293#3.9.2.2
//= type=test
//# 9293:MUST-54 the quoted header identifies the connection
//= rfc1122#3.2.2
//= type=test
//# 1122:H-28, 1122:H-36 and its protocol number the transport
TEST(IcmpInput, AnErrorYieldsTheConnectionFromOurSide) {
  Judged const judged = judge_error(wire::IcmpType::unreachable, 1);
  ASSERT_EQ(judged.drop, Drop::none);
  ASSERT_EQ(judged.icmp.act, IcmpAct::error);
  IcmpError const& error = judged.icmp.error;
  EXPECT_EQ(error.quoted, (FourTuple{{ours, {40'000}}, {remote, {80}}}));
  EXPECT_EQ(error.quoted_sequence.value, 0xffff'fffeu);
  EXPECT_EQ(error.quoted_bytes.count, 1'500u);
  EXPECT_EQ(error.type, wire::IcmpType::unreachable);
  EXPECT_EQ(error.code, 1);
}

//= rfc9293#3.9.2.2
//= type=test
//# 9293:MUST-56 unreachable 0, 1, 5, time exceeded and parameter problem are soft
//# 9293:SHLD-26 unreachable 2 and 3 are hard, 4 is for path MTU discovery
//= rfc1122#3.2.2.1
//= type=test
//# 1122:H-29, 1122:H-30, 1122:H-L7 port unreachable is hard, 0, 1 and 5 are hints, all are reported
//= rfc1122#3.2.2.4
//= type=test
//# 1122:H-31 time exceeded is passed up
//= rfc1122#3.2.2.5
//= type=test
//# 1122:H-32 a parameter problem is passed up
TEST(IcmpInput, ErrorsAreSoftHardOrTooBig) {
  for (int code = 0; code < 16; ++code) {
    Judged const judged = judge_error(wire::IcmpType::unreachable, static_cast<std::uint8_t>(code));
    ASSERT_EQ(judged.drop, Drop::none);
    IcmpErrorKind const expected = code == 2 || code == 3 ? IcmpErrorKind::hard
                                   : code == 4            ? IcmpErrorKind::packet_too_big
                                                          : IcmpErrorKind::soft;
    EXPECT_EQ(judged.icmp.error.kind, expected) << code;
  }
  for (std::uint8_t code : {std::uint8_t{0}, std::uint8_t{1}}) {
    Judged const judged = judge_error(wire::IcmpType::time_exceeded, code);
    ASSERT_EQ(judged.drop, Drop::none);
    EXPECT_EQ(judged.icmp.error.kind, IcmpErrorKind::soft);
    EXPECT_EQ(judged.icmp.error.type, wire::IcmpType::time_exceeded);
  }
  Judged const judged = judge_error(wire::IcmpType::parameter_problem, 0, 0x1400'0000);
  ASSERT_EQ(judged.drop, Drop::none);
  EXPECT_EQ(judged.icmp.error.kind, IcmpErrorKind::soft);
  EXPECT_EQ(judged.icmp.message.pointer(), 20);
}

TEST(IcmpInput, TheNextHopMtuIsReported) {
  EXPECT_EQ(judge_error(wire::IcmpType::unreachable, 4, 1'400).icmp.error.mtu, 1'400);
  EXPECT_EQ(judge_error(wire::IcmpType::unreachable, 4, 0).icmp.error.mtu, 0);
  EXPECT_EQ(judge_error(wire::IcmpType::unreachable, 1, 1'400).icmp.error.mtu, 0);
}

TEST(IcmpInput, AQuoteThatIsShortOrNotOursIsMalformed) {
  Octets body = quoted();
  body.pop_back();
  EXPECT_EQ(judge(message_of(wire::IcmpType::unreachable, 1, 0, body)).drop,
            Drop::icmp_quote_malformed);
  EXPECT_EQ(judge(message_of(wire::IcmpType::unreachable, 1, 0, quoted(theirs))).drop,
            Drop::icmp_quote_malformed);
}

TEST(IcmpInput, AQuoteOfAnotherTransportBelongsToNoConnection) {
  Octets const body = quoted(ours, wire::IpProtocol::udp);
  EXPECT_EQ(judge(message_of(wire::IcmpType::unreachable, 1, 0, body)).drop,
            Drop::icmp_quote_unknown);
}

// The result of ip_input() for this header and payload; the packet stays valid.
IpArrival arrival_of(const wire::Ipv4Header& header, const Octets& payload, Octets& octets) {
  octets.assign(20 + payload.size(), std::byte{0});
  wire::write(header, {static_cast<std::uint32_t>(payload.size())}, octets);
  std::ranges::copy(payload, octets.begin() + 20);
  IpArrival arrival;
  KnownPath known;
  (void)ip_input(host(), octets, false, known, arrival);
  return arrival;
}

wire::Ipv4Header header_to_us(wire::IpProtocol protocol) {
  wire::Ipv4Header header;
  header.source = theirs;
  header.destination = ours;
  header.protocol = protocol;
  header.time_to_live = 64;
  return header;
}

//= rfc1122#3.2.2
//= type=test
//# 1122:H-27 the header and at least eight octets of data, unchanged
TEST(IcmpErrors, AnErrorQuotesThePacket) {
  for (std::size_t size : {0u, 7u, 8u, 100u, 528u, 529u, 1480u}) {
    Octets octets;
    IpArrival const about =
        arrival_of(header_to_us(wire::IpProtocol::udp), Octets(size, std::byte{7}), octets);
    ASSERT_TRUE(may_send_error(about));
    Octets out(error_bytes(about).count);
    ASSERT_EQ(out.size(), 8 + std::min<std::size_t>(20 + size, 548));
    write_error({wire::IcmpType::unreachable, 2, 0}, about, out);
    wire::IcmpMessage read;
    ASSERT_EQ(wire::parse(out, read), Drop::none);
    EXPECT_EQ(read.type, wire::IcmpType::unreachable);
    EXPECT_EQ(read.code, 2);
    EXPECT_TRUE(std::ranges::equal(read.body, std::span(octets).first(read.body.size())));
  }
}

//= rfc1122#3.2.2
//= type=test
//# 1122:H-7, 1122:H-L8 no errors about broadcasts, later fragments or errors
//= rfc792#Introduction
//= type=test
//# 792:ICMP4-8 about fragments only for the first, never about ICMP errors
TEST(IcmpErrors, NoErrorIsSentWhereForbidden) {
  Octets octets;
  wire::Ipv4Header header = header_to_us(wire::IpProtocol::udp);
  header.destination = IpAddress::v4(10, 0, 0, 255);
  EXPECT_FALSE(may_send_error(arrival_of(header, Octets(8), octets)));
  header = header_to_us(wire::IpProtocol::udp);
  header.fragment_offset = 1;
  EXPECT_FALSE(may_send_error(arrival_of(header, Octets(8), octets)));
  header = header_to_us(wire::IpProtocol::icmp);
  EXPECT_FALSE(may_send_error(arrival_of(header, {}, octets)));
  for (int type = 0; type < 256; ++type) {
    Octets payload(8);
    payload[0] = static_cast<std::byte>(type);
    EXPECT_EQ(may_send_error(arrival_of(header, payload, octets)), type == 0 || type == 8) << type;
  }
}

//= rfc6633#3
//= type=test
//# 6633:SQ-2 no source quench is sent
TEST(IcmpErrors, NoSourceQuenchIsSent) {
  Octets octets;
  IpArrival const about = arrival_of(header_to_us(wire::IpProtocol::udp), Octets(8), octets);
  Octets out(600);
  EXPECT_DEATH(write_error({wire::IcmpType::source_quench, 0, 0}, about, out), "");
}

TEST(IcmpErrors, TheRateHoldsOnAverageAndTheBurstAtOnce) {
  Rate const rate{{10}, {3}};
  RateState state;
  Instant now{7};
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(allow(rate, state, now));
  }
  EXPECT_FALSE(allow(rate, state, now));
  now = now + (Duration::milliseconds(100) - Duration{1});
  EXPECT_FALSE(allow(rate, state, now));
  now = now + Duration{1};
  EXPECT_TRUE(allow(rate, state, now));
  EXPECT_FALSE(allow(rate, state, now));
  // After any idle time no more than the burst is available.
  now = now + Duration::seconds(3'600);
  int allowed = 0;
  for (int i = 0; i < 10; ++i) {
    allowed += allow(rate, state, now) ? 1 : 0;
  }
  EXPECT_EQ(allowed, 3);
  // Ten a second, however many are requested.
  allowed = 0;
  for (int i = 0; i < 10'000; ++i) {
    now = now + Duration::milliseconds(1);
    allowed += allow(rate, state, now) ? 1 : 0;
  }
  EXPECT_EQ(allowed, 100);
}

TEST(IcmpErrors, ARateOfZeroNeverAllows) {
  RateState state;
  EXPECT_FALSE(allow({{0}, {5}}, state, Instant{1}));
}

}  // namespace
}  // namespace lockstep::internet
