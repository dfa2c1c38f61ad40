// RFC 5681 section 3.1: the initial window, slow start, congestion avoidance, and timeouts.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"
#include "core/units/random.hpp"

namespace lockstep::testing {
namespace {

Config window_config(Bytes mtu = Bytes{1500}) {
  Config config = flow_config();
  set_mtu(config, mtu);
  return config;
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-3 four, three or two segments, depending on their size
//# 5681:CC-4 the handshake's segments add nothing, on either side
TEST(SlowStart, InitialWindowBySegmentSize) {
  struct Case {
    std::uint16_t mss;
    std::uint32_t segments;
  };
  for (Case c : {Case{536, 4}, {1095, 4}, {1096, 3}, {2190, 3}, {2191, 2}, {8960, 2}}) {
    Flow passive(window_config(Bytes{9000}), {.mss = c.mss});
    EXPECT_EQ(passive.cwnd(), c.mss * c.segments) << c.mss;
    Kit active(window_config(Bytes{9000}));
    active.socket_in(State::syn_sent);
    active.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = c.mss});
    EXPECT_EQ(active.info().cwnd.count, c.mss * c.segments) << c.mss;
    passive.write_octets(60'000);
    EXPECT_EQ(passive.take().size(), c.segments) << c.mss;
  }
}

// RFC 6928 section 2, in profile default.
TEST(SlowStart, InitialWindowOfTen) {
  Config config = window_config();
  config.tcp.initial_window = tcp::InitialWindow::rfc6928;
  Flow flow(config);
  EXPECT_EQ(flow.cwnd(), 10'000u);
  Flow large(config, {.mss = 1460});
  EXPECT_EQ(large.cwnd(), 14'600u);
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-5 one segment after a lost SYN, or SYN-ACK
TEST(SlowStart, OneSegmentAfterALostSyn) {
  Kit active(flow_config());
  active.socket_in(State::syn_sent);
  active.advance(Duration::seconds(1));
  active.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1000});
  EXPECT_EQ(active.info().cwnd.count, 1000u);
  Kit passive(flow_config());
  passive.socket_in(State::syn_received);
  passive.advance(Duration::seconds(1));
  passive.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(passive.info().cwnd.count, 1460u);
}

// RFC 6928 section 2 ignores one loss: the second one counts.
TEST(SlowStart, TenSegmentsEvenAfterOneLostSyn) {
  Config config = flow_config();
  config.tcp.initial_window = tcp::InitialWindow::rfc6928;
  for (std::uint64_t losses : {1u, 2u}) {
    Kit active(config);
    active.socket_in(State::syn_sent);
    active.advance(Duration::seconds(losses == 1 ? 1 : 3));
    active.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1000});
    EXPECT_EQ(active.info().cwnd.count, losses == 1 ? 10'000u : 1000u);
  }
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-2 cwnd limits the data in flight
//# 5681:CC-7 ssthresh starts very high
//# 5681:CC-8, 5681:CC-33 at most one segment per ACK, and no more than it acknowledges
TEST(SlowStart, GrowsByAcknowledgedOctets) {
  Flow flow;
  flow.write_octets(100'000);
  EXPECT_EQ(flow.segments(), "1+1000 1001+1000 2001+1000 3001+1000");
  EXPECT_GT(flow.ssthresh(), 1u << 20);
  flow.ack(1001);
  EXPECT_EQ(flow.cwnd(), 5000u);
  EXPECT_EQ(flow.segments(), "4001+1000 5001+1000");
  flow.ack(4001);
  EXPECT_EQ(flow.cwnd(), 6000u);
  EXPECT_EQ(flow.segments(), "6001+1000 7001+1000 8001+1000 9001+1000");
  flow.ack(4101);
  EXPECT_EQ(flow.cwnd(), 6100u);
  flow.ack(4101);
  EXPECT_EQ(flow.cwnd(), 6100u);
}

// RFC 3465 2.2: one ACK for several segments counts as many as Config permits, so a receiver that
// acknowledges every eighth segment does not slow the start down.
TEST(SlowStart, OneAckCountsSeveralSegments) {
  Config config = flow_config();
  config.tcp.slow_start_segments = Count{2};
  Flow flow(config);
  flow.write_octets(100'000);
  flow.ack(1001);
  EXPECT_EQ(flow.cwnd(), 5000u);
  flow.ack(2501);
  EXPECT_EQ(flow.cwnd(), 6500u);
  flow.ack(5501);
  EXPECT_EQ(flow.cwnd(), 8500u);
}

// RFC 3465 2.3: after a timeout one segment, until all that was in flight is acknowledged. From
// there on several again, but not beyond ssthresh.
TEST(SlowStart, OneSegmentAnAckWhileLostDataIsRepaired) {
  Config config = flow_config();
  config.tcp.slow_start_segments = Count{8};
  Flow flow(config);
  flow.write_octets(500'000);
  for (std::uint32_t at = 1001; at <= 16'001; at += 1000) {
    flow.ack(at);
  }
  ASSERT_EQ(flow.flight(), 20'000u);
  flow.time_out();
  ASSERT_EQ(flow.ssthresh(), 10'000u);
  flow.ack(26'001);
  EXPECT_EQ(flow.cwnd(), 2000u);
  flow.ack(36'001);
  EXPECT_EQ(flow.cwnd(), 3000u);
  flow.segments();
  ASSERT_EQ(flow.flight(), 3000u);
  flow.ack(39'001);
  EXPECT_EQ(flow.cwnd(), 6000u);
  ASSERT_EQ(flow.flight(), 6000u);
  flow.ack(45'001);
  EXPECT_EQ(flow.cwnd(), 10'000u);
}

// Brings a flow into congestion avoidance with cwnd = ssthresh = 4000: a timeout with 8000 in
// flight.
void into_avoidance(Flow& flow) {
  flow.write_octets(500'000);
  for (std::uint32_t at = 1001; at <= 4001; at += 1000) {
    flow.ack(at);
  }
  ASSERT_EQ(flow.flight(), 8000u);
  flow.time_out();
  ASSERT_EQ(flow.ssthresh(), 4000u);
  for (std::uint32_t at = 5001; at <= 12'001; at += 1000) {
    flow.ack(at);
    if (flow.cwnd() >= 4000) {
      break;
    }
  }
  flow.segments();
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-11, 5681:CC-47 a timeout: ssthresh is half the flight
//# 5681:CC-12 and cwnd one segment
//# 5681:CC-41 slow start up to ssthresh, congestion avoidance from there
//# 5681:CC-39 below ssthresh, and at or above it
TEST(SlowStart, TraceAfterATimeout) {
  Flow flow;
  into_avoidance(flow);
  EXPECT_EQ(flow.cwnd(), 4000u);
  std::uint32_t const una = flow.acked;
  std::string trace;
  for (std::uint32_t i = 1; i <= 10; ++i) {
    flow.ack(una + 1000 * i);
    trace += std::to_string(flow.cwnd()) + " ";
  }
  EXPECT_EQ(trace, "4000 4000 4000 5000 5000 5000 5000 5000 6000 6000 ");
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-9 at most one segment per round trip
//# 5681:CC-10, 5681:CC-34 by byte counting, so that ACK division has no advantage
TEST(CongestionAvoidance, OneSegmentARoundTrip) {
  for (std::uint32_t step : {100u, 1000u, 4000u}) {
    Flow flow;
    into_avoidance(flow);
    std::uint32_t const begin = flow.acked;
    std::uint32_t const end = begin + flow.flight();
    std::uint32_t const before = flow.cwnd();
    for (std::uint32_t at = begin + step; at <= end; at += step) {
      flow.ack(at);
    }
    EXPECT_LE(flow.cwnd(), before + 1000) << step;
    EXPECT_GE(flow.cwnd(), before + (step == 4000 ? 0 : 1000)) << step;
  }
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-40 half the flight, not half of cwnd
// Predecessor, defect 9: a timeout did not reduce ssthresh.
TEST(SlowStart, Defect09_TimeoutLowersTheThreshold) {
  Flow flow;
  flow.write_octets(40'000);
  for (std::uint32_t at = 1001; at <= 40'001; at += 1000) {
    flow.ack(at);
  }
  EXPECT_EQ(flow.cwnd(), 44'000u);
  flow.write_octets(6000);
  flow.time_out();
  EXPECT_EQ(flow.ssthresh(), 3000u);
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-11 at least two segments
TEST(SlowStart, TwoSegmentsAtLeast) {
  Flow flow;
  flow.write_octets(1000);
  flow.time_out();
  EXPECT_EQ(flow.ssthresh(), 2000u);
  EXPECT_EQ(flow.cwnd(), 1000u);
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-13 a second timeout of a segment keeps ssthresh, one after fast retransmit does not
//= rfc5681#4.3
//= type=test
//# 5681:CC-31 the latter loses a retransmission: it reduces ssthresh, whatever was sent since
TEST(SlowStart, RepeatedTimeoutKeepsTheThreshold) {
  Flow flow;
  flow.write_octets(8000);
  flow.ack(1001);
  flow.ack(2001);
  EXPECT_EQ(flow.flight(), 6000u);
  flow.time_out();
  EXPECT_EQ(flow.ssthresh(), 3000u);
  flow.time_out();
  EXPECT_EQ(flow.ssthresh(), 3000u);

  Flow fast;
  fast.write_octets(100'000);
  fast.ack(1001);
  fast.duplicates(3);
  EXPECT_EQ(fast.segments(),
            "1+1000 1001+1000 2001+1000 3001+1000 4001+1000 5001+1000 "
            "6001+1000 7001+1000 1001+1000");
  EXPECT_EQ(fast.ssthresh(), 2500u);
  EXPECT_EQ(fast.flight(), 7000u);
  fast.time_out();
  EXPECT_EQ(fast.ssthresh(), 2000u);
}

//= rfc5681#2
//= type=test
//# 5681:CC-1 the peer's window limits what is sent as well
//= rfc5681#3
//= type=test
//# 5681:CC-32 new data stays within both windows in any case
TEST(SlowStart, NeverBeyondEitherWindow) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Flow flow;
    Random draw(seed);
    flow.write_octets(300'000);
    std::uint32_t highest = 1;
    for (int step = 0; step < 150; ++step) {
      std::uint32_t const una = flow.acked;
      for (Out const& out : flow.take()) {
        std::uint32_t const end = out.seq + Flow::length_of(out);
        if (end > highest) {
          std::uint32_t const limited = 2 * 1000;
          ASSERT_LE(end - una, flow.cwnd() + (flow.info().fast_recovery ? 0 : limited));
          ASSERT_LE(end, una + flow.window);
          highest = end;
        }
      }
      switch (draw.below(4)) {
        case 0:
          flow.ack_with_window(flow.acked, static_cast<std::uint16_t>(draw.below(30'000)));
          break;
        case 1:
          flow.duplicates(1);
          break;
        case 2:
          flow.advance(Duration::milliseconds(draw.below(700)));
          break;
        default:
          // The edge must not move left here: shrinking is tested elsewhere.
          flow.ack_with_window(
              flow.acked + static_cast<std::uint32_t>(draw.below(highest - flow.acked + 1)), 65535);
          break;
      }
    }
  }
}

//= rfc5681#4.1
//= type=test
//# 5681:CC-25 after an idle period longer than the RTO cwnd is the restart window
TEST(IdleRestart, AfterAPauseTheRestartWindow) {
  Flow flow;
  flow.write_octets(20'000);
  for (std::uint32_t at = 1001; at <= 20'001; at += 1000) {
    flow.ack(at);
  }
  flow.segments();
  EXPECT_EQ(flow.cwnd(), 24'000u);
  flow.advance(flow.info().rto);
  flow.write_octets(500);
  EXPECT_EQ(flow.cwnd(), 24'000u);
  flow.ack(20'501);
  flow.advance(flow.info().rto + Duration{1});
  flow.segments();
  flow.write_octets(50'000);
  EXPECT_EQ(flow.cwnd(), 4000u);
  EXPECT_EQ(flow.segments(), "20501+1000 21501+1000 22501+1000 23501+1000");
}

}  // namespace
}  // namespace lockstep::testing
