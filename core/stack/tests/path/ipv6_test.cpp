// IPv6 end to end: TCP and ICMPv6.
#include <gtest/gtest.h>

#include "core/stack/testing/six_packet_kit.hpp"

namespace lockstep::testing {
namespace {

using wire::Icmp6Type;

//= rfc8200#8.3
//= type=test
//# 8200:V6-27 the MTU minus 60
//= rfc8200#8.1
//= type=test
//# 8200:V6-25 with the pseudo-header of IPv6
//= rfc9293#3.1
//= type=test
//# 9293:P-CKSUM-V6 as in TCP
TEST(Ipv6, AConnectionIsOpenedUsedAndClosed) {
  Six six;
  six.listen();
  six.deliver(syn());
  wire::Segment const answer = six.next_segment();
  EXPECT_TRUE(answer.flags == (flag::syn | flag::ack));
  EXPECT_TRUE(answer.options.has_mss);
  EXPECT_EQ(answer.options.mss, 1440);
  wire::Segment data;
  data.flags = flag::ack | flag::psh | flag::fin;
  data.sequence = {1};
  data.acknowledgment = answer.sequence.next();
  data.window = {65535};
  six.deliver(carrying(segment_octets(data, "hello")));
  EXPECT_EQ(six.received, "hello");
  // The peer sent no MSS: 1220 octets fit the minimum MTU of IPv6.
  EXPECT_EQ(six.stack.inspect(six.id).send.mss, Bytes{1220});
  EXPECT_EQ(six.next_segment().acknowledgment, Sequence{7});
  std::string const reply(1300, 'x');
  ASSERT_EQ(six.stack.write(six.id, Kit::bytes_of(reply)).bytes, Bytes{1300});
  six.turn();
  EXPECT_EQ(six.next_segment().payload.size(), 1220u);
}

//= rfc8200#8.1
//= type=test
//# 8200:V6-25 a wrong checksum: dropped
TEST(Ipv6, ASegmentWithAWrongChecksumIsDropped) {
  Six six;
  SixPacket packet = syn();
  packet.payload[5] ^= std::byte{1};
  EXPECT_EQ(six.drop_of(packet), Drop::tcp_checksum);
  SixPacket other = syn();
  other.source.low = 3;
  EXPECT_EQ(six.drop_of(other), Drop::tcp_checksum);
}

TEST(Ipv6, ASegmentWithoutAConnectionCausesAReset) {
  Six six;
  EXPECT_EQ(six.drop_of(syn()), Drop::tcp_closed);
  EXPECT_TRUE(six.next_segment().flags.rst());
}

//= rfc4443#4.2
//= type=test
//# 4443:ICMP6-14, 4443:ICMP6-15 same identifier, number and data, from the request's destination
//= rfc4443#2.2
//= type=test
//# 4443:ICMP6-2 which is ours
TEST(Icmp6, AnEchoRequestIsAnswered) {
  Six six;
  Octets const body(100, std::byte{7});
  six.deliver(icmp({Icmp6Type::echo_request, 0, 0x0001'0002, body}));
  wire::Icmp6Message const reply = six.next_icmp();
  EXPECT_EQ(six.from, six_device);
  EXPECT_EQ(reply.type, Icmp6Type::echo_reply);
  EXPECT_EQ(reply.rest, 0x0001'0002u);
  EXPECT_TRUE(std::equal(reply.body.begin(), reply.body.end(), body.begin(), body.end()));
}

//= rfc8200#8.4
//= type=test
//# 8200:V6-28 no header of the request is returned, in particular no routing header
//= rfc8200#4.5
//= type=test
//# 8200:V6-21 nor a fragment header
TEST(Icmp6, AReplyHasNoExtensionHeader) {
  Six six;
  Octets const request =
      icmp_octets({Icmp6Type::echo_request, 0, 0, Octets(8)}, {six_peer, six_device});
  Octets chain{std::byte{44}, std::byte{0}, std::byte{9}, std::byte{0},
               std::byte{0},  std::byte{0}, std::byte{0}, std::byte{0}};
  chain.insert(chain.end(), {std::byte{58}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1},
                             std::byte{2}, std::byte{3}, std::byte{4}});
  chain.insert(chain.end(), request.begin(), request.end());
  six.deliver(carrying(chain, 43));
  wire::Ipv6Packet const reply = six.next();
  EXPECT_EQ(reply.header.next_header, 58);
  EXPECT_EQ(reply.payload.size(), 16u);
}

//= rfc4443#2.4
//= type=test
//# 4443:ICMP6-4 an informational message of unknown type is silently discarded
TEST(Icmp6, UnsolicitedMessagesAreDropped) {
  Six six;
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type{200}, 0, 0, {}})), Drop::icmp_type_unknown);
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type::echo_reply, 0, 0, {}})), Drop::icmp_type_unknown);
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type::echo_request, 0, 0, {}}, all_nodes)),
            Drop::icmp_echo_to_group);
  SixPacket nobody = icmp({Icmp6Type::echo_request, 0, 0, {}});
  nobody.source = {};
  nobody.payload = icmp_octets({Icmp6Type::echo_request, 0, 0, {}}, {{}, six_device});
  EXPECT_EQ(six.drop_of(nobody), Drop::ip_source_invalid);
  EXPECT_TRUE(six.out.empty());
}

//= rfc8200#4
//= type=test
//# 8200:V6-4 discarded, and reported where it is named
//= rfc4443#3.4
//= type=test
//# 4443:ICMP6-13 a parameter problem with a pointer
//= rfc4443#2.4
//= type=test
//# 4443:ICMP6-5 as much of the packet as 1280 octets hold
TEST(Icmp6, AnUnknownTransportCausesAnError) {
  Six six;
  SixPacket const packet = carrying(Octets(1400), 17);
  EXPECT_EQ(six.drop_of(packet), Drop::ip_protocol_unknown);
  ASSERT_EQ(six.out.size(), 1u);
  EXPECT_EQ(six.out[0].size(), 1280u);
  wire::Icmp6Message const problem = six.next_icmp();
  EXPECT_EQ(problem.type, Icmp6Type::parameter_problem);
  EXPECT_EQ(problem.code, wire::problem_next_header);
  EXPECT_EQ(problem.rest, 6u);
  Octets const quoted = bytes_of(packet);
  EXPECT_TRUE(std::equal(problem.body.begin(), problem.body.end(), quoted.begin()));
}

//= rfc4443#2.4
//= type=test
//# 4443:ICMP6-6 never about an error
//# 4443:ICMP6-7 nor about a packet to a group, except for option bits 10
//# 4443:ICMP6-8 nor to the unspecified address
TEST(Icmp6, NotEveryPacketCausesAnError) {
  Six six;
  SixPacket group = carrying(Octets(20), 17);
  group.destination = all_nodes;
  EXPECT_EQ(six.drop_of(group), Drop::ip_protocol_unknown);
  SixPacket nobody = carrying(Octets(20), 17);
  nobody.source = {};
  EXPECT_EQ(six.drop_of(nobody), Drop::ip_protocol_unknown);
  Octets error{std::byte{58}, std::byte{0}, std::byte{0x9e}, std::byte{4},
               std::byte{0},  std::byte{0}, std::byte{0},    std::byte{0}};
  Octets const message =
      icmp_octets({Icmp6Type::unreachable, 0, 0, Octets(48)}, {six_peer, six_device});
  Octets const about_error = [&] {
    Octets all = error;
    all.insert(all.end(), message.begin(), message.end());
    return all;
  }();
  EXPECT_EQ(six.drop_of(carrying(about_error, 60)), Drop::ip_option_unknown);
  SixPacket option = carrying(error, 60);
  option.payload[0] = std::byte{6};
  option.payload[2] = std::byte{0xde};
  option.destination = all_nodes;
  EXPECT_EQ(six.drop_of(option), Drop::ip_option_unknown);
  EXPECT_TRUE(six.out.empty());
  option.payload[2] = std::byte{0x9e};
  EXPECT_EQ(six.drop_of(option), Drop::ip_option_unknown);
  EXPECT_EQ(six.next_icmp().code, wire::problem_option);
  EXPECT_EQ(six.from, six_device);
}

//= rfc4443#2.4
//= type=test
//# 4443:ICMP6-9 fifty at once, then as many per second as configured
TEST(Icmp6, ErrorsAreLimited) {
  Config config = six_config();
  config.icmp_replies_per_second = Count{10};
  Six six(config);
  for (int i = 0; i < 200; ++i) {
    six.deliver(carrying(Octets(20), 17));
  }
  EXPECT_EQ(six.out.size(), 50u);
  six.now = six.now + Duration::seconds(1);
  for (int i = 0; i < 200; ++i) {
    six.deliver(carrying(Octets(20), 17));
  }
  EXPECT_EQ(six.out.size(), 60u);
}

// The error about a segment that the stack has sent.
Octets quoting(const Octets& frame) { return {frame.begin(), frame.begin() + 60}; }

struct SoftCode {
  std::uint8_t code;
  Cause cause;
};

// 7 is an undefined code.
constexpr std::array soft_codes{
    SoftCode{0, Cause::network_unreachable}, SoftCode{2, Cause::host_unreachable},
    SoftCode{3, Cause::host_unreachable},    SoftCode{5, Cause::prohibited},
    SoftCode{6, Cause::prohibited},          SoftCode{7, Cause::parameter_problem}};

//= rfc9293#3.9.2.2
//= type=test
//# 9293:MUST-56 for ICMPv6: unreachable 0 and 3, and all of time exceeded and parameter problem
TEST(Icmp6, ASoftErrorEndsNoOpen) {
  Six six;
  ConnectionId const opened = six.connect();
  six.turn();
  Octets const quote = quoting(six.out[0]);
  for (std::uint8_t const code : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{2}}) {
    EXPECT_EQ(six.drop_of(icmp({Icmp6Type::parameter_problem, code, 6, quote})), Drop::none);
    EXPECT_EQ(six.events.back().cause, Cause::parameter_problem);
    EXPECT_TRUE(six.stack.inspect(opened).exists);
  }
  for (auto const& [code, cause] : soft_codes) {
    EXPECT_EQ(six.drop_of(icmp({Icmp6Type::unreachable, code, 0, quote})), Drop::none);
    EXPECT_EQ(six.events.back().kind, EventKind::soft_error);
    EXPECT_EQ(six.events.back().cause, cause) << int{code};
  }
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type::time_exceeded, 1, 0, quote})), Drop::none);
  EXPECT_EQ(six.events.back().cause, Cause::time_exceeded);
  EXPECT_TRUE(six.stack.inspect(opened).exists);
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type::unreachable, 1, 0, quote})), Drop::none);
  EXPECT_EQ(six.events.back().kind, EventKind::closed);
  EXPECT_EQ(six.events.back().cause, Cause::prohibited);
}

//= rfc4443#3.1
//= type=test
//# 4443:ICMP6-11 errors reach the transport
TEST(Icmp6, AHardErrorEndsAnOpenOnly) {
  Six six;
  ConnectionId const opened = six.connect();
  six.turn();
  ASSERT_EQ(six.out.size(), 1u);
  Octets const quote = quoting(six.out[0]);
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type::unreachable, 0, 0, quote})), Drop::none);
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type::time_exceeded, 0, 0, quote})), Drop::none);
  EXPECT_EQ(six.events.back().cause, Cause::time_exceeded);
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type{100}, 4, 0, quote})), Drop::none);
  EXPECT_EQ(six.events.back().cause, Cause::parameter_problem);
  EXPECT_TRUE(six.stack.inspect(opened).exists);
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type::unreachable, 4, 0, quote})), Drop::none);
  EXPECT_EQ(six.events.back().kind, EventKind::closed);
  EXPECT_EQ(six.events.back().cause, Cause::refused);
}

//= rfc4443#2.4
//= type=test
//# 4443:ICMP6-3 an error of an unknown type is passed up as well
//# 4443:ICMP6-20 one without the transport header is dropped
//= rfc4443#3.2
//= type=test
//# 4443:ICMP6-19 the code of packet too big is ignored
TEST(Icmp6, AnErrorMustQuoteASegmentOfOurs) {
  Six six;
  six.connect();
  six.turn();
  Octets quote = quoting(six.out[0]);
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type{100}, 0, 0, quote})), Drop::none);
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type::packet_too_big, 77, 1400, quote})), Drop::none);
  Octets const cut(quote.begin(), quote.begin() + 47);
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type::unreachable, 4, 0, cut})), Drop::icmp_quote_malformed);
  quote[6] = std::byte{44};
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type::unreachable, 4, 0, quote})), Drop::icmp_quote_unknown);
  quote[6] = std::byte{6};
  quote[23] = std::byte{9};
  EXPECT_EQ(six.drop_of(icmp({Icmp6Type::unreachable, 4, 0, quote})), Drop::icmp_quote_malformed);
}

TEST(Ipv6, AMappedAddressOnTheWireIsRefused) {
  Six six;
  SixPacket packet = syn();
  packet.source = IpAddress::v4(10, 0, 0, 2);
  EXPECT_EQ(six.drop_of(packet), Drop::ip_source_invalid);
  packet = syn();
  packet.source = six_device;
  EXPECT_EQ(six.drop_of(packet), Drop::ip_source_invalid);
  packet.source = {0, 1};
  EXPECT_EQ(six.drop_of(packet), Drop::ip_source_invalid);
  packet.source = {};
  EXPECT_EQ(six.drop_of(packet), Drop::ip_source_invalid);
  packet = syn();
  packet.destination.low = 9;
  EXPECT_EQ(six.drop_of(packet), Drop::ip_not_for_us);
}

//= rfc8200#5
//= type=test
//# 8200:V6-23 the link carries 1280 octets, otherwise it has no IPv6
TEST(Ipv6, ALinkOfIpv6CarriesItsLeastMtu) {
  Config config = six_config();
  set_mtu(config, Bytes{1279});
  EXPECT_FALSE(fault_of(config).empty());
  set_mtu(config, Bytes{1280});
  EXPECT_TRUE(fault_of(config).empty());
}

//= rfc4443#3.1
//= type=test
//# 4443:ICMP6-11 an ICMP error never ends a synchronized connection
TEST(Icmp6, AHardErrorIsSoftOnceSynchronized) {
  Six six;
  accept(six);
  ASSERT_EQ(six.stack.write(six.id, Kit::bytes_of("data")).bytes, Bytes{4});
  six.turn();
  Octets const quote = quoting(six.out.back());
  for (auto const& [code, cause] : {SoftCode{4, Cause::refused}, SoftCode{1, Cause::prohibited}}) {
    EXPECT_EQ(six.drop_of(icmp({Icmp6Type::unreachable, code, 0, quote})), Drop::none);
    EXPECT_EQ(six.events.back().kind, EventKind::soft_error);
    EXPECT_EQ(six.events.back().cause, cause);
  }
  EXPECT_TRUE(six.stack.inspect(six.id).exists);
}

}  // namespace
}  // namespace lockstep::testing
