// The SACK blocks of our ACKs (RFC 2018 section 4, RFC 2883 section 4).
#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

Config sack_config(bool dsack = true) {
  Config config = flow_config();
  config.tcp.sack = true;
  config.tcp.dsack = dsack;
  return config;
}

Peer sacking() {
  Peer peer;
  peer.sack = true;
  return peer;
}

// A receiving stack: the ACKs sent since the last call, "ACK: blocks", one line each.
class Receiver : public Flow {
 public:
  explicit Receiver(const Config& config = sack_config(), const Peer& with = sacking())
      : Flow(config, with) {}
  std::string acks() {
    std::string out;
    for (Out const& segment : take()) {
      out += (out.empty() ? "" : "; ") + std::to_string(segment.ack);
      out += segment.sack.empty() ? "" : ": " + segment.sack;
    }
    return out;
  }
  // One segment of 500 octets at relative sequence number `number`.
  std::string arrives(std::uint32_t number, std::uint32_t count = 500) {
    data(number, count);
    return acks();
  }
  void put(std::uint32_t number, std::uint32_t count = 500) {
    send({.flags = flag::ack, .seq = number, .ack = 1, .data = octets(number, count)});
  }
};

//= rfc2018#2
//= type=test
//# 2018:SACK-20, 2018:SACK-1 SACK-permitted on a SYN-ACK answers SACK-permitted, and only there
TEST(SackReport, IsPermittedOnSyns) {
  for (bool const ours : {false, true}) {
    for (bool const theirs : {false, true}) {
      Config config = flow_config();
      config.tcp.sack = ours;
      Kit kit(config);
      kit.listen();
      kit.deliver({.flags = flag::syn, .mss = 1000, .sack_permitted = theirs});
      auto const answers = kit.take();
      ASSERT_EQ(answers.size(), 1u);
      EXPECT_EQ(answers[0].sack_permitted, ours && theirs);
      kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
      EXPECT_EQ(kit.info().sack, ours && theirs);
      kit.deliver({.flags = flag::ack, .seq = 501, .ack = 1, .data = "above a gap"});
      auto const said = kit.take();
      ASSERT_EQ(said.size(), 1u);
      EXPECT_FALSE(said[0].sack_permitted);
    }
  }
  Kit opener(sack_config());
  opener.connect();
  auto const syn = opener.take();
  ASSERT_EQ(syn.size(), 1u);
  EXPECT_TRUE(syn[0].sack_permitted);
  opener.deliver({.flags = flag::syn | flag::ack, .seq = 0, .ack = 1, .sack_permitted = true});
  EXPECT_TRUE(opener.info().sack);
}

//= rfc2018#4
//= type=test
//# 2018:SACK-2 none for a peer that did not permit it
TEST(SackReport, NothingUnlessPermitted) {
  Receiver receiver(sack_config(), Peer{});
  EXPECT_EQ(receiver.arrives(501), "1");
  Receiver other(flow_config());
  EXPECT_EQ(other.arrives(501), "1");
}

// RFC 2018 section 7, case 2: the first of eight segments is lost.
//= rfc2018#4
//= type=test
//# 2018:SACK-3, 2018:SACK-4, 2018:SACK-15 each segment above the gap causes an ACK with its block
//= rfc2018#3
//= type=test
//# 2018:SACK-14, 2018:SACK-21 one block that grows; the ACK field does not change
TEST(SackReport, Case2FirstIsLost) {
  Receiver receiver;
  std::string expected = "1: 501-1001";
  for (std::uint32_t number = 501; number <= 3501; number += 500) {
    EXPECT_EQ(receiver.arrives(number), "1: 501-" + std::to_string(number + 500));
  }
  EXPECT_EQ(receiver.arrives(1), "4001");
}

// RFC 2018 section 7, case 3: every second one is lost; then the fourth arrives, then the second.
//= rfc2018#4
//= type=test
//# 2018:SACK-5 the first block contains the segment that has arrived
//# 2018:SACK-6 the others follow in the order in which they were last reported
TEST(SackReport, Case3EverySecondIsLost) {
  Receiver receiver;
  receiver.data(1, 500);
  receiver.advance(Duration::seconds(1));
  EXPECT_EQ(receiver.acks(), "501");
  EXPECT_EQ(receiver.arrives(1001), "501: 1001-1501");
  EXPECT_EQ(receiver.arrives(2001), "501: 2001-2501 1001-1501");
  EXPECT_EQ(receiver.arrives(3001), "501: 3001-3501 2001-2501 1001-1501");
  EXPECT_EQ(receiver.arrives(1501), "501: 1001-2501 3001-3501");
  EXPECT_EQ(receiver.arrives(501), "2501: 3001-3501");
}

//= rfc2018#3
//= type=test
//# 2018:SACK-13 at most four blocks, the newest ones
TEST(SackReport, FourBlocksAtMost) {
  Receiver receiver;
  for (std::uint32_t number : {1001u, 3001u, 5001u, 7001u, 9001u}) {
    receiver.data(number, 500);
  }
  receiver.take();
  EXPECT_EQ(receiver.arrives(11'001), "1: 11001-11501 9001-9501 7001-7501 5001-5501");
  EXPECT_EQ(receiver.arrives(1501), "1: 1001-2001 11001-11501 9001-9501 7001-7501");
}

// Law 8: a burst causes the same reports as its segments one by one.
TEST(SackReport, BurstsReportTheSame) {
  Receiver one_by_one;
  std::string said;
  std::vector<std::uint32_t> const order{1001, 2001, 1501, 1001, 3001, 501, 2001};
  for (std::uint32_t number : order) {
    said += (said.empty() ? "" : "; ") + one_by_one.arrives(number);
  }
  Receiver burst;
  for (std::uint32_t number : order) {
    burst.put(number);
  }
  burst.turn();
  EXPECT_EQ(burst.acks(), said);
}

// An advance of RCV.NXT replaces pending ACKs; the next ACK reports the duplicate.
TEST(SackReport, AnAdvanceKeepsTheDuplicateReport) {
  Receiver receiver;
  receiver.data(501, 500);
  EXPECT_EQ(receiver.acks(), "1: 501-1001");
  receiver.put(501);
  receiver.put(1);
  receiver.turn();
  EXPECT_EQ(receiver.acks(), "1001: 501-1001");
}

//= rfc2018#4
//= type=test
//# 2018:SACK-3 segments with data report as well, and leave space for it
//= rfc9293#3.7.1
//= type=test
//# 9293:P-MSS-OPTSHRINK options reduce the data
TEST(SackReport, BesideData) {
  Receiver receiver;
  receiver.data(501, 500);
  receiver.take();
  receiver.write_octets(2000);
  auto const out = receiver.take();
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].data.size(), 988u);
  EXPECT_EQ(out[0].sack, "501-1001");
  EXPECT_EQ(out[1].data.size(), 988u);
}

// Under memory pressure data above a gap is refused with a named drop: no block reports it.
//= rfc2018#8
//= type=test
//# 2018:SACK-17 no block for data that is not stored
TEST(SackReport, RefusedDataIsNotReported) {
  Config config = sack_config();
  config.tcp.extents_per_connection = Count{1};
  Receiver receiver(config);
  EXPECT_EQ(receiver.arrives(501), "1: 501-1001");
  EXPECT_EQ(receiver.arrives(2001), "1: 501-1001");
  EXPECT_EQ(receiver.drops(Drop::tcp_out_of_order_refused), 1u);
}

// RFC 2883's examples; streams begin at 1, so one number differs by 1 instead of 500.
//= rfc2883#4
//= type=test
//# 2883:DSACK-1, 2883:DSACK-3, 2883:DSACK-7 a duplicate below the ACK is the first block, once
TEST(DuplicateReport, Example1) {
  Receiver receiver;
  receiver.data(1, 500);
  receiver.data(501, 500);
  receiver.take();
  EXPECT_EQ(receiver.arrives(1), "1001: 1-501");
  EXPECT_EQ(receiver.arrives(1501), "1001: 1501-2001");
}

//= rfc2883#4
//= type=test
//# 2883:DSACK-5 other blocks follow
TEST(DuplicateReport, Example2) {
  Receiver receiver;
  receiver.data(1, 500);
  receiver.data(501, 500);
  receiver.take();
  EXPECT_EQ(receiver.arrives(1501), "1001: 1501-2001");
  EXPECT_EQ(receiver.arrives(1), "1001: 1-501 1501-2001");
}

//= rfc2883#4
//= type=test
//# 2883:DSACK-4 above the ACK the range that contains it is the second block
TEST(DuplicateReport, Example3) {
  Receiver receiver;
  EXPECT_EQ(receiver.arrives(501), "1: 501-1001");
  EXPECT_EQ(receiver.arrives(1001), "1: 501-1501");
  EXPECT_EQ(receiver.arrives(1001), "1: 1001-1501 501-1501");
  EXPECT_EQ(receiver.arrives(2001), "1: 2001-2501 501-1501");
}

TEST(DuplicateReport, Example4PartOfASegment) {
  Receiver receiver;
  EXPECT_EQ(receiver.arrives(1501), "1: 1501-2001");
  EXPECT_EQ(receiver.arrives(1), "501: 1501-2001");
  EXPECT_EQ(receiver.arrives(1, 1500), "2001: 1-501");
}

//= rfc2883#4.2
//= type=test
//# 2883:DSACK-6 of two duplicate parts only the first is reported
TEST(DuplicateReport, Example6TwoParts) {
  Receiver receiver;
  receiver.data(1001, 500);
  receiver.data(2001, 500);
  receiver.take();
  EXPECT_EQ(receiver.arrives(501, 2500), "1: 1001-1501 501-3001");
}

TEST(DuplicateReport, Off) {
  Receiver receiver(sack_config(false));
  receiver.data(1, 500);
  receiver.data(501, 500);
  receiver.take();
  EXPECT_EQ(receiver.arrives(1), "1001");
}

}  // namespace
}  // namespace lockstep::testing
