// Loss recovery by SACK on the wire: RFC 6675, limited transmit, timeouts, invalid blocks.
#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

Config sack_config() {
  Config config = flow_config();
  config.tcp.sack = true;
  config.tcp.initial_window = tcp::InitialWindow::rfc6928;
  return config;
}

Peer sacking() {
  Peer peer;
  peer.sack = true;
  return peer;
}

// Ten segments of 1000 octets are in flight: 1, 1001, ... 9001.
class Sender : public Flow {
 public:
  explicit Sender(const Config& config = sack_config(), const Peer& with = sacking())
      : Flow(config, with) {
    write_octets(100'000);
    EXPECT_EQ(segments(),
              "1+1000 1001+1000 2001+1000 3001+1000 4001+1000 5001+1000 6001+1000 "
              "7001+1000 8001+1000 9001+1000");
  }
  std::uint32_t pipe() const { return info().pipe.count; }
};

//= rfc6675#5
//= type=test
//# 6675:S6675-20 two SACKs of one segment each permit two new ones: cwnd - pipe
//= rfc3042#2
//= type=test
//# 3042:LTX-1, 3042:LTX-2, 3042:LTX-4 cwnd does not change; the third triggers fast retransmit
TEST(SackRecovery, LimitedTransmit) {
  Sender sender;
  sender.sack(1, {{1001, 2001}});
  EXPECT_EQ(sender.segments(), "10001+1000");
  EXPECT_EQ(sender.cwnd(), 10'000u);
  sender.sack(1, {{1001, 3001}});
  EXPECT_EQ(sender.segments(), "11001+1000");
  EXPECT_EQ(sender.cwnd(), 10'000u);
  sender.sack(1, {{1001, 4001}});
  EXPECT_EQ(sender.segments(), "1+1000");
}

TEST(SackRecovery, LimitedTransmitOff) {
  Config config = sack_config();
  config.tcp.limited_transmit = false;
  Sender sender(config);
  sender.sack(1, {{1001, 3001}});
  EXPECT_EQ(sender.segments(), "");
}

//= rfc3042#2
//= type=test
//# 3042:LTX-3 a duplicate without new SACK information permits nothing
//= rfc5681#3.2
//= type=test
//# 5681:CC-19 nor is it counted
TEST(SackRecovery, DuplicatesWithoutNewSacksHaveNoEffect) {
  Sender sender;
  sender.sack(1, {{1001, 2001}});
  EXPECT_EQ(sender.segments(), "10001+1000");
  for (int i = 0; i < 5; ++i) {
    sender.sack(1, {{1001, 2001}});
    sender.duplicates(1);
  }
  EXPECT_EQ(sender.segments(), "");
  EXPECT_FALSE(sender.info().fast_recovery);
}

//= rfc6675#5
//= type=test
//# 6675:S6675-9 ssthresh and cwnd are half the flight, the first segment is sent at once
//# 6675:S6675-29 without the segments of limited transmit
//# 6675:S6675-11, 6675:S6675-22, 6675:S6675-24 and then as much as cwnd - pipe permits
//= rfc2018#5.1
//= type=test
//# 2018:SACK-10 cwnd is halved as by any loss
//= rfc6675#4
//= type=test
//# 6675:S6675-2, 6675:S6675-15 pipe: data neither SACKed nor lost, plus retransmissions
TEST(SackRecovery, OneLoss) {
  Sender sender;
  sender.sack(1, {{1001, 2001}});
  sender.sack(1, {{1001, 3001}});
  EXPECT_EQ(sender.segments(), "10001+1000 11001+1000");
  sender.sack(1, {{1001, 4001}});
  EXPECT_EQ(sender.segments(), "1+1000");
  EXPECT_TRUE(sender.info().fast_recovery);
  EXPECT_EQ(sender.ssthresh(), 5000u);
  EXPECT_EQ(sender.cwnd(), 5000u);
  EXPECT_EQ(sender.pipe(), 9000u);
  for (std::uint32_t end = 5001; end <= 8001; end += 1000) {
    sender.sack(1, {{1001, end}});
    EXPECT_EQ(sender.segments(), "") << end;
  }
  EXPECT_EQ(sender.pipe(), 5000u);
  sender.sack(1, {{1001, 9001}});
  EXPECT_EQ(sender.segments(), "12001+1000");
  sender.sack(1, {{1001, 10001}});
  EXPECT_EQ(sender.segments(), "13001+1000");
  sender.ack(12'001);
  EXPECT_FALSE(sender.info().fast_recovery);
  EXPECT_EQ(sender.cwnd(), 5000u);
  EXPECT_EQ(sender.segments(), "14001+1000 15001+1000 16001+1000");
}

// With SACK off and the same ACKs, NewReno repairs one loss per round trip.
TEST(SackRecovery, SeveralLossesInOneRoundTrip) {
  for (bool const on : {true, false}) {
    Config config = sack_config();
    config.tcp.sack = on;
    Sender sender(config);
    // 1, 3001 and 5001 are lost.
    sender.sack(1, {{1001, 2001}});
    sender.sack(1, {{1001, 3001}});
    sender.sack(1, {{4001, 5001}, {1001, 3001}});
    EXPECT_EQ(sender.segments(), "10001+1000 11001+1000 1+1000");
    sender.sack(1, {{6001, 7001}, {4001, 5001}, {1001, 3001}});
    sender.sack(1, {{6001, 8001}, {4001, 5001}, {1001, 3001}});
    sender.sack(1, {{6001, 9001}, {4001, 5001}, {1001, 3001}});
    EXPECT_EQ(sender.segments(), on ? "3001+1000" : "") << on;
    sender.sack(1, {{6001, 10001}, {4001, 5001}, {1001, 3001}});
    EXPECT_EQ(sender.segments(), on ? "5001+1000" : "") << on;
  }
}

//= rfc6675#4
//= type=test
//# 6675:S6675-3, 6675:S6675-4 lost: three ranges above it, or more than two segments' worth
//= rfc6675#5
//= type=test
//# 6675:S6675-18 either starts recovery
//= rfc2018#5.1
//= type=test
//# 2018:SACK-19 a single small report does not
TEST(SackRecovery, WhatIsLost) {
  // More than two segments' worth in one ACK.
  Sender one;
  one.sack(1, {{1001, 3001}});
  EXPECT_FALSE(one.info().fast_recovery);
  Sender much;
  much.sack(1, {{1001, 3002}});
  EXPECT_TRUE(much.info().fast_recovery);
  EXPECT_EQ(much.info().lost.count, 0u);  // the first segment was retransmitted
  // Three ranges of an octet each.
  Sender ranges;
  ranges.sack(1, {{1001, 1002}, {2001, 2002}});
  EXPECT_FALSE(ranges.info().fast_recovery);
  Sender three;
  three.sack(1, {{1001, 1002}, {2001, 2002}, {3001, 3002}});
  EXPECT_TRUE(three.info().fast_recovery);
  // Three duplicates of any size.
  Sender small;
  small.sack(1, {{1001, 1002}});
  small.sack(1, {{1001, 1003}});
  EXPECT_FALSE(small.info().fast_recovery);
  small.sack(1, {{1001, 1004}});
  EXPECT_TRUE(small.info().fast_recovery);
}

//= rfc6675#2
//= type=test
//# 6675:S6675-13 a new window or data with the SACK does not matter
//= rfc6675#5
//= type=test
//# 6675:S6675-17 an ACK of new data resets the count
TEST(SackRecovery, WhatIsADuplicate) {
  Sender sender;
  sender.sack(1, {{2001, 2101}});
  sender.window = 60'000;
  sender.sack(1, {{2001, 2201}});
  sender.deliver({.flags = flag::ack,
                  .seq = 1,
                  .ack = 1,
                  .data = octets(1, 10),
                  .window = 60'000,
                  .sack = {{2001, 2301}}});
  EXPECT_TRUE(sender.info().fast_recovery);
  Sender anew;
  anew.sack(1, {{2001, 2101}});
  anew.sack(1, {{2001, 2201}});
  anew.sack(1001, {{2001, 2301}});
  EXPECT_EQ(anew.info().duplicate_acks, 1u);
  EXPECT_FALSE(anew.info().fast_recovery);
}

//= rfc6675#5
//= type=test
//# 6675:S6675-10 recovery ends with an ACK of RecoveryPoint, not earlier
//# 6675:S6675-19 SACKed data above it stays on the scoreboard
//# 6675:S6675-21 partial ACKs continue recovery
TEST(SackRecovery, EndsAtRecoveryPoint) {
  Sender sender;
  sender.sack(1, {{1001, 4001}});
  EXPECT_EQ(sender.segments(), "1+1000");
  sender.sack(4001, {{5001, 10001}});
  EXPECT_TRUE(sender.info().fast_recovery);
  EXPECT_EQ(sender.segments(), "4001+1000 10001+1000 11001+1000 12001+1000 13001+1000");
  sender.sack(10'001, {{11'001, 12'001}});
  EXPECT_FALSE(sender.info().fast_recovery);
  EXPECT_EQ(sender.info().sacked.count, 1000u);
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-11 data SACKed in a long recovery does not count as in flight: no loss raises cwnd
TEST(SackRecovery, LossAfterALongRecovery) {
  Sender sender;
  sender.sack(1, {{1001, 4001}});
  EXPECT_EQ(sender.ssthresh(), 5000u);
  // 10001 is lost, too, and retransmitted in this recovery, which continues because 1 is lost
  // again.
  for (std::uint32_t end = 12'001; end <= 26'001; end += 1000) {
    sender.sack(1, {{11'001, end}, {1001, 10'001}});
  }
  sender.sack(10'001, {{11'001, 26'001}});
  EXPECT_FALSE(sender.info().fast_recovery);
  EXPECT_EQ(sender.cwnd(), 5000u);
  EXPECT_EQ(sender.flight(), 20'000u);
  sender.sack(10'001, {{27'001, 30'001}, {11'001, 26'001}});
  EXPECT_TRUE(sender.info().fast_recovery);
  EXPECT_EQ(sender.ssthresh(), 2500u);
}

//= rfc6675#5
//= type=test
//# 6675:S6675-23 each retransmission advances HighRxt: nothing is sent twice
//= rfc2018#5
//= type=test
//# 2018:SACK-18 SACKed data is skipped
TEST(SackRecovery, HolesAreRetransmittedOnceEach) {
  Sender sender;
  sender.sack(1, {{8001, 10001}, {6001, 7001}, {4001, 5001}});
  EXPECT_EQ(sender.segments(), "1+1000 1001+1000 2001+1000 3001+1000");
  sender.sack(1001, {{8001, 10001}, {6001, 7001}, {4001, 5001}});
  EXPECT_EQ(sender.segments(), "5001+1000");
  sender.sack(2001, {{8001, 10001}, {6001, 7001}, {4001, 5001}});
  EXPECT_EQ(sender.segments(), "10001+1000");
}

//= rfc6675#4
//= type=test
//# 6675:S6675-5 new data if nothing more is lost
//# 6675:S6675-6 without new data what is below the highest SACKed octet
TEST(SackRecovery, RulesOfNextSegment) {
  Flow sender(sack_config(), sacking());
  sender.write_octets(6000);
  sender.take();
  // 1 is lost; 3001 may be: there is only one range of one segment above it.
  sender.sack(1, {{1001, 3001}, {4001, 5001}});
  EXPECT_EQ(sender.segments(), "1+1000");
  sender.sack(3001, {{4001, 5001}});
  EXPECT_EQ(sender.segments(), "3001+1000");
}

// The duplicates of three small messages start a recovery before IsLost holds for its first
// segment.
//= rfc6675#4
//= type=test
//# 6675:S6675-4 which is not above HighRxt when it does
TEST(SackRecovery, TheFirstSegmentIsRetransmittedOnce) {
  Sender sender;
  std::string left;
  for (std::uint32_t end = 3301; end <= 9901; end += 300) {
    sender.sack(1, {{3001, end}});
    for (Out const& segment : sender.take()) {
      left += segment.seq < 3001 ? std::to_string(segment.seq) + " " : "";
    }
  }
  EXPECT_EQ(left, "1 1001 2001 ");
}

// Each SACK of a small message frees room for another one, but not for a segment of lost data.
//= rfc6675#4
//= type=test
//# 6675:S6675-4, 6675:S6675-5 new data waits until what is lost was retransmitted
TEST(SackRecovery, SmallMessagesWaitForLostData) {
  for (bool const rack : {false, true}) {
    for (bool const prr : {false, true}) {
      Config config = sack_config();
      config.tcp.nagle = false;
      config.tcp.rack = rack;
      config.tcp.prr = prr;
      Peer peer = sacking();
      peer.round_trip = Duration::milliseconds(100);
      Flow sender(config, peer);
      for (std::uint32_t i = 0; i < 33; ++i) {
        sender.write_octets(300);
      }
      EXPECT_EQ(sender.take().size(), 33u);
      sender.advance(Duration::milliseconds(100));
      // The first ten are lost.
      std::string left;
      for (std::uint32_t end = 3301; end <= 9901; end += 300) {
        sender.sack(1, {{3001, end}});
        bool const lost = sender.info().fast_recovery;
        sender.write_octets(lost ? 300 : 0);
        std::string const more = sender.segments();
        left += left.empty() || more.empty() ? more : " " + more;
        sender.advance(Duration::milliseconds(1));
      }
      // Then several messages share a segment.
      EXPECT_EQ(left, "1+1000 1001+1000 2001+1000 9901+1000") << rack << prr;
    }
  }
}

//= rfc6675#4
//= type=test
//# 6675:S6675-7 one rescue, with the highest missing octet
//# 6675:S6675-16 and then nothing
//# 6675:S6675-28 it does not advance HighRxt
TEST(SackRecovery, Rescue) {
  Flow sender(sack_config(), sacking());
  sender.write_octets(8000);
  sender.take();
  // 1, 6001 and 7001 are lost.
  sender.sack(1, {{1001, 6001}});
  EXPECT_EQ(sender.segments(), "1+1000");
  sender.ack(6001);
  EXPECT_EQ(sender.segments(), "7001+1000");
  sender.sack(6001, {{7001, 7501}});
  EXPECT_EQ(sender.segments(), "6001+1000");
  sender.sack(6001, {{7001, 7601}});
  EXPECT_EQ(sender.segments(), "");
}

//= rfc6675#4
//= type=test
//# 6675:S6675-1 SACKed octets stay in the queue
//= rfc2018#8
//= type=test
//# 2018:SACK-12 until they are cumulatively acknowledged
TEST(SackRecovery, SackedIsKept) {
  Sender sender;
  sender.sack(1, {{1001, 10'001}});
  EXPECT_EQ(sender.info().send.queued.count, 100'000u);
}

//= rfc2018#5
//= type=test
//# 2018:SACK-8, 2018:SACK-9 a timeout discards all SACKs; the first segment is retransmitted
//= rfc2018#5.1
//= type=test
//# 2018:SACK-16 SACKed data is retransmitted
//= rfc6675#5.1
//= type=test
//# 6675:S6675-12, 6675:S6675-25 recovery ends, and none starts before HighData is acknowledged
//# 6675:S6675-26 data SACKed afterwards is skipped
TEST(SackRecovery, Timeout) {
  Sender sender;
  sender.sack(1, {{1001, 4001}});
  EXPECT_EQ(sender.segments(), "1+1000");
  sender.time_out();
  EXPECT_EQ(sender.segments(), "1+1000");
  EXPECT_FALSE(sender.info().fast_recovery);
  EXPECT_EQ(sender.cwnd(), 1000u);
  EXPECT_EQ(sender.info().sacked.count, 0u);
  sender.ack(1001);
  EXPECT_EQ(sender.segments(), "1001+1000 2001+1000");
  sender.sack(3001, {{4001, 6001}});
  EXPECT_EQ(sender.segments(), "3001+1000 6001+1000 7001+1000");
  for (std::uint32_t end = 6101; end < 6501; end += 100) {
    sender.sack(3001, {{4001, end}});
  }
  EXPECT_FALSE(sender.info().fast_recovery);
}

// NewReno for the same loss: all is retransmitted.
TEST(SackRecovery, TimeoutWithoutSack) {
  Config config = sack_config();
  config.tcp.sack = false;
  Sender sender(config);
  sender.time_out();
  EXPECT_EQ(sender.segments(), "1+1000");
  sender.ack(1001);
  EXPECT_EQ(sender.segments(), "1001+1000 2001+1000");
  sender.sack(3001, {{4001, 6001}});
  EXPECT_EQ(sender.segments(), "3001+1000 4001+1000 5001+1000");
}

//= rfc6675#3
//= type=test
//# 6675:S6675-14 any octets, independent of segment boundaries
//= rfc6675#5
//= type=test
//# 6675:S6675-8 every block counts
//= rfc2018#5
//= type=test
//# 2018:SACK-7 and is stored
TEST(SackRecovery, BlocksOfAnySize) {
  Sender sender;
  sender.sack(1, {{1501, 1601}, {2999, 3003}});
  EXPECT_EQ(sender.info().sacked.count, 104u);
  sender.sack(1, {{1551, 3001}});
  EXPECT_EQ(sender.info().sacked.count, 1502u);
}

//= rfc2883#5
//= type=test
//# 2883:DSACK-8, 2883:DSACK-2 a first block below the ACK, or in the second block, marks nothing
TEST(SackRecovery, ReportsOfDuplicatesMarkNothing) {
  Sender sender;
  sender.ack(3001);
  sender.take();
  // A delayed ACK: its block is above SND.UNA of its time, but below the current one.
  sender.sack(1001, {{1, 1001}});
  sender.sack(3001, {{2001, 3001}});
  EXPECT_EQ(sender.info().sacked.count, 0u);
  sender.sack(3001, {{5001, 6001}, {5001, 7001}});
  EXPECT_EQ(sender.info().sacked.count, 2000u);
  EXPECT_EQ(sender.stack.statistics().tcp.sacks_ignored, 0u);
}

// Invalid blocks: data never sent, acknowledged data, empty and reversed ones.
TEST(SackRecovery, InvalidBlocksAreIgnored) {
  Sender sender;
  sender.ack(2001);
  sender.take();
  std::uint32_t const ranges = sender.info().ranges;
  sender.sack(2001, {{50'001, 60'001}});
  sender.sack(2001, {{3001, 50'001}});
  sender.sack(2001, {{5001, 5001}, {4001, 3001}});
  sender.sack(2001, {{1, 1001}});
  sender.sack(2001, {{3001, 3500}, {1, 4001}});
  sender.sack(2001, {{3001, 3500}, {2001, 4001}});
  EXPECT_EQ(sender.info().sacked.count, 0u);
  EXPECT_LE(sender.info().ranges, ranges + 1);
  EXPECT_FALSE(sender.info().fast_recovery);
  EXPECT_EQ(sender.stack.statistics().tcp.sacks_ignored, 4u);
}

// A peer that reneges: the timer retransmits the data.
TEST(SackRecovery, Reneging) {
  Sender sender;
  sender.sack(1, {{1001, 10'001}});
  EXPECT_EQ(sender.segments().substr(0, 6), "1+1000");
  sender.ack(1001);
  sender.take();
  sender.time_out();
  EXPECT_EQ(sender.segments(), "1001+1000");
}

// Thousands of one-octet blocks: a bounded number of ranges; the oldest information is discarded.
TEST(SackRecovery, TinyBlocks) {
  Config config = sack_config();
  config.tcp.sent_per_connection = Count{8};
  Sender sender(config);
  for (std::uint32_t at = 1101; at < 9001; at += 2) {
    sender.sack(1, {{at, at + 1}});
    ASSERT_LE(sender.info().ranges, 8u);
  }
  EXPECT_GT(sender.stack.statistics().tcp.sacks_forgotten, 0u);
  sender.ack(10'001);
  EXPECT_FALSE(sender.info().fast_recovery);
}

// Without any record NewReno repairs.
TEST(SackRecovery, WithoutRecords) {
  Config config = sack_config();
  config.tcp.sent_per_connection = Count{1};
  Sender sender(config);
  for (std::uint32_t end = 2001; end <= 9001; end += 1000) {
    sender.sack(1, {{1001, end}});
  }
  EXPECT_EQ(sender.info().ranges, 1u);
  sender.time_out();
  EXPECT_EQ(sender.segments().substr(0, 6), "1+1000");
}

}  // namespace
}  // namespace lockstep::testing
