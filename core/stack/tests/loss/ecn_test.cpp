// RFC 3168 and RFC 8257 on the wire: negotiation, marking, echo and reduction.
#include <gtest/gtest.h>

#include "core/stack/testing/sender_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr std::uint8_t ect0 = 2;
constexpr std::uint8_t ce = 3;

Config ecn_config(tcp::EcnPolicy policy = tcp::EcnPolicy::on) {
  Config config = flow_config();
  config.tcp.ecn = policy;
  return config;
}

std::uint8_t field_of(const Out& out) { return out.traffic_class & 3; }

// A connection opened by the peer with ECN; segments of 1000 octets, a window of 4.
class Marked : public Kit {
 public:
  explicit Marked(const Config& config = ecn_config()) : Kit(config) {
    listen();
    deliver({.flags = flag::syn | flag::ece | flag::cwr, .mss = 1000});
    EXPECT_EQ(sent(), "SAE 0(0) ack 1");
    deliver({.flags = flag::ack, .seq = 1, .ack = 1});
    EXPECT_EQ(sent(), "");
  }
  void ack(std::uint32_t number, bool echo = false) {
    deliver({.flags = echo ? flag::ack | flag::ece : flag::ack, .seq = 1, .ack = number});
  }
  void data(std::uint32_t from, std::uint8_t field, Flags also = flag::none) {
    traffic_class = field;
    deliver({.flags = flag::ack | also, .seq = from, .ack = 1, .data = octets(from, 1000)});
    traffic_class = 0;
  }
  void fill(std::uint32_t count) {
    Taken const taken = stack.write(id, bytes_of(octets(1, count)), More::no);
    ASSERT_EQ(taken.bytes.count, count);
    turn();
  }
};

//= rfc3168#6.1.1
//= type=test
//# 3168:ECN-1, 3168:ECN-2 a SYN with ECE and CWR is answered by ECE, any other is not
//# 3168:ECN-24, 3168:ECN-25 all other combinations negotiate nothing
//# 3168:ECN-23 nor does a host without ECN
TEST(Ecn, PassiveOpen) {
  struct Row {
    tcp::EcnPolicy policy;
    Flags bits;
    const char* answer;
  };
  for (Row const& row : {Row{tcp::EcnPolicy::on, flag::ece | flag::cwr, "SAE 0(0) ack 1"},
                         Row{tcp::EcnPolicy::accept, flag::ece | flag::cwr, "SAE 0(0) ack 1"},
                         Row{tcp::EcnPolicy::off, flag::ece | flag::cwr, "SA 0(0) ack 1"},
                         Row{tcp::EcnPolicy::on, flag::none, "SA 0(0) ack 1"},
                         Row{tcp::EcnPolicy::on, flag::ece, "SA 0(0) ack 1"},
                         Row{tcp::EcnPolicy::on, flag::cwr, "SA 0(0) ack 1"}}) {
    Kit kit(ecn_config(row.policy));
    kit.listen();
    kit.deliver({.flags = flag::syn | row.bits, .mss = 1000});
    EXPECT_EQ(kit.sent(), row.answer);
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
    EXPECT_EQ(kit.info().ecn.tx, std::string(row.answer) == "SAE 0(0) ack 1");
  }
}

//= rfc9293#3.8.2
//= type=test
//# 9293:SHLD-8 ECN is negotiated and data is sent with it
//= rfc3168#6.1.1
//= type=test
//# 3168:ECN-1, 3168:ECN-25 ECE alone on the SYN-ACK agrees; both flags, CWR alone or none do not
//# 3168:ECN-3, 3168:ECN-16 only then data is ECT
//# 3168:ECN-4 the SYN never is
//= rfc3168#6.1.2
//= type=test
//# 3168:ECN-6 ECT(0)
TEST(Ecn, ActiveOpen) {
  for (auto const& [bits, agreed] : {std::pair{flag::ece, true},
                                     {flag::none, false},
                                     {flag::ece | flag::cwr, false},
                                     {flag::cwr, false}}) {
    Kit kit(ecn_config());
    kit.connect();
    auto const syn = kit.take();
    ASSERT_EQ(syn.size(), 1u);
    EXPECT_EQ(line(syn[0]), "SEC 0(0)");
    EXPECT_EQ(field_of(syn[0]), 0);
    kit.deliver({.flags = flag::syn | flag::ack | bits, .ack = 1, .mss = 1000});
    kit.take();
    kit.write("hello");
    auto const data = kit.take();
    ASSERT_EQ(data.size(), 1u);
    EXPECT_EQ(field_of(data[0]), agreed ? ect0 : 0);
  }
  Kit accepts(ecn_config(tcp::EcnPolicy::accept));
  accepts.connect();
  EXPECT_EQ(accepts.sent(), "S 0(0)");
  accepts.deliver({.flags = flag::syn | flag::ack | flag::ece, .ack = 1, .mss = 1000});
  EXPECT_FALSE(accepts.info().ecn.rx) << "it agrees to what nobody offered";
}

//= rfc3168#6.1.1.1
//= type=test
//# 3168:ECN-5 a retransmitted SYN has no ECN flags
//= rfc3168#6.1.1
//= type=test
//# 3168:ECN-3 then no data is ECT, whatever the answer
//# 3168:ECN-22 but CE is processed, because the answer may be to the first SYN
TEST(Ecn, RetransmittedSyn) {
  Kit kit(ecn_config());
  kit.connect();
  EXPECT_EQ(kit.sent(), "SEC 0(0)");
  kit.advance(Duration::seconds(1));
  EXPECT_EQ(kit.sent(), "S 0(0)");
  kit.deliver({.flags = flag::syn | flag::ack | flag::ece, .ack = 1, .mss = 1000});
  EXPECT_FALSE(kit.info().ecn.tx);
  EXPECT_TRUE(kit.info().ecn.rx);
}

//= rfc3168#6.1.1
//= type=test
//# 3168:ECN-2 a peer that falls back to a plain SYN gets a plain SYN-ACK
//# 3168:ECN-16 and no ECT
TEST(Ecn, PeerFallsBack) {
  Kit kit(ecn_config());
  kit.listen();
  kit.deliver({.flags = flag::syn | flag::ece | flag::cwr, .mss = 1000});
  EXPECT_EQ(kit.sent(), "SAE 0(0) ack 1");
  kit.deliver({.flags = flag::syn, .mss = 1000});
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_FALSE(kit.info().ecn.tx);
}

//= rfc3168#6.1.1
//= type=test
//# 3168:ECN-32 the next connection of the same sockets negotiates anew
TEST(Ecn, IsForgottenWithTheConnection) {
  Marked kit;
  EXPECT_TRUE(kit.info().ecn.tx);
  kit.deliver({.flags = flag::rst, .seq = 1});
  kit.deliver({.flags = flag::syn, .mss = 1000});
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_FALSE(kit.info().ecn.tx);
}

//= rfc3168#6.1.4
//= type=test
//# 3168:ECN-11 a pure ACK is not ECT
//= rfc3168#6.1.5
//= type=test
//# 3168:ECN-12 nor is a retransmission
//= rfc3168#5.2
//= type=test
//# 3168:ECN-30 only new data is
TEST(Ecn, OnlyNewDataIsEct) {
  Marked kit;
  kit.fill(2000);
  for (Out const& out : kit.take()) {
    EXPECT_EQ(field_of(out), ect0);
  }
  kit.advance(kit.info().retransmit_due.since(kit.now));
  auto const again = kit.take();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(field_of(again[0]), 0);
  kit.data(1, ect0);
  kit.data(1001, ect0);
  auto const acks = kit.take();
  ASSERT_FALSE(acks.empty());
  for (Out const& out : acks) {
    EXPECT_EQ(field_of(out), 0);
  }
}

//= rfc3168#6.1.6
//= type=test
//# 3168:ECN-13 a window probe has neither ECT nor CWR
TEST(Ecn, WindowProbe) {
  Marked kit;
  kit.deliver({.flags = flag::ack | flag::ece, .seq = 1, .ack = 1, .window = 0});
  Taken const taken = kit.stack.write(kit.id, Kit::bytes_of(octets(1, 3000)), More::no);
  ASSERT_EQ(taken.bytes.count, 3000u);
  kit.turn();
  kit.advance(kit.info().persist_due.since(kit.now));
  auto const probe = kit.take();
  ASSERT_EQ(probe.size(), 1u);
  EXPECT_EQ(probe[0].data.size(), 1u);
  EXPECT_EQ(field_of(probe[0]), 0);
  EXPECT_FALSE(probe[0].flags.cwr());
}

//= rfc3168#6.1.3
//= type=test
//# 3168:ECN-10 from CE on every ACK has ECE, until CWR arrives
//# 3168:ECN-28 the next mark starts it again, even on the packet with CWR
TEST(Ecn, EchoUntilCwr) {
  Marked kit;
  kit.data(1, ect0);
  kit.data(1001, ect0);
  EXPECT_EQ(kit.sent(), "A 1(0) ack 2001");
  kit.data(2001, ce);
  kit.data(3001, ect0);
  EXPECT_EQ(kit.sent(), "AE 1(0) ack 4001");
  kit.data(4001, ect0);
  kit.data(5001, ect0);
  EXPECT_EQ(kit.sent(), "AE 1(0) ack 6001");
  kit.write("x");
  EXPECT_EQ(kit.sent(), "PAE 1(1) ack 6001");
  kit.data(6001, ect0, flag::cwr);
  kit.data(7001, ect0);
  EXPECT_EQ(kit.sent(), "A 2(0) ack 8001");
  kit.data(8001, ce, flag::cwr);
  kit.data(9001, ect0);
  EXPECT_EQ(kit.sent(), "AE 2(0) ack 10001");
}

//= rfc3168#6.1.3
//= type=test
//# 3168:ECN-27 a delayed ACK reports the state of the data it covers
TEST(Ecn, AnAckIsSplitWhereTheEchoChanges) {
  Marked kit;
  kit.auto_consume = false;
  kit.data(1, ect0);
  EXPECT_EQ(kit.sent(), "");
  kit.data(1001, ce);
  EXPECT_EQ(kit.sent(), "A 1(0) ack 1001");
  kit.data(2001, ect0, flag::cwr);
  EXPECT_EQ(kit.sent(), "AE 1(0) ack 2001");
  kit.data(3001, ect0);
  EXPECT_EQ(kit.sent(), "A 1(0) ack 4001");
}

// Data must not replace an ACK whose ECE differs from its own.
TEST(Ecn, ASplitAckIsSentSeparately) {
  Marked kit;
  kit.traffic_class = ect0;
  kit.send({.flags = flag::ack, .seq = 1, .ack = 1, .data = octets(1, 1000)});
  kit.traffic_class = ce;
  kit.send({.flags = flag::ack, .seq = 1001, .ack = 1, .data = octets(1001, 1000)});
  Taken const taken = kit.stack.write(kit.id, Kit::bytes_of("x"), More::no);
  ASSERT_EQ(taken.bytes.count, 1u);
  kit.turn();
  EXPECT_EQ(kit.sent(), "A 1(0) ack 1001; PAE 1(1) ack 2001");
}

//= rfc3168#6.1.5
//= type=test
//# 3168:ECN-20 CE outside the window is ignored
TEST(Ecn, OutsideOfTheWindow) {
  Marked kit;
  kit.data(1, ect0);
  kit.data(1001, ect0);
  kit.sent();
  kit.data(1, ce);
  kit.data(200'001, ce);
  EXPECT_FALSE(kit.info().ecn.echo);
}

//= rfc3168#6.1.6
//= type=test
//# 3168:ECN-29 CE on a window probe is echoed
TEST(Ecn, MarkedProbe) {
  Config config = ecn_config();
  config.tcp.receive_buffer = Bytes{1000};
  Marked kit(config);
  kit.auto_consume = false;
  kit.data(1, ect0);
  kit.advance(Duration::milliseconds(500));
  ASSERT_EQ(kit.info().receive.wnd.count, 0u);
  kit.sent();
  kit.traffic_class = ce;
  kit.deliver({.flags = flag::ack, .seq = 1001, .ack = 1, .data = "x"});
  EXPECT_EQ(kit.sent(), "AE 1(0) ack 1001");
}

//= rfc3168#6.1.2
//= type=test
//# 3168:ECN-17 cwnd and ssthresh are halved, and nothing is retransmitted
//# 3168:ECN-18 once per window of data
//# 3168:ECN-14 an ACK with ECE does not grow cwnd
//# 3168:ECN-9 the next new data has CWR, and no other
//= rfc3168#5
//= type=test
//# 3168:ECN-7 as after a loss
//= rfc3168#6.1.1
//= type=test
//# 3168:ECN-21 set on one packet, cleared on all others
TEST(Ecn, AnEchoHalvesTheWindow) {
  Marked kit;
  kit.fill(100'000);
  for (std::uint32_t at = 501; at <= 3001; at += 500) {
    kit.ack(at);
  }
  ASSERT_EQ(kit.info().cwnd.count, 7000u);
  for (Out const& out : kit.take()) {
    EXPECT_FALSE(out.flags.cwr());
  }
  kit.ack(4001, true);
  EXPECT_EQ(kit.info().cwnd.count, 3500u);
  EXPECT_EQ(kit.info().ssthresh.count, 3500u);
  EXPECT_TRUE(kit.info().ecn.cwr_due);
  for (std::uint32_t at = 5001; at <= 10'001; at += 1000) {
    kit.ack(at, true);
    ASSERT_EQ(kit.info().cwnd.count, 3500u);
  }
  std::uint32_t with_cwr = 0;
  auto const all = kit.take();
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(all[0].flags.cwr());
  for (Out const& out : all) {
    with_cwr += out.flags.cwr() ? 1 : 0;
    EXPECT_EQ(field_of(out), ect0);
  }
  EXPECT_EQ(with_cwr, 1u);
  // SND.NXT was 10,001 when cwnd was halved: data acknowledged above it is a new window.
  kit.ack(11'001, true);
  EXPECT_LT(kit.info().cwnd.count, 3500u);
}

//= rfc3168#6.1.2
//= type=test
//# 3168:ECN-26 CWR follows a fast retransmit, on new data and not on the retransmission
//# 3168:ECN-19 which has none
//# 3168:ECN-18 a loss in a window already halved by ECE does not halve it again
//# 3168:ECN-33 a timeout does
TEST(Ecn, LossAndEchoInOneWindow) {
  Marked kit;
  kit.fill(100'000);
  for (std::uint32_t at = 501; at <= 3001; at += 500) {
    kit.ack(at);
  }
  kit.ack(4001, true);
  ASSERT_EQ(kit.info().ssthresh.count, 3500u);
  kit.sent();
  for (int i = 0; i < 3; ++i) {
    kit.ack(4001, true);
  }
  EXPECT_TRUE(kit.info().fast_recovery);
  EXPECT_EQ(kit.info().ssthresh.count, 3500u);
  auto const again = kit.take();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].seq, 4001u);
  EXPECT_FALSE(again[0].flags.cwr());
  EXPECT_TRUE(kit.info().ecn.cwr_due);
  kit.advance(kit.info().retransmit_due.since(kit.now));
  EXPECT_EQ(kit.info().cwnd.count, 1000u);
  EXPECT_FALSE(kit.take()[0].flags.cwr());
}

// ... but the first segment sent after the reduction belongs to the next window.
//= rfc3168#6.1.2
//= type=test
//# 3168:ECN-18 each window with a loss is halved once, on a flow with ECN as well
TEST(Ecn, ALossAtTheEndOfTheReducedWindow) {
  Config config = sender_config();
  config.tcp.congestion = tcp::Congestion::reno;
  Kit kit(config);
  kit.stamp = 1000;
  kit.listen();
  kit.deliver({.flags = flag::syn | flag::ece | flag::cwr, .mss = 1012, .sack_permitted = true});
  kit.advance(Duration::milliseconds(50));
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  std::string const data = octets(1, 100'000);
  ASSERT_EQ(kit.stack.write(kit.id, Kit::bytes_of(data), More::no).bytes.count, 100'000u);
  kit.turn();
  ASSERT_EQ(kit.info().cwnd.count, 10'000u);
  kit.advance(Duration::milliseconds(50));
  kit.deliver({.flags = flag::ack | flag::ece, .seq = 1, .ack = 10'001});
  ASSERT_TRUE(kit.info().ecn.tx);
  ASSERT_EQ(kit.info().cwnd.count, 5000u);
  ASSERT_EQ(kit.info().send.nxt.value - kit.device_iss.value, 15'001u);
  // All after 10,001 is lost except the last three segments.
  kit.advance(Duration::milliseconds(50));
  for (std::uint32_t const begin : {12'001u, 13'001u, 14'001u}) {
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 10'001, .sack = {{begin, begin + 1000}}});
  }
  ASSERT_TRUE(kit.info().fast_recovery);
  EXPECT_EQ(kit.info().ssthresh.count, 2500u);
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-11 data SACKed in a long recovery does not count: an ECE after it halves cwnd
TEST(Ecn, AnEchoAfterALongRecovery) {
  Config config = ecn_config();
  config.tcp.sack = true;
  config.tcp.initial_window = tcp::InitialWindow::rfc6928;
  Kit kit(config);
  kit.listen();
  kit.deliver({.flags = flag::syn | flag::ece | flag::cwr, .mss = 1000, .sack_permitted = true});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  std::string const data = octets(1, 100'000);
  ASSERT_EQ(kit.stack.write(kit.id, Kit::bytes_of(data), More::no).bytes.count, 100'000u);
  kit.turn();
  for (std::uint32_t end = 4001; end <= 26'001; end += 1000) {
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .sack = {{1001, end}}});
  }
  ASSERT_EQ(kit.info().ssthresh.count, 5000u);
  kit.deliver({.flags = flag::ack | flag::ece, .seq = 1, .ack = 26'001});
  EXPECT_FALSE(kit.info().fast_recovery);
  EXPECT_EQ(kit.info().ssthresh.count, 2500u);
  EXPECT_EQ(kit.info().cwnd.count, 2500u);
}

//= rfc3168#6.1.2
//= type=test
//# 3168:ECN-8 with cwnd at one segment new data waits for a timeout
//= rfc9438#4.6
//= type=test
//# 9438:CUBIC-9, 9438:CUBIC-15 cwnd goes down to one segment, and the timer slows it further
TEST(Ecn, AnEchoAtOneSegment) {
  for (tcp::Congestion const controller : {tcp::Congestion::reno, tcp::Congestion::cubic}) {
    Config config = ecn_config();
    config.tcp.congestion = controller;
    Marked kit(config);
    kit.fill(100'000);
    std::uint32_t next = 1;
    for (int i = 0; i < 60 && kit.info().cwnd.count > 1000; ++i) {
      next = (kit.info().send.nxt - Bytes{kit.device_iss.value}).value;
      kit.ack(next, true);
    }
    ASSERT_EQ(kit.info().cwnd.count, 1000u);
    kit.take();
    next = (kit.info().send.nxt - Bytes{kit.device_iss.value}).value;
    kit.ack(next, true);
    EXPECT_EQ(kit.sent(), "");
    Duration const rto = kit.info().rto;
    kit.advance(rto - Duration::milliseconds(1));
    EXPECT_EQ(kit.sent(), "");
    kit.advance(Duration::milliseconds(1));
    EXPECT_EQ(kit.take().size(), 1u);
    EXPECT_EQ(kit.info().cwnd.count, 1000u);
  }
}

// The same if that ECE acknowledges all data: the next data waits, too, and only the timer is kept
// for it.
//= rfc3168#6.1.2
//= type=test
//# 3168:ECN-8 it waits although nothing is in flight
TEST(Ecn, AnEchoAtOneSegmentAndNothingInFlight) {
  Marked kit;
  std::uint32_t next = 1;
  for (int i = 0; i < 60 && (i == 0 || kit.info().cwnd.count > 1000); ++i) {
    kit.write(std::string(1000, 'x'));
    next += 1000;
    kit.ack(next, true);
  }
  ASSERT_EQ(kit.info().cwnd.count, 1000u);
  kit.write(std::string(1000, 'x'));
  next += 1000;
  kit.ack(next, true);
  kit.take();
  Duration const rto = kit.info().rto;
  EXPECT_EQ(kit.stack.pools().active, 1u);
  kit.advance(Duration::milliseconds(10));
  kit.write("later");
  kit.advance(rto - Duration::milliseconds(11));
  EXPECT_EQ(kit.sent(), "");
  kit.advance(Duration::milliseconds(1));
  EXPECT_EQ(kit.take().size(), 1u);
  next += 5;
  kit.ack(next, true);
  kit.advance(kit.info().rto);
  EXPECT_EQ(kit.stack.pools().active, 0u);
}

//= rfc8257#3.2
//= type=test
//# 8257:DCTCP-1 ECE if and only if the last packet was marked
//# 8257:DCTCP-2 each change is reported at once
//# 8257:DCTCP-3 before it the older packets in their own state
//# 8257:DCTCP-4 CWR changes nothing
TEST(Ecn, DctcpReceiver) {
  Config config = ecn_config();
  config.tcp.congestion = tcp::Congestion::dctcp;
  Marked kit(config);
  kit.data(1, ect0);
  EXPECT_EQ(kit.sent(), "");
  kit.data(1001, ce);
  EXPECT_EQ(kit.sent(), "A 1(0) ack 1001; AE 1(0) ack 2001");
  kit.data(2001, ce, flag::cwr);
  EXPECT_EQ(kit.sent(), "");
  kit.data(3001, ce);
  EXPECT_EQ(kit.sent(), "AE 1(0) ack 4001");
  kit.data(4001, ect0);
  EXPECT_EQ(kit.sent(), "A 1(0) ack 5001");
}

//= rfc8257#3.3
//= type=test
//# 8257:DCTCP-8 cwnd is reduced by half of alpha
//# 8257:DCTCP-9 once per window, with CWR
//= rfc8257#3.4
//= type=test
//# 8257:DCTCP-14 and grows as in RFC 5681
TEST(Ecn, DctcpSender) {
  Config config = ecn_config();
  config.tcp.congestion = tcp::Congestion::dctcp;
  Marked kit(config);
  kit.fill(200'000);
  for (std::uint32_t at = 1001; at <= 7001; at += 1000) {
    kit.ack(at);
  }
  ASSERT_EQ(kit.info().cwnd.count, 11'000u);
  std::uint32_t const alpha = kit.info().alpha;
  EXPECT_LT(alpha, 65'536u);
  kit.ack(8001, true);
  std::uint32_t const expected =
      11'000 - static_cast<std::uint32_t>(std::uint64_t{11'000} * kit.info().alpha >> 17);
  EXPECT_EQ(kit.info().cwnd.count, expected);
  EXPECT_TRUE(kit.info().ecn.cwr_due);
  kit.ack(9001, true);
  EXPECT_EQ(kit.info().cwnd.count, expected);
}

}  // namespace
}  // namespace lockstep::testing
