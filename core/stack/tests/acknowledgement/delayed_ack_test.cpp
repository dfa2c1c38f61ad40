// RFC 9293 3.8.6.3 and RFC 5681 4.2: when ACKs are sent, and how many.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"
#include "core/units/random.hpp"

namespace lockstep::testing {
namespace {

constexpr Duration ms(std::uint64_t count) { return Duration::milliseconds(count); }

// Segment number `i` of the peer, 1000 octets each.
In thousand(std::uint32_t i) {
  std::uint32_t const from = 1 + 1000 * i;
  return {.flags = flag::ack, .seq = from, .ack = 1, .data = octets(from, 1000)};
}

//= rfc9293#3.8.6.3
//= type=test
//# 9293:MUST-40, 9293:SHLD-18 a single segment is acknowledged exactly after the delay
//= rfc5681#4.2
//= type=test
//# 5681:CC-26, 5681:CC-37 counted from the first unacknowledged segment
TEST(DelayedAck, LoneSegment) {
  Flow flow;
  flow.data(1, 1000);
  EXPECT_EQ(flow.sent(), "");
  EXPECT_EQ(flow.info().delayed_ack_due, flow.now + ms(200));
  flow.advance(ms(100));
  flow.data(1001, 100);
  EXPECT_EQ(flow.sent(), "");
  flow.advance(ms(100) - Duration{1});
  EXPECT_EQ(flow.sent(), "");
  flow.advance(Duration{1});
  EXPECT_EQ(flow.sent(), "A 1(0) ack 1101");
  EXPECT_TRUE(flow.info().delayed_ack_due.is_never());
}

// Config refuses half a second or more.
//= rfc9293#3.8.6.3
//= type=test
//# 9293:MUST-40 less than 0.5 s
//= rfc5681#4.2
//= type=test
//# 5681:CC-37 within 500 ms
TEST(DelayedAck, HalfASecondIsRefused) {
  Config config = flow_config();
  config.tcp.delayed_ack = ms(500);
  EXPECT_EQ(fault_of(config), "delayed_ack");
  config.tcp.delayed_ack = ms(500) - Duration{1};
  EXPECT_EQ(fault_of(config), "");
}

//= rfc9293#3.8.6.3
//= type=test
//# 9293:SHLD-19 every second full-sized segment
//= rfc5681#4.2
//= type=test
//# 5681:CC-27, 5681:CC-43 or every 2 * RMSS octets if segments are small
TEST(DelayedAck, EverySecondFullSizedSegment) {
  Flow flow;
  flow.data(1, 1000);
  EXPECT_EQ(flow.sent(), "");
  flow.data(1001, 1000);
  EXPECT_EQ(flow.sent(), "A 1(0) ack 2001");
  for (std::uint32_t i = 0; i < 19; ++i) {
    flow.data(2001 + 100 * i, 100);
  }
  EXPECT_EQ(flow.sent(), "");
  flow.data(3901, 100);
  EXPECT_EQ(flow.sent(), "A 1(0) ack 4001");
}

// If all of the peer's segments are small, every second one is acknowledged.
TEST(DelayedAck, SmallSegmentsAreFullSizedIfNoneIsLarger) {
  Flow flow;
  flow.data(1, 100);
  flow.data(101, 100);
  EXPECT_EQ(flow.sent(), "A 1(0) ack 201");
}

TEST(DelayedAck, CanBeSwitchedOff) {
  Flow flow;
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::delayed_ack, 0}), Refusal::none);
  flow.data(1, 10);
  EXPECT_EQ(flow.sent(), "A 1(0) ack 11");
}

//= rfc9293#3.8.6.3
//= type=test
//# 9293:P-DELACK-OOO at once above a gap, and when a gap is filled
//= rfc5681#3.2
//= type=test
//# 5681:CC-14, 5681:CC-15 a duplicate ACK for an out-of-order segment, an ACK when a gap is filled
//= rfc6582#5
//= type=test
//# 6582:NR-11 even if it is only partly filled
TEST(DelayedAck, GapsAreAcknowledgedAtOnce) {
  Flow flow;
  flow.data(1, 100);
  EXPECT_EQ(flow.sent(), "");
  flow.data(201, 100);
  EXPECT_EQ(flow.sent(), "A 1(0) ack 101");
  flow.data(401, 100);
  EXPECT_EQ(flow.sent(), "A 1(0) ack 101");
  flow.data(101, 100);
  EXPECT_EQ(flow.sent(), "A 1(0) ack 301");
  flow.data(301, 50);
  EXPECT_EQ(flow.sent(), "A 1(0) ack 351");
  flow.data(351, 50);
  EXPECT_EQ(flow.sent(), "A 1(0) ack 501");
  flow.data(501, 100);
  EXPECT_EQ(flow.sent(), "");
}

// The duplicate ACK is sent at once and replaces the delayed ACK.
TEST(DelayedAck, TheDuplicateReplacesTheDelayedAck) {
  Flow flow;
  flow.data(1, 100);
  flow.data(1, 100);
  EXPECT_EQ(flow.sent(), "A 1(0) ack 101");
  flow.advance(Duration::seconds(1));
  EXPECT_EQ(flow.sent(), "");
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-TEXT-PIGGY data carries the ACK
//# 9293:P-TEXT-ACK <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>
TEST(DelayedAck, RidesOnData) {
  Flow flow;
  flow.data(1, 100);
  flow.write_octets(5);
  EXPECT_EQ(flow.sent(), "PA 1(5) ack 101");
  flow.advance(ms(999));
  EXPECT_EQ(flow.sent(), "");
}

//= rfc5681#4.2
//= type=test
//# 5681:CC-28 at most one ACK per segment, apart from window updates
TEST(DelayedAck, NeverMoreThanOnePerSegment) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random draw(seed);
    Flow flow;
    std::uint32_t segments = 0;
    std::size_t acks = 0;
    std::uint32_t window = 0;
    for (int i = 0; i < 200; ++i) {
      auto const burst = static_cast<std::uint32_t>(1 + draw.below(6));
      std::uint32_t const next = flow.info().receive.nxt.value - flow.peer_iss.value;
      for (std::uint32_t k = 0; k < burst; ++k) {
        auto const from = static_cast<std::uint32_t>(next > 2000 ? next - 2000 + draw.below(6000)
                                                                 : 1 + draw.below(4000));
        auto const count = static_cast<std::uint32_t>(1 + draw.below(1000));
        flow.send({.flags = flag::ack, .seq = from, .ack = 1, .data = octets(from, count)});
      }
      flow.turn();
      segments += burst;
      acks += flow.take().size();
      window = flow.info().receive.wnd.count;
    }
    flow.advance(Duration::seconds(1));
    acks += flow.take().size();
    EXPECT_LE(acks, segments) << seed;
    EXPECT_GT(window, 0u);
  }
}

//= rfc9293#3.10.7.4
//= type=test
//# 9293:MUST-58 the ACKs of a burst are aggregated ...
//# 9293:MUST-59 ... after the whole burst was processed
TEST(DelayedAck, OneAckForABurst) {
  Config config = flow_config();
  config.tcp.ack_stretch_segments = Count{64};
  config.tcp.ack_stretch_after = {};
  Flow flow(config);
  for (std::uint32_t i = 0; i < 32; ++i) {
    flow.send(thousand(i));
  }
  flow.turn();
  EXPECT_EQ(flow.sent(), "A 1(0) ack 32001");
}

// Only the bare configuration merges more than two, as receive offload does.
TEST(DelayedAck, ProfilesBoundTheStretch) {
  for (Config const& config : {profile_rfc(), profile_linux(), profile_freebsd()}) {
    EXPECT_EQ(config.tcp.ack_stretch_segments.value, 2u);
  }
  Config config = flow_config();
  config.tcp.ack_stretch_segments = Config{}.tcp.ack_stretch_segments;
  config.tcp.ack_stretch_after = {};
  Flow flow(config);
  for (std::uint32_t i = 0; i < 10; ++i) {
    flow.send(thousand(i));
  }
  flow.turn();
  EXPECT_EQ(flow.sent(), "A 1(0) ack 8001; A 1(0) ack 10001");
}

// A sender in slow start counts ACKs: it gets one for every two segments until its window has
// grown, and again after a gap and after a pause.
TEST(DelayedAck, NoStretchForASenderInSlowStart) {
  Config config = flow_config();
  config.tcp.ack_stretch_segments = Count{8};
  config.tcp.ack_stretch_after = Bytes{8000};
  Flow flow(config);
  std::uint32_t next = 0;
  auto const burst = [&](std::uint32_t segments) {
    for (std::uint32_t i = 0; i < segments; ++i) {
      flow.send(thousand(next));
      ++next;
    }
    flow.turn();
    return flow.take().size();
  };
  EXPECT_EQ(burst(4), 2u);
  EXPECT_EQ(burst(4), 1u);  // 8000 octets arrived with the last of them
  EXPECT_EQ(burst(4), 1u);
  flow.send(thousand(next + 1));  // a gap
  flow.turn();
  EXPECT_EQ(burst(1), 2u);  // the duplicate, and the segment that filled the gap
  ++next;
  EXPECT_EQ(burst(4), 2u);
  EXPECT_EQ(burst(4), 1u);
  flow.advance(config.tcp.rto_min + Duration{1});  // a pause
  EXPECT_EQ(burst(4), 2u);
}

// A segment that fills a gap releases more octets than it contains: only its own octets count for
// "full-sized".
TEST(DelayedAck, AFilledGapDoesNotCountAsSegmentSize) {
  Flow flow;
  for (std::uint32_t const i : {1u, 0u}) {
    flow.send(thousand(i));
    flow.turn();
  }
  static_cast<void>(flow.take());
  flow.send(thousand(2));
  flow.send(thousand(3));
  flow.turn();
  EXPECT_EQ(flow.sent(), "A 1(0) ack 4001");
}

// In profile rfc one ACK for every two segments, each with the number of its second segment.
TEST(DelayedAck, StretchIsBounded) {
  Flow flow;
  for (std::uint32_t i = 0; i < 6; ++i) {
    flow.send(thousand(i));
  }
  flow.turn();
  EXPECT_EQ(flow.sent(), "A 1(0) ack 2001; A 1(0) ack 4001; A 1(0) ack 6001");
}

// Three duplicates in one burst cause three ACKs: if merged, fast retransmit would not start.
TEST(DelayedAck, DuplicatesAreNotMerged) {
  Flow flow;
  for (std::uint32_t i = 1; i <= 3; ++i) {
    flow.send(thousand(i));
  }
  flow.turn();
  EXPECT_EQ(flow.sent(), "A 1(0) ack 1; A 1(0) ack 1; A 1(0) ack 1");
}

// ... unless the gap is filled in the same burst: then they would be obsolete.
TEST(DelayedAck, FilledGapCancelsDuplicates) {
  Flow flow;
  for (std::uint32_t i : {1u, 2u, 0u}) {
    flow.send(thousand(i));
  }
  flow.turn();
  EXPECT_EQ(flow.sent(), "A 1(0) ack 3001");
}

// A full pool merges ACKs and counts them; none is lost.
TEST(DelayedAck, FullPoolMerges) {
  Config config = flow_config();
  config.tcp.owed_max = Count{2};
  Flow flow(config);
  for (std::uint32_t i = 1; i <= 5; ++i) {
    flow.send(thousand(i));
  }
  flow.turn();
  EXPECT_EQ(flow.sent(), "A 1(0) ack 1; A 1(0) ack 1; A 1(0) ack 1");
  EXPECT_EQ(flow.stack.statistics().tcp.acks_merged, 3u);
}

// Profile linux acknowledges the first segments at once, but not those after 2 GiB again.
TEST(DelayedAck, QuickAcksAreForTheBeginning) {
  Config config = flow_config();
  set_mtu(config, Bytes{65'535});
  config.tcp.quick_acks = Count{16};
  Flow flow(config, {.mss = 65'495});
  flow.data(1, 1000);
  EXPECT_EQ(flow.sent(), "A 1(0) ack 1001");
  std::string const content(60'000, 'x');
  std::uint32_t at = 1001;
  for (int i = 0; i != 36'000; ++i) {
    flow.deliver({.flags = flag::ack, .seq = at, .ack = 1, .data = content});
    at += 60'000;
    flow.received.clear();
    flow.events.clear();
    flow.take();
  }
  flow.advance(ms(500));
  flow.take();
  flow.deliver({.flags = flag::ack, .seq = at, .ack = 1, .data = "ten octets"});
  EXPECT_EQ(flow.sent(), "");
  flow.advance(ms(200));
  EXPECT_EQ(flow.sent(), "A 1(0) ack " + std::to_string(at + 10));
}

// The pace of profile linux, with an RTT of 100 ms.
Config paced() {
  Config config = flow_config();
  config.tcp.quick_acks = Count{16};
  config.tcp.delayed_ack = ms(40);
  return config;
}

struct PacedFlow : Flow {
  PacedFlow() : Flow(paced()) {}

  std::uint32_t next = 1;
  // A segment of `octets` after `pause`; what is sent at once.
  std::string segment(Duration pause, std::uint32_t octets = 100) {
    advance(pause);
    take();
    data(next, octets);
    next += octets;
    return sent();
  }
};

TEST(AckPace, TheFirstSixteenLeaveAtOnceAndThenEachWaits) {
  PacedFlow flow;
  for (int i = 0; i != 16; ++i) {
    std::string const sent = flow.segment(ms(10));
    EXPECT_EQ(sent, "A 1(0) ack " + std::to_string(flow.next)) << i;
  }
  EXPECT_EQ(flow.segment(ms(10)), "");
  flow.advance(ms(40));
  EXPECT_EQ(flow.sent(), "A 1(0) ack " + std::to_string(flow.next));
}

TEST(AckPace, ThePausesBeginWithTheConfiguredDelay) {
  for (std::uint64_t const delay : {10u, 100u, 400u}) {
    Config config = paced();
    config.tcp.delayed_ack = ms(delay);
    config.tcp.rto_min = Duration::seconds(1);
    Flow flow(config);
    std::uint32_t next = 1;
    for (int i = 0; i != 17; ++i) {
      flow.take();
      flow.data(next, 100);
      next += 100;
    }
    EXPECT_EQ(flow.sent(), "");
    flow.advance(ms(delay) - Duration{1});
    EXPECT_EQ(flow.sent(), "");
    flow.advance(Duration{1});
    EXPECT_EQ(flow.sent(), "A 1(0) ack " + std::to_string(next)) << delay;
  }
}

TEST(AckPace, AnAnswerWithinThePeersPausesMeansThatAcksWait) {
  PacedFlow flow;
  EXPECT_EQ(flow.segment(ms(10)), "A 1(0) ack 101");
  flow.advance(ms(39));
  flow.write("soon");
  EXPECT_EQ(flow.sent(), "PA 1(4) ack 101");
  EXPECT_EQ(flow.segment(ms(10)), "");

  PacedFlow late;
  EXPECT_EQ(late.segment(ms(10)), "A 1(0) ack 101");
  late.advance(ms(40));
  late.write("late");
  EXPECT_EQ(late.sent(), "PA 1(4) ack 101");
  EXPECT_EQ(late.segment(ms(10)), "A 5(0) ack 201");
}

TEST(AckPace, ACopyOfOldDataBeginsAnew) {
  PacedFlow flow;
  flow.segment(ms(10));
  flow.write("soon");
  flow.take();
  EXPECT_EQ(flow.segment(ms(10)), "");
  flow.advance(ms(50));
  flow.take();
  flow.data(1, 100);
  EXPECT_EQ(flow.sent(), "A 5(0) ack 201");
  EXPECT_EQ(flow.segment(ms(10)), "A 5(0) ack 301");
}

// The ACK of data is taken back for its FIN, but not what it reports.
TEST(AckPace, AFinKeepsTheReportOfADuplicate) {
  Config config = paced();
  config.tcp.sack = true;
  config.tcp.dsack = true;
  Flow flow(config, {.mss = 1000, .sack = true});
  flow.data(1, 100);
  EXPECT_EQ(flow.sent(), "A 1(0) ack 101");
  flow.deliver(
      {.flags = flag::fin | flag::ack, .seq = 51, .ack = 1, .data = std::string(150, 'x')});
  flow.advance(ms(200));
  std::vector<Out> const sent = flow.take();
  ASSERT_FALSE(sent.empty());
  EXPECT_EQ(sent.back().ack, 202u);
  EXPECT_EQ(sent.front().sack, "51-101");
}

TEST(AckPace, ThePeersFinInEstablishedWaitsForTheAnswer) {
  PacedFlow flow;
  flow.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(flow.sent(), "");
  ASSERT_EQ(flow.stack.finish(flow.id), Refusal::none);
  flow.turn();
  EXPECT_EQ(flow.sent(), "FA 1(0) ack 2");

  PacedFlow idle;
  idle.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 1});
  idle.advance(ms(40));
  EXPECT_EQ(idle.sent(), "A 1(0) ack 2");
}

}  // namespace
}  // namespace lockstep::testing
