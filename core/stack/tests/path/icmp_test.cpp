// ICMP errors in TCP (RFC 9293 3.9.2.2), and their reports to the application.
#include <gtest/gtest.h>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

using wire::IcmpType;

constexpr std::uint8_t host = 1;
constexpr std::uint8_t port = 3;

Out data_in_flight(Kit& kit) {
  kit.socket_in(State::established);
  kit.write("data");
  return kit.take().at(0);
}

struct Soft {
  IcmpType type;
  std::uint8_t code;
  Cause cause;
};

constexpr std::array soft_errors{
    Soft{IcmpType::unreachable, 0, Cause::network_unreachable},
    Soft{IcmpType::unreachable, 1, Cause::host_unreachable},
    Soft{IcmpType::unreachable, 5, Cause::source_route_failed},
    Soft{IcmpType::unreachable, 6, Cause::network_unreachable},
    Soft{IcmpType::unreachable, 7, Cause::host_unreachable},
    Soft{IcmpType::unreachable, 8, Cause::host_unreachable},
    Soft{IcmpType::unreachable, 9, Cause::network_unreachable},
    Soft{IcmpType::unreachable, 10, Cause::host_unreachable},
    Soft{IcmpType::unreachable, 11, Cause::network_unreachable},
    Soft{IcmpType::unreachable, 12, Cause::host_unreachable},
    Soft{IcmpType::unreachable, 13, Cause::host_unreachable},
    Soft{IcmpType::unreachable, 14, Cause::host_unreachable},
    Soft{IcmpType::unreachable, 15, Cause::host_unreachable},
    Soft{IcmpType::unreachable, 16, Cause::network_unreachable},
    Soft{IcmpType::time_exceeded, 0, Cause::time_exceeded},
    Soft{IcmpType::time_exceeded, 1, Cause::time_exceeded},
    Soft{IcmpType::parameter_problem, 0, Cause::parameter_problem},
};

//= rfc9293#3.9.2.2
//= type=test
//# 9293:MUST-56, 9293:SHLD-25 soft errors are reported and end nothing
//= rfc9293#3.9.1.8
//= type=test
//# 9293:MUST-47, 9293:P-REPORT-CONDS by an event with its cause
TEST(Icmp, SoftErrors) {
  for (Soft const& soft : soft_errors) {
    for (State state : {State::syn_sent, State::established}) {
      Kit kit(bare_config());
      Out quoted;
      if (state == State::syn_sent) {
        kit.connect();
        quoted = kit.take().at(0);
      } else {
        quoted = data_in_flight(kit);
      }
      kit.send_icmp(soft.type, soft.code, quoted);
      kit.turn();
      EXPECT_EQ(kit.state(), state);
      EXPECT_TRUE(kit.notified(EventKind::soft_error, soft.cause)) << int{soft.code};
      EXPECT_EQ(kit.sent(), "");
    }
  }
}

//= rfc9293#3.9.1.8
//= type=test
//# 9293:SHLD-20 an application can disable the reports
TEST(Icmp, ReportsCanBeSwitchedOff) {
  Kit kit;
  Out const quoted = data_in_flight(kit);
  ASSERT_EQ(kit.stack.set(kit.id, {SettingKind::soft_errors, 0}), Refusal::none);
  kit.send_icmp(IcmpType::unreachable, host, quoted);
  kit.turn();
  EXPECT_FALSE(kit.notified(EventKind::soft_error));
  kit.advance(Duration::seconds(20));
  EXPECT_FALSE(kit.notified(EventKind::soft_error));
}

//= rfc9293#3.9.1.8
//= type=test
//# 9293:P-REPORT-CONDS excessive retransmission is the second condition; urgent data the third
//= rfc9293#3.8.3
//= type=test
//# 9293:SHLD-9 reported at R1
TEST(Icmp, TheOtherConditions) {
  Kit kit;
  static_cast<void>(data_in_flight(kit));
  kit.advance(Duration::seconds(8));
  EXPECT_TRUE(kit.notified(EventKind::soft_error, Cause::retransmitting));
  kit.deliver({.flags = flag::ack | flag::urg, .seq = 1, .ack = 5, .data = "!", .urgent = 1});
  EXPECT_TRUE(kit.notified(EventKind::urgent));
}

//= rfc9293#3.9.2.2
//= type=test
//# 9293:SHLD-26 hard errors abort an open, but no synchronized connection (RFC 5461, RFC 5927)
//= rfc5927#5.2
//= type=test
//# 5927:ICMP-3 soft, once synchronized
//= rfc9293#3.8.3
//= type=test
//# 9293:P-SYN-FAIL port unreachable ends an open
TEST(Icmp, HardErrors) {
  for (std::uint8_t code : {std::uint8_t{2}, port}) {
    Kit kit(bare_config());
    kit.connect();
    kit.send_icmp(IcmpType::unreachable, code, kit.take().at(0));
    kit.turn();
    EXPECT_EQ(kit.state(), State::closed);
    Cause const cause = code == port ? Cause::refused : Cause::protocol_unreachable;
    EXPECT_TRUE(kit.notified(EventKind::closed, cause));
    Kit open(bare_config());
    Out const quoted = data_in_flight(open);
    open.send_icmp(IcmpType::unreachable, code, quoted);
    open.turn();
    EXPECT_EQ(open.state(), State::established);
    EXPECT_TRUE(open.notified(EventKind::soft_error, cause));
  }
}

TEST(Icmp, FragmentationNeededIsNeverHard) {
  Kit kit;
  kit.connect();
  kit.send_icmp(IcmpType::unreachable, 4, kit.take().at(0));
  kit.turn();
  EXPECT_EQ(kit.state(), State::syn_sent);
}

// It has no other effect if path MTU discovery is off.
TEST(Icmp, FragmentationNeededHasNoOtherEffect) {
  Config config = bare_config();
  config.tcp.path_mtu_discovery = false;
  Kit kit(config);
  kit.send_icmp(IcmpType::unreachable, 4, data_in_flight(kit));
  kit.turn();
  EXPECT_FALSE(kit.notified(EventKind::soft_error));
}

// In the same turn a cause from ICMP takes precedence over R1.
TEST(Icmp, AnIcmpCausePrecedesR1) {
  Kit kit(bare_config());
  Out const quoted = data_in_flight(kit);
  while (kit.info().retries < 2) {
    kit.advance(Duration::milliseconds(50));
  }
  Instant const due = kit.info().retransmit_due;
  kit.events.clear();
  kit.send_icmp(IcmpType::unreachable, host, quoted);
  kit.now = due;
  kit.turn();
  ASSERT_EQ(kit.info().retries, 3u);
  ASSERT_EQ(kit.events.size(), 1u);
  EXPECT_EQ(kit.events[0].cause, Cause::host_unreachable);
}

//= rfc9293#3.9.2.2
//= type=test
//# 9293:SHLD-26 in SYN-RECEIVED a hard error ends an open of ours, a soft one does not
TEST(Icmp, InSynReceived) {
  Kit kit(bare_config());
  kit.connect();
  Out const quoted = kit.take().at(0);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  ASSERT_EQ(kit.state(), State::syn_received);
  kit.send_icmp(IcmpType::unreachable, host, quoted);
  kit.turn();
  EXPECT_EQ(kit.state(), State::syn_received);
  EXPECT_TRUE(kit.notified(EventKind::soft_error, Cause::host_unreachable));
  kit.send_icmp(IcmpType::unreachable, 2, quoted);
  kit.turn();
  EXPECT_EQ(kit.state(), State::closed);
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::protocol_unreachable));
}

// An attempt that was not reported ends silently.
TEST(Icmp, HardErrorToAPassiveOpen) {
  Kit kit;
  kit.listen();
  kit.deliver({.flags = flag::syn, .mss = 1460});
  kit.send_icmp(IcmpType::unreachable, port, kit.take().at(0));
  kit.turn();
  EXPECT_EQ(kit.stack.state_of(kit.tuple()), State::listen);
  EXPECT_TRUE(kit.events.empty());
}

//= rfc9293#3.9.2.2
//= type=test
//# 9293:MUST-54 the quoted header identifies the connection, and only that one is affected
TEST(Icmp, FindsItsConnection) {
  Kit kit;
  kit.connect();
  Out const first = kit.take().at(0);
  Open open;
  open.local = {kit.device, {81}};
  open.remote = {kit.peer, {Kit::peer_port}};
  ConnectionId second;
  ASSERT_EQ(kit.stack.connect(open, second), Refusal::none);
  kit.turn();
  kit.send_icmp(IcmpType::unreachable, host, first);
  kit.turn();
  ASSERT_EQ(kit.events.size(), 1u);
  EXPECT_EQ(kit.events[0].id, kit.id);
  Out stranger = first;
  stranger.tuple.local.port = {999};
  kit.send_icmp(IcmpType::unreachable, port, stranger);
  kit.turn();
  EXPECT_EQ(kit.drops(Drop::icmp_quote_unknown), 1u);
  EXPECT_EQ(kit.events.size(), 1u);
}

//= rfc5927#4.1
//= type=test
//# 5927:ICMP-1 a number that is not in flight indicates a forgery
TEST(Icmp, MustQuoteWhatIsInFlight) {
  Kit kit;
  Out quoted = data_in_flight(kit);
  for (std::uint32_t offset : {0xffff'ffffu, 4u, 1000u}) {
    Out outside = quoted;
    outside.absolute = quoted.absolute + Bytes{offset};
    kit.send_icmp(IcmpType::unreachable, host, outside);
  }
  kit.turn();
  EXPECT_EQ(kit.drops(Drop::icmp_quote_outside), 3u);
  EXPECT_FALSE(kit.notified(EventKind::soft_error));
  quoted.absolute = quoted.absolute + Bytes{3};
  kit.send_icmp(IcmpType::unreachable, host, quoted);
  kit.turn();
  EXPECT_TRUE(kit.notified(EventKind::soft_error));
}

//= rfc9293#3.9.2.2
//= type=test
//# 9293:MUST-55 source quench is silently discarded
//= rfc5927#6.2
//= type=test
//# 5927:ICMP-4 cwnd does not change
TEST(Icmp, SourceQuench) {
  Kit kit;
  Out const quoted = data_in_flight(kit);
  Bytes const cwnd = kit.info().cwnd;
  kit.send_icmp(IcmpType::source_quench, 0, quoted);
  kit.turn();
  EXPECT_EQ(kit.drops(Drop::icmp_source_quench), 1u);
  EXPECT_EQ(kit.info().cwnd, cwnd);
  EXPECT_FALSE(kit.notified(EventKind::soft_error));
  EXPECT_EQ(kit.sent(), "");
}

// The lengths of the packets sent in answer to a packet of this protocol.
std::vector<std::size_t> replies_to(Kit& kit, wire::IpProtocol protocol,
                                    std::span<const std::byte> body) {
  std::vector<std::byte> packet(20 + body.size());
  wire::Ipv4Header ip;
  ip.source = kit.peer;
  ip.destination = kit.device;
  ip.protocol = protocol;
  ip.time_to_live = 64;
  auto const length = Bytes{static_cast<std::uint32_t>(body.size())};
  static_cast<void>(wire::write(ip, length, packet));
  std::memcpy(packet.data() + 20, body.data(), body.size());
  Ingress const frame{packet, Checksum::unknown, kit.now};
  kit.stack.receive(kit.now, std::span(&frame, 1));
  kit.stack.settle();
  std::vector<std::byte> room(70'000);
  std::vector<std::size_t> lengths;
  while (kit.stack.wants_transmit()) {
    lengths.push_back(kit.stack.transmit(kit.now, room).length);
  }
  return lengths;
}

// A link may deliver larger packets than we may send: no reply exceeds the MTU.
//= rfc1122#3.2.2.6
//= type=test
//# 1122:H-41 an echo reply that would need fragmentation is truncated
//= rfc1122#3.2.2
//= type=test
//# 1122:H-27 and so is the quote of an error, to no less than eight octets of data
TEST(Icmp, RepliesFitTheLink) {
  Config config = kit_config();
  set_mtu(config, Bytes{128});
  Kit kit(config);
  std::vector<std::byte> const data(1000);
  wire::IcmpMessage echo;
  echo.type = IcmpType::echo_request;
  for (std::size_t size : {100u, 101u, 992u}) {
    echo.body = std::span(data).first(size);
    std::vector<std::byte> message(wire::icmp_header_bytes + size);
    static_cast<void>(wire::write(echo, message));
    EXPECT_EQ(replies_to(kit, wire::IpProtocol::icmp, message), std::vector<std::size_t>{128});
  }
  auto const unknown = static_cast<wire::IpProtocol>(17);
  for (std::size_t size : {80u, 81u, 108u, 1000u}) {
    EXPECT_EQ(replies_to(kit, unknown, std::span(data).first(size)), std::vector<std::size_t>{128});
  }
}

}  // namespace
}  // namespace lockstep::testing
