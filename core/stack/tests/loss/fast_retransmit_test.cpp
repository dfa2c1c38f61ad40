// RFC 5681 section 3.2 and RFC 6582: fast retransmit, fast recovery, partial and full ACKs.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

// Ten segments of 1000 octets in flight, 1001 is the first unacknowledged; cwnd is 10,000.
class Ten : public Flow {
 public:
  explicit Ten(const Config& config = flow_config(), std::uint32_t queued = 200'000)
      : Flow(config) {
    write_octets(queued);
    for (std::uint32_t at = 501; at <= 3001; at += 500) {
      ack(at);
    }
    EXPECT_EQ(cwnd(), 7000u);
    EXPECT_EQ(flight(), 7000u);
    segments();
  }
  std::uint32_t recover() const { return info().recover.value - device_iss.value; }
};

//= rfc5681#3.2
//= type=test
//# 5681:CC-16, 5681:CC-42 the third consecutive duplicate, before the timer
//# 5681:CC-17, 5681:CC-18 the first two send one new segment each and do not change cwnd
//# 5681:CC-20 ssthresh is half the flight without those two
//# 5681:CC-21 retransmits at SND.UNA, cwnd = ssthresh + 3 segments
//# 5681:CC-22 each further duplicate adds a segment
//= rfc6582#3.2
//= type=test
//# 6582:NR-1 recover is the highest sequence number sent
TEST(FastRetransmit, ThirdDuplicate) {
  Ten flow;
  flow.duplicates(1);
  EXPECT_EQ(flow.segments(), "10001+1000");
  EXPECT_EQ(flow.cwnd(), 7000u);
  flow.duplicates(1);
  EXPECT_EQ(flow.segments(), "11001+1000");
  EXPECT_EQ(flow.cwnd(), 7000u);
  flow.duplicates(1);
  EXPECT_EQ(flow.segments(), "3001+1000");
  EXPECT_TRUE(flow.info().fast_recovery);
  EXPECT_EQ(flow.ssthresh(), 3500u);
  EXPECT_EQ(flow.cwnd(), 6500u);
  EXPECT_EQ(flow.recover(), 12'000u);
  flow.duplicates(2);
  EXPECT_EQ(flow.cwnd(), 8500u);
  EXPECT_EQ(flow.segments(), "");
}

//= rfc5681#3.2
//= type=test
//# 5681:CC-23 new data as soon as the inflated cwnd permits
//# 5681:CC-46 inflation is limited to the flight
TEST(FastRetransmit, InflationPermitsNewData) {
  Ten flow;
  flow.duplicates(3);
  flow.segments();
  flow.duplicates(3);
  EXPECT_EQ(flow.cwnd(), 9500u);
  EXPECT_EQ(flow.segments(), "");
  flow.duplicates(1);
  EXPECT_EQ(flow.segments(), "12001+1000");
  flow.duplicates(40);
  EXPECT_LE(flow.cwnd(), flow.ssthresh() + flow.flight());
}

//= rfc5681#3.2
//= type=test
//# 5681:CC-42 an ACK that advances SND.UNA in between resets the count
TEST(FastRetransmit, NewAckBetweenDuplicates) {
  Ten flow;
  flow.duplicates(2);
  flow.ack(3501);
  flow.duplicates(2);
  EXPECT_FALSE(flow.info().fast_recovery);
  flow.duplicates(1);
  EXPECT_TRUE(flow.info().fast_recovery);
}

//= rfc5681#2
//= type=test
//# 5681:CC-38 with one of the five conditions violated: not a duplicate
TEST(FastRetransmit, NotADuplicate) {
  auto const counted = [](const In& in) {
    Ten flow;
    flow.deliver(in);
    return flow.info().duplicate_acks;
  };
  EXPECT_EQ(counted({.flags = flag::ack, .seq = 1, .ack = 3001}), 1u);
  EXPECT_EQ(counted({.flags = flag::ack, .seq = 1, .ack = 3001, .data = "x"}), 0u);
  EXPECT_EQ(counted({.flags = flag::ack | flag::fin, .seq = 1, .ack = 3001}), 0u);
  EXPECT_EQ(counted({.flags = flag::ack | flag::syn, .seq = 1, .ack = 3001}), 0u);
  EXPECT_EQ(counted({.flags = flag::ack, .seq = 1, .ack = 3000}), 0u);
  EXPECT_EQ(counted({.flags = flag::ack, .seq = 1, .ack = 3001, .window = 65534}), 0u);
  Flow idle;
  idle.auto_consume = false;
  idle.data(1, 100);
  idle.peer_next = 101;
  idle.duplicates(1);
  EXPECT_EQ(idle.info().duplicate_acks, 0u);
}

//= rfc5681#3.2
//= type=test
//# 5681:CC-24 a new ACK deflates cwnd to ssthresh
//= rfc5681#4.3
//= type=test
//# 5681:CC-30 congestion avoidance continues from there
//= rfc6582#3.2
//= type=test
//# 6582:NR-3 full ACK: min(ssthresh, max(FlightSize, SMSS) + SMSS), with much in flight
//= rfc6582#6
//= type=test
//# 6582:NR-13 which later ACKs do not reduce
TEST(NewReno, FullAckWithMuchInFlight) {
  Ten flow;
  flow.duplicates(3);
  flow.duplicates(6);
  EXPECT_EQ(flow.recover(), 12'000u);
  flow.segments();
  flow.ack(12'001);
  EXPECT_FALSE(flow.info().fast_recovery);
  EXPECT_EQ(flow.cwnd(), 3500u);
  EXPECT_EQ(flow.ssthresh(), 3500u);
  flow.ack(12'501);
  EXPECT_EQ(flow.cwnd(), 3500u);
}

//= rfc6582#3.2
//= type=test
//# 6582:NR-3 full ACK with nothing in flight: two segments
//= rfc6582#6
//= type=test
//# 6582:NR-12 so no burst follows
TEST(NewReno, FullAckWithNothingInFlight) {
  Ten flow;
  flow.duplicates(3);
  flow.segments();
  flow.ack(12'001);
  EXPECT_EQ(flow.cwnd(), 2000u);
  EXPECT_EQ(flow.segments(), "12001+1000 13001+1000");
}

//= rfc6582#3.2
//= type=test
//# 6582:NR-2 partial ACK: the next hole at once, cwnd minus the acknowledged octets plus a segment
//# 6582:NR-8 recovery continues, duplicates inflate cwnd
//= rfc5681#4.3
//= type=test
//# 5681:CC-29, 5681:CC-44 several losses in a window: one reduction, one hole per round trip
TEST(NewReno, PartialAcks) {
  Ten flow;
  flow.duplicates(3);
  EXPECT_EQ(flow.segments(), "10001+1000 11001+1000 3001+1000");
  EXPECT_EQ(flow.cwnd(), 6500u);
  flow.ack(5001);
  EXPECT_EQ(flow.segments(), "5001+1000");
  EXPECT_EQ(flow.cwnd(), 5500u);
  EXPECT_TRUE(flow.info().fast_recovery);
  flow.ack(5501);
  EXPECT_EQ(flow.segments(), "5501+1000");
  EXPECT_EQ(flow.cwnd(), 5000u);
  flow.duplicates(1);
  EXPECT_EQ(flow.cwnd(), 6000u);
  flow.ack(12'001);
  EXPECT_FALSE(flow.info().fast_recovery);
  EXPECT_EQ(flow.ssthresh(), 3500u);
}

//= rfc6582#3.2
//= type=test
//# 6582:NR-2 new data follows the hole if cwnd permits
TEST(NewReno, PartialAckSendsNewData) {
  Ten flow;
  flow.duplicates(3);
  flow.duplicates(6);
  flow.segments();
  flow.ack(11'001);
  EXPECT_EQ(flow.segments(), "11001+1000 15001+1000");
}

//= rfc6582#3.2
//= type=test
//# 6582:NR-4 only the first partial ACK restarts the timer
TEST(NewReno, OnlyTheFirstPartialAckRestartsTheTimer) {
  Ten flow;
  flow.duplicates(3);
  flow.advance(Duration::milliseconds(100));
  flow.ack(5001);
  Instant const due = flow.now + flow.info().rto;
  EXPECT_EQ(flow.info().retransmit_due, due);
  flow.advance(Duration::milliseconds(100));
  flow.ack(7001);
  EXPECT_EQ(flow.info().retransmit_due, due);
}

//= rfc6582#3.2
//= type=test
//# 6582:NR-5 a timeout: recover is the highest number sent, and recovery ends
//# 6582:NR-7 duplicates at or below it start no recovery
TEST(NewReno, TimeoutThenDuplicates) {
  Ten first;
  first.time_out();
  EXPECT_EQ(first.recover(), 10'000u);
  Ten flow;
  flow.duplicates(3);
  flow.time_out();
  EXPECT_FALSE(flow.info().fast_recovery);
  EXPECT_EQ(flow.recover(), 12'000u);
  std::uint32_t const ssthresh = flow.ssthresh();
  flow.segments();
  flow.duplicates(4);
  EXPECT_EQ(flow.segments(), "");
  EXPECT_EQ(flow.ssthresh(), ssthresh);
  EXPECT_EQ(flow.cwnd(), 1000u);
  flow.ack(12'001);
  flow.segments();
  flow.duplicates(3);
  EXPECT_FALSE(flow.info().fast_recovery);
  flow.ack(12'002);
  flow.duplicates(3);
  EXPECT_TRUE(flow.info().fast_recovery);
}

//= rfc6582#3.2
//= type=test
//# 6582:NR-6 recover starts as the ISS, which permits recovery
TEST(NewReno, FirstSegmentCanBeRecovered) {
  Flow flow;
  EXPECT_EQ(flow.info().recover, flow.info().send.iss);
  flow.write_octets(4000);
  flow.segments();
  flow.duplicates(3);
  EXPECT_EQ(flow.segments(), "1+1000");
}

//= rfc6582#6
//= type=test
//# 6582:NR-15 recovery is a separate flag: a window update does not end it
TEST(NewReno, WindowUpdateInRecovery) {
  Ten flow;
  flow.duplicates(3);
  std::uint32_t const cwnd = flow.cwnd();
  flow.ack_with_window(flow.acked, 60'000);
  EXPECT_TRUE(flow.info().fast_recovery);
  EXPECT_EQ(flow.cwnd(), cwnd);
}

//= rfc5681#4.3
//= type=test
//# 5681:CC-31 a loss in the next window, or of a retransmission, counts again
TEST(NewReno, LossesInTwoWindowsCountTwice) {
  Ten flow;
  flow.duplicates(3);
  flow.duplicates(8);
  flow.ack(12'001);
  std::uint32_t const first = flow.ssthresh();
  EXPECT_EQ(first, 3500u);
  flow.ack(13'001);
  flow.duplicates(3);
  EXPECT_TRUE(flow.info().fast_recovery);
  EXPECT_LT(flow.ssthresh(), first);

  Ten again;
  again.duplicates(3);
  again.duplicates(8);
  again.time_out();
  EXPECT_EQ(again.cwnd(), 1000u);
}

// Predecessor, defect 9: several losses in a window cost a timeout each.
TEST(NewReno, Defect09_SeveralLossesCostNoTimeout) {
  Ten flow;
  flow.duplicates(5);
  for (std::uint32_t hole = 5001; hole < 12'001; hole += 2000) {
    flow.ack(hole);
    flow.advance(Duration::milliseconds(100));
  }
  flow.ack(flow.info().send.nxt.value - flow.device_iss.value);
  EXPECT_EQ(flow.stack.statistics().tcp.timeouts, 0u);
}

// Without limited transmit the first two duplicates send nothing.
TEST(FastRetransmit, LimitedTransmitCanBeOff) {
  Config config = flow_config();
  config.tcp.limited_transmit = false;
  Ten flow(config);
  flow.duplicates(2);
  EXPECT_EQ(flow.segments(), "");
  flow.duplicates(1);
  EXPECT_EQ(flow.segments(), "3001+1000");
  EXPECT_EQ(flow.ssthresh(), 3500u);
}

Config recovering_by(tcp::FastRecovery recovery) {
  Config config = flow_config();
  config.tcp.fast_recovery = recovery;
  return config;
}

// The first ACK of new data ends Reno's recovery: the next loss of the window waits for three
// duplicates of its own, and halves the window again.
TEST(FastRecovery, RenoEndsWithTheFirstNewAck) {
  Ten flow(recovering_by(tcp::FastRecovery::reno));
  flow.duplicates(3);
  EXPECT_EQ(flow.segments(), "10001+1000 11001+1000 3001+1000");
  EXPECT_EQ(flow.cwnd(), 6500u);
  flow.ack(5001);
  EXPECT_FALSE(flow.info().fast_recovery);
  EXPECT_EQ(flow.cwnd(), 3500u);
  EXPECT_EQ(flow.segments(), "");
  flow.duplicates(3);
  EXPECT_TRUE(flow.info().fast_recovery);
  EXPECT_EQ(flow.segments(), "5001+1000");
  EXPECT_EQ(flow.ssthresh(), 2000u);
  EXPECT_EQ(flow.stack.statistics().tcp.fast_retransmits, 2u);
}

// Tahoe sends all again from the first hole on, in slow start, and answers no duplicate of that.
TEST(FastRecovery, TahoeStartsSlowly) {
  Ten flow(recovering_by(tcp::FastRecovery::tahoe));
  flow.duplicates(3);
  EXPECT_EQ(flow.segments(), "10001+1000 11001+1000 3001+1000");
  EXPECT_FALSE(flow.info().fast_recovery);
  EXPECT_EQ(flow.cwnd(), 1000u);
  EXPECT_EQ(flow.ssthresh(), 3500u);
  flow.duplicates(6);
  EXPECT_EQ(flow.segments(), "");
  flow.ack(5001);
  EXPECT_EQ(flow.cwnd(), 2000u);
  EXPECT_EQ(flow.segments(), "5001+1000 6001+1000");
  flow.ack(12'001);
  EXPECT_EQ(flow.segments(), "12001+1000 13001+1000 14001+1000");
  EXPECT_EQ(flow.stack.statistics().tcp.fast_retransmits, 1u);
  EXPECT_EQ(flow.stack.statistics().tcp.timeouts, 0u);
}

// An ACK of a zero-window probe is no sign of loss.
TEST(FastRetransmit, AnswersToProbesAreNoDuplicates) {
  Flow flow;
  flow.ack_with_window(1, 0);
  flow.write_octets(3000);
  for (int i = 0; i < 6; ++i) {
    flow.advance(Duration::seconds(60));
    flow.ack(1);
  }
  EXPECT_FALSE(flow.info().fast_recovery);
  EXPECT_EQ(flow.info().duplicate_acks, 0u);
  EXPECT_EQ(flow.stack.statistics().tcp.fast_retransmits, 0u);
}

}  // namespace
}  // namespace lockstep::testing
