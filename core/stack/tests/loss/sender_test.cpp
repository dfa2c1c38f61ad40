// The sender in profile default, while peers and routers change windows and sizes.
#include <gtest/gtest.h>

#include "core/stack/testing/sender_kit.hpp"
#include "core/stack/testing/six_kit.hpp"

namespace lockstep::testing {
namespace {

// More octets than half the sequence space.
constexpr std::uint64_t beyond = std::uint64_t{17} << 27;

// Three SACK blocks are pending when a router makes the MSS too small for them.
TEST(Sender, APendingReportIsCutToAShrunkMss) {
  Config config = sender_config();
  config.tcp.mss_least = Bytes{28};
  config.tcp.path_mtu_least = Bytes{68};
  Flow flow(config, bare_peer());
  flow.write_octets(9);
  auto const out = flow.take();
  ASSERT_EQ(out.size(), 1u);
  for (std::uint32_t const at : {101u, 201u, 301u}) {
    flow.send({.flags = flag::ack, .seq = at, .ack = 1, .data = "x"});
  }
  queue_too_big(flow, out[0], 68);
  flow.turn();
  auto const sent = flow.take();
  ASSERT_GE(sent.size(), 3u);
  EXPECT_EQ(sent[2].sack, "301-302");
  EXPECT_EQ(flow.info().send.mss.count, 16u);
}

// The path MTU entry expires in a recovery: the MSS grows, and with it the minima of cwnd and
// ssthresh.
TEST(Sender, CwndIsNeverBelowTheCurrentMss) {
  Flow flow(sender_config(), bare_peer(1460, 0));
  flow.write_octets(1000);
  deliver_too_big(flow, flow.take().at(0), 576);
  ASSERT_EQ(flow.info().send.mss.count, 536u);
  flow.advance(Duration::milliseconds(50));
  flow.ack(1001);
  std::uint32_t next = 1001;
  flow.write_octets(536 * 6);
  for (int i = 0; i < 6; ++i) {
    flow.advance(Duration::milliseconds(50));
    next += 536;
    flow.ack(next);
  }
  flow.advance(Duration::milliseconds(599'450));
  flow.write_octets(536 * 3);
  flow.take();
  flow.advance(Duration::milliseconds(50));
  flow.sack(next, {{next + 536, next + 536 * 3}});
  flow.advance(Duration::milliseconds(30));
  ASSERT_TRUE(flow.info().fast_recovery);
  ASSERT_LT(flow.ssthresh(), 1460u);
  flow.advance(Duration::milliseconds(200));
  flow.write_octets(1);
  ASSERT_EQ(flow.info().send.mss.count, 1460u);
  EXPECT_GE(flow.ssthresh(), 2 * 1460u);
  flow.ack(flow.info().send.nxt.value - flow.device_iss.value);
  EXPECT_GE(flow.cwnd(), 1460u);
  flow.write_octets(20'000);
  flow.take();
  for (int i = 0; i < 40 && flow.acked != flow.written + 1; ++i) {
    flow.advance(Duration::milliseconds(50));
    flow.ack(flow.info().send.nxt.value - flow.device_iss.value);
  }
  EXPECT_EQ(flow.acked, flow.written + 1);
}

//= rfc1191#3
//= type=test
//# 1191:PMTU-1 a next-hop MTU a few octets below our packets, their timestamps included
TEST(Sender, PacketsTooBigByLessThanTheirTimestamps) {
  for (std::uint16_t const mtu : std::initializer_list<std::uint16_t>{1487, 1488, 1492, 1499}) {
    Flow flow(sender_config(), bare_peer());
    flow.write_octets(1448);
    auto const out = flow.take();
    ASSERT_EQ(Flow::length_of(out.at(0)), 1448u);
    deliver_too_big(flow, out[0], mtu);
    EXPECT_EQ(flow.info().send.mss.count, mtu - 52u);
    EXPECT_EQ(flow.segments(), "1+" + std::to_string(mtu - 52));
    EXPECT_EQ(flow.drops(Drop::icmp_mtu_refused), 0u);
  }
  Flow flow(sender_config(), bare_peer());
  flow.write_octets(1448);
  deliver_too_big(flow, flow.take().at(0), 1500);
  EXPECT_EQ(flow.drops(Drop::icmp_mtu_refused), 1u);
}

// The same if data was acknowledged before, so that the message is used only after a timeout.
TEST(Sender, APendingMtuIsAppliedExactly) {
  Flow flow(sender_config(), bare_peer());
  flow.write_octets(100);
  flow.advance(Duration::milliseconds(50));
  flow.ack(101);
  flow.write_octets(1448);
  deliver_too_big(flow, flow.take().back(), 1492);
  EXPECT_EQ(flow.drops(Drop::icmp_mtu_refused), 0u);
  for (int i = 0; i < 3 && flow.info().send.mss.count == 1448; ++i) {
    flow.time_out();
  }
  EXPECT_EQ(flow.info().send.mss.count, 1440u);
}

// A listener's half-open connection: its SYN-ACK proves nothing, later packets do.
//= rfc8201#4
//= type=test
//# 8201:PMTU-3 for IPv6 as well
TEST(Sender, PacketsOfIpv6TooBigByLessThanTheirTimestamps) {
  Config config = sender_config();
  config.addresses[0] = {six_device, 64};
  Six six(config);
  six.listen();
  auto const segment = [](Flags flags, std::uint32_t seq, Sequence ack) {
    wire::Segment s;
    s.flags = flags;
    s.sequence = {seq};
    s.acknowledgment = ack;
    s.window = {65535};
    s.options.has_mss = flags.syn();
    s.options.mss = 1440;
    s.options.has_timestamps = true;
    s.options.timestamp_value = 1000;
    SixPacket packet;
    packet.payload = segment_octets(s);
    return packet;
  };
  six.deliver(segment(flag::syn, 0, {}));
  Sequence const base = six.next_segment().sequence.next();
  six.deliver(segment(flag::ack, 1, base));
  six.out.clear();
  ASSERT_EQ(six.stack.write(six.id, Kit::bytes_of(std::string(1428, 'x'))).bytes, Bytes{1428});
  six.turn();
  ASSERT_EQ(six.out.at(0).size(), 1500u);
  SixPacket error;
  error.next = 58;
  error.payload =
      icmp_octets({wire::Icmp6Type::packet_too_big, 0, 1492, std::span(six.out[0]).first(60)},
                  {six_peer, six_device});
  EXPECT_EQ(six.drop_of(error), Drop::none);
  EXPECT_EQ(six.stack.inspect(six.id).send.mss.count, 1420u);
}

//= rfc3168#6.1.2
//= type=test
//# 3168:ECN-18 once per window of data, after any number of octets
TEST(Sender, AnEchoIsProcessedBeyond2GiB) {
  LongFlow flow;
  flow.carry(beyond);
  std::uint32_t const before = flow.info().cwnd.count;
  flow.ack(flow.una() + LongFlow::segment, flag::ece);
  EXPECT_LT(flow.info().cwnd.count, before);
}

//= rfc5681#3.2
//= type=test
//# 5681:CC-20 a loss reduces ssthresh after 2^31 octets as before
TEST(Sender, ALossIsAnsweredBeyond2GiB) {
  LongFlow flow;
  flow.carry(beyond);
  std::uint32_t const before = flow.info().cwnd.count;
  std::uint32_t const hole = flow.una();
  flow.sack(hole, hole + LongFlow::segment, hole + 9 * LongFlow::segment);
  flow.advance(Duration::milliseconds(30));
  EXPECT_TRUE(flow.info().fast_recovery);
  EXPECT_LT(flow.info().ssthresh.count, before);
  EXPECT_LE(flow.info().cwnd.count, before);
}

// RFC 6675's edge, below which all is lost, applies only to the current window.
TEST(Sender, WithoutRackALossIsFoundBeyond2GiB) {
  Config config = sender_config();
  config.tcp.rack = false;
  config.tcp.tail_probe = false;
  LongFlow flow(config, false);
  for (std::uint64_t const octets : {std::uint64_t{1} << 24, beyond}) {
    flow.carry(octets);
    std::uint32_t const hole = flow.una();
    flow.sack(hole, hole + LongFlow::segment, hole + 9 * LongFlow::segment);
    EXPECT_TRUE(flow.info().fast_recovery) << octets;
    flow.ack(flow.una() + flow.flight() / 2 + 9 * LongFlow::segment);
    for (int i = 0; i < 20 && flow.info().fast_recovery; ++i) {
      flow.ack(flow.una() + flow.flight() / 2);
    }
    EXPECT_FALSE(flow.info().fast_recovery) << octets;
  }
}

//= rfc5927#7.2
//= type=test
//# 5927:ICMP-6 the quoted data is acknowledged: the message stays discarded after 2^31 octets
TEST(Sender, APacketTooBigIsForgottenForGood) {
  Config config = sender_config();
  config.tcp.path_mtu_probing = false;
  LongFlow flow(config);
  flow.carry(1 << 22);
  flow.fill();
  flow.ack(flow.una() + LongFlow::segment);
  auto const out = flow.take();
  ASSERT_FALSE(out.empty());
  deliver_too_big(flow, out.back(), 1500);
  EXPECT_EQ(flow.info().send.mss.count, LongFlow::segment);
  flow.carry(beyond);
  flow.advance(Duration::seconds(10));  // idle
  EXPECT_EQ(flow.info().send.mss.count, LongFlow::segment);
}

// Neither a peer's option nor a router's message can cause segments that are mostly headers
// (CVE-2019-11479).
//= rfc1191#3
//= type=test
//# 1191:PMTU-3 never below 68, and never below 552 in a bare Config
TEST(Sender, SegmentsAreNotMostlyHeaders) {
  {
    Flow flow(sender_config(), bare_peer(10));
    flow.write_octets(100);
    EXPECT_EQ(flow.segments(), "1+36 37+36 73+28");
  }
  for (std::uint16_t const mtu : std::initializer_list<std::uint16_t>{68, 296, 551, 552}) {
    Flow flow(sender_config(), bare_peer());
    flow.write_octets(1448);
    auto const out = flow.take();
    deliver_too_big(flow, out.at(0), mtu);
    EXPECT_EQ(flow.segments(), "1+500") << mtu;
    // Packets of that size do not shrink because of another message.
    deliver_too_big(flow, out.at(0), 68);
    EXPECT_EQ(flow.segments(), "");
    EXPECT_EQ(flow.drops(Drop::icmp_mtu_refused), 1u);
  }
}

// Ten in flight, one SACK of the eighth, then silence: RACK's timer finds seven lost.
//= rfc8985#9.3
//= type=test
//# 8985:RACK-21 PRR paces their retransmission
//= rfc9937#6.2
//= type=test
//# 9937:PRR-8, 9937:PRR-10 nothing is delivered, so one segment is sent, and no burst
TEST(Sender, RackTimerStartsARecoveryByPrr) {
  Flow flow(sender_config(), bare_peer(1012));
  flow.write_octets(10'000);
  ASSERT_EQ(flow.take().size(), 10u);
  flow.advance(Duration::milliseconds(50));
  flow.sack(1, {{7001, 8001}});
  EXPECT_EQ(flow.segments(), "");
  flow.advance(Duration::milliseconds(30));
  ASSERT_TRUE(flow.info().fast_recovery);
  EXPECT_EQ(flow.segments(), "1+1000");
  // Further ACKs permit as much as they deliver.
  flow.advance(Duration::milliseconds(20));
  flow.sack(1001, {{7001, 8001}});
  EXPECT_EQ(flow.segments(), "1001+1000 2001+1000");
}

// At a closed window a strict receiver accepts only RCV.NXT, even for the ACK field.
TEST(Sender, ABareAckIsAtTheEdgeOfAClosedWindow) {
  Flow flow(sender_config(), bare_peer());
  flow.ack_with_window(1, 0);
  flow.write_octets(100);
  flow.advance(Duration::milliseconds(400));
  ASSERT_EQ(flow.segments(), "1+1");
  flow.ack_with_window(1, 0);
  flow.data(1, 1000);
  flow.data(1001, 1000);
  EXPECT_EQ(flow.sent(), "A 1(0) ack 2001");
  flow.stack.abort(flow.id);
  flow.turn();
  EXPECT_EQ(flow.sent(), "R 1(0)");
}

TEST(Sender, ABareAckIsAtTheEdgeOfAShrunkWindow) {
  Flow flow(sender_config(), bare_peer(1012));
  flow.write_octets(5000);
  ASSERT_EQ(flow.take().size(), 5u);
  flow.ack_with_window(1001, 2500);
  flow.data(1, 2000);
  flow.data(2001, 2000);
  EXPECT_EQ(flow.sent(), "A 3501(0) ack 4001");
  flow.peer_next = 4001;
  flow.ack_with_window(1001, 4000);
  flow.data(4001, 2000);
  flow.data(6001, 2000);
  EXPECT_EQ(flow.sent(), "A 5001(0) ack 8001");
}

// An edge moved only by window scale rounding counts as unmoved.
TEST(Sender, ARoundedEdgeIsNoShrunkWindow) {
  Kit kit(sender_config());
  kit.stamp = 1000;
  kit.listen();
  wire::Options options;
  options.has_window_scale = true;
  options.window_scale = {7};
  kit.deliver({.flags = flag::syn, .mss = 1012, .options = options, .sack_permitted = true});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = 8});
  kit.write(std::string(1000, 'x'));
  ASSERT_EQ(kit.take().back().data.size(), 1000u);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 101, .window = 7});  // up to 996: 5 octets less
  kit.deliver(
      {.flags = flag::ack, .seq = 1, .ack = 101, .data = std::string(1000, 'y'), .window = 7});
  kit.advance(Duration::milliseconds(60));
  auto const out = kit.take();
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(line(out.front()), "A 1001(0) ack 1001");
}

// Advances until the next zero-window probe is sent.
void await_probe(Flow& flow) {
  ASSERT_FALSE(flow.info().persist_due.is_never());
  flow.advance(flow.info().persist_due.since(flow.now));
}

//= rfc9293#3.8.6.1
//= type=test
//# 9293:MUST-37 answered probes keep a closing connection, too
TEST(Sender, AnsweredProbesKeepAClosingConnection) {
  for (State const state : {State::fin_wait_1, State::closing, State::last_ack}) {
    Config config = sender_config();
    config.tcp.user_timeout = Duration::seconds(10);
    Flow flow(config, bare_peer());
    flow.ack_with_window(1, 0);
    if (state == State::last_ack) {
      flow.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 1, .window = 0});
      flow.peer_next = 2;
    }
    flow.write_octets(100);
    ASSERT_EQ(flow.stack.finish(flow.id), Refusal::none);
    flow.turn();
    if (state == State::closing) {
      flow.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 1, .window = 0});
      flow.peer_next = 2;
    }
    flow.take();
    for (int i = 0; i < 12 && flow.state() != State::closed; ++i) {
      await_probe(flow);
      flow.ack_with_window(1, 0);
    }
    flow.take();
    flow.ack_with_window(1, 1000);
    EXPECT_EQ(flow.segments(), "1+1 2+99F");
    EXPECT_FALSE(flow.notified(EventKind::closed, Cause::timed_out));
  }
}

//= rfc9293#3.8.6.1
//= type=test
//# 9293:SHLD-30 the interval keeps growing, although the peer accepts the octet of each probe
TEST(Sender, AnAcceptedProbeOpensNoWindow) {
  Flow flow(sender_config(), bare_peer());
  flow.ack_with_window(1, 0);
  flow.write_octets(100);
  std::vector<std::uint64_t> waits;
  Instant last = flow.now;
  for (std::uint32_t i = 1; i <= 6; ++i) {
    await_probe(flow);
    ASSERT_EQ(flow.segments(), std::to_string(i) + "+1");
    waits.push_back(flow.now.since(last).ns);
    last = flow.now;
    flow.ack_with_window(i + 1, 0);
  }
  for (std::size_t i = 1; i < waits.size(); ++i) {
    EXPECT_GE(waits[i] * 2, waits[i - 1] * 3) << i;
  }
  flow.ack_with_window(7, 1000);
  EXPECT_EQ(flow.segments(), "7+94");
  flow.ack_with_window(101, 0);
  // The next closed window is probed as soon as the first was.
  flow.write_octets(10);
  last = flow.now;
  await_probe(flow);
  EXPECT_LE(flow.now.since(last).ns, waits[0]);
}

// Data whose ACK is delayed, then a segment above a gap: the duplicate contains all of the ACK.
//= rfc9293#3.10.7.4
//= type=test
//# 9293:MUST-58 only one is sent
TEST(Sender, ADelayedAckAndADuplicateAreOne) {
  for (bool const one_burst : {true, false}) {
    Flow flow(sender_config(), bare_peer());
    flow.send({.flags = flag::ack, .seq = 1, .ack = 1, .data = octets(1, 1000)});
    if (!one_burst) {
      flow.turn();
    }
    flow.send({.flags = flag::ack, .seq = 2001, .ack = 1, .data = octets(2001, 1000)});
    flow.turn();
    auto const out = flow.take();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(line(out[0]), "A 1(0) ack 1001");
    EXPECT_EQ(out[0].sack, "2001-3001");
    flow.advance(Duration::seconds(1));
    EXPECT_EQ(flow.sent(), "");
    EXPECT_EQ(flow.drops(Drop::tcp_out_of_window), 0u);
  }
}

// The peer reneges while the scoreboard has no free record.
TEST(Sender, AnAckUpToASackedBlockOnAFullBoard) {
  Config config = sender_config();
  config.tcp.sent_per_connection = Count{5};
  Flow flow(config, bare_peer(1012));
  flow.write_octets(6000);
  ASSERT_EQ(flow.take().size(), 6u);
  flow.time_out();
  ASSERT_EQ(flow.segments(), "5001+1000");
  flow.sack(1, {{1001, 2001}});
  flow.sack(1001, {{3001, 4001}});
  flow.write_octets(1000);
  EXPECT_EQ(flow.segments(), "6001+1000");
  for (int i = 0; i < 20 && flow.acked != flow.written + 1; ++i) {
    flow.time_out();
    auto const out = flow.take();
    if (!out.empty() && out[0].seq == flow.acked) {
      flow.ack(flow.acked + Flow::length_of(out[0]));
    }
  }
  EXPECT_EQ(flow.acked, flow.written + 1);
}

// A scoreboard is given up because no record is free. All data that a timeout marked as lost is
// still retransmitted in slow start, and not one segment per timeout.
TEST(Sender, ABoardGivenUpLeavesNothingLostBehind) {
  Config config = sender_config();
  config.tcp.sent_per_connection = Count{1};
  config.tcp.tail_probe = false;
  Flow flow(config, bare_peer(1000, 0));
  flow.write_octets(8000);
  ASSERT_EQ(flow.take().size(), 8u);
  flow.time_out();
  ASSERT_EQ(flow.segments(), "1+1000");
  EXPECT_EQ(flow.stack.statistics().tcp.scoreboards_dropped, 1u);
  flow.advance(Duration::milliseconds(50));
  flow.ack(1001);
  EXPECT_EQ(flow.segments(), "1001+1000 2001+1000");
  flow.advance(Duration::milliseconds(50));
  flow.ack(2001);
  flow.ack(3001);
  EXPECT_EQ(flow.segments(), "3001+1000 4001+1000 5001+1000 6001+1000");
}

// No new scoreboard starts meanwhile, for which all of it would be in flight: here the peer has the
// last segment and SACKs it in each ACK. New data shows whether the timeout was spurious.
TEST(Sender, NoBoardStartsDuringTimeoutRecovery) {
  for (bool const more : {false, true}) {
    Config config = sender_config();
    config.tcp.sent_per_connection = Count{1};
    config.tcp.tail_probe = false;
    Flow flow(config, bare_peer(1000, 0));
    flow.write_octets(8000);
    ASSERT_EQ(flow.take().size(), 8u);
    flow.time_out();
    ASSERT_EQ(flow.segments(), "1+1000");
    flow.write_octets(more ? 2000 : 0);
    flow.advance(Duration::milliseconds(50));
    flow.sack(1001, {{7001, 8001}});
    EXPECT_EQ(flow.segments(), more ? "8001+1000 9001+1000" : "1001+1000 2001+1000");
    flow.advance(Duration::milliseconds(50));
    if (more) {
      flow.sack(1001, {{8001, 9001}, {7001, 8001}});
      EXPECT_EQ(flow.segments(), "1001+1000 2001+1000");
      flow.advance(Duration::milliseconds(50));
    }
    flow.sack(2001, {{7001, 8001}});
    flow.sack(3001, {{7001, 8001}});
    EXPECT_EQ(flow.segments().substr(0, 19), "3001+1000 4001+1000");
  }
}

// The application has more to send than cwnd permits: with any ISN, no sample is
// application-limited.
TEST(Sender, RateSamplesAreNotLimitedByTheIsn) {
  for (std::uint32_t const base : {0u, 1u << 30, 1u << 31, 3u << 30}) {
    Config config = sender_config();
    config.tcp.rate_samples = true;
    config.tcp.isn_base = Sequence{base};
    Flow flow(config, bare_peer(1012));
    flow.write_octets(100'000);
    flow.take();
    flow.advance(Duration::milliseconds(50));
    flow.ack(2001);
    ASSERT_TRUE(flow.info().rate.valid);
    EXPECT_FALSE(flow.info().rate.limited) << base;
  }
}

}  // namespace
}  // namespace lockstep::testing
