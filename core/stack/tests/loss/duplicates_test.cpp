// What D-SACKs show of a recovery (RFC 2883), with profile default and a peer without timestamps.
#include "core/stack/testing/sender_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr Duration ms(std::uint64_t count) { return Duration::milliseconds(count); }

using Blocks = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Config reported_config() {
  Config config = sender_config();
  config.tcp.hystart = false;
  config.tcp.accounts = true;
  return config;
}

// An RTT of 100 ms; segments of 1000 octets, ten of them in the first flight.
class Reported : public Kit {
 public:
  explicit Reported(const Config& config = reported_config(), bool ecn = false) : Kit(config) {
    listen();
    deliver({.flags = ecn ? flag::syn | flag::ece | flag::cwr : Flags{flag::syn},
             .mss = 1000,
             .sack_permitted = true});
    advance(ms(100));
    deliver({.flags = flag::ack, .seq = 1, .ack = 1});
    EXPECT_EQ(info().ecn.tx, ecn);
    take();
  }
  void write_octets(std::uint32_t count) {
    write(std::string(count, 'x'));
    take();
  }
  // An ACK in the burst that the next turn() delivers.
  void queue_ack(std::uint32_t number, Blocks blocks = {}, bool echo = false) {
    send({.flags = echo ? flag::ack | flag::ece : Flags{flag::ack},
          .seq = 1,
          .ack = number,
          .sack = std::move(blocks)});
  }
  void ack(std::uint32_t number, Blocks blocks = {}, bool echo = false) {
    queue_ack(number, std::move(blocks), echo);
    turn();
  }
  std::uint32_t next() const { return info().send.nxt.value - device_iss.value; }
  std::uint32_t cwnd() const { return info().cwnd.count; }
  std::uint32_t ssthresh() const { return info().ssthresh.count; }
  std::uint64_t undone() const { return stack.statistics().tcp.recoveries_undone; }
  // Where the segments sent since the last call begin.
  std::string sent_at() {
    std::string out;
    for (Out const& segment : take()) {
      out += (out.empty() ? "" : " ") + std::to_string(segment.seq);
    }
    return out;
  }

  static constexpr std::uint32_t unlimited = 1u << 30;  // ssthresh before the first loss
};

// The first of ten segments is late, and retransmitted; all but its D-SACK has arrived.
void lose_late_segment(Reported& peer) {
  peer.write_octets(400'000);
  peer.advance(ms(100));
  peer.ack(1, {{1001, 5001}});
  ASSERT_TRUE(peer.info().fast_recovery);
  peer.advance(ms(5));
  peer.ack(5001);
  peer.advance(ms(95));
  peer.take();
}

// Twenty segments are in flight, from 10001 on.
void send_twenty(Reported& peer) {
  peer.write_octets(10'000);
  peer.advance(ms(100));
  for (std::uint32_t number = 1001; number <= 10'001; number += 1000) {
    peer.ack(number);
  }
  peer.write_octets(20'000);
  ASSERT_EQ(peer.next(), 30'001u);
  peer.advance(ms(100));
}

//= rfc5681#3.1
//= type=test
//# 5681:CC-11 the next loss of the same window reduces cwnd and ssthresh, with ECN as well
TEST(Duplicates, ALossAfterAnUndoneRecoveryReducesTheWindow) {
  for (bool const ecn : {false, true}) {
    for (bool const prr : {false, true}) {
      Config config = reported_config();
      config.tcp.prr = prr;
      Reported peer(config, ecn);
      lose_late_segment(peer);
      peer.ack(7001, {{1, 1001}});
      ASSERT_EQ(peer.undone(), 1u);
      EXPECT_EQ(peer.ssthresh(), Reported::unlimited);
      std::uint32_t const before = peer.cwnd();
      peer.ack(7001, {{8001, 11'001}});
      ASSERT_TRUE(peer.info().fast_recovery);
      EXPECT_EQ(peer.ssthresh(), before / 10 * 7) << ecn << prr;
      EXPECT_LE(peer.cwnd(), before) << ecn << prr;
      peer.advance(ms(100));
      peer.ack(peer.next());
      EXPECT_EQ(peer.cwnd(), before / 10 * 7) << ecn << prr;
    }
  }
}

//= rfc4015#3.4
//= type=test
//# 4015:EIFR-5 ECE in the ACK that shows it: the window stays reduced
//= rfc3168#6.1.2
//= type=test
//# 3168:ECN-18 so it does if ECE arrived during the recovery, which answered it
TEST(Duplicates, AnEchoOfAMarkKeepsTheReduction) {
  for (std::uint32_t const marked : {0u, 1u, 2u, 3u}) {
    Reported peer(reported_config(), true);
    peer.write_octets(400'000);
    peer.advance(ms(100));
    peer.ack(1, {{1001, 5001}});
    peer.advance(ms(5));
    peer.ack(5001, {}, marked == 1);
    peer.advance(ms(95));
    if (marked == 3) {
      peer.ack(peer.next());
      peer.ack(peer.next(), {}, true);
    }
    std::uint32_t const reduced = peer.ssthresh();
    EXPECT_LE(reduced, 7000u);
    peer.ack(marked == 3 ? peer.next() : 7001, {{1, 1001}}, marked == 2);
    EXPECT_EQ(peer.undone(), marked == 0 ? 1u : 0u) << marked;
    EXPECT_EQ(peer.ssthresh(), marked == 0 ? Reported::unlimited : reduced) << marked;
    EXPECT_EQ(peer.cwnd() >= 10'000, marked == 0) << marked;
  }
}

// The usual order if one segment is late: all is acknowledged before its second copy arrives.
//= rfc8985#6.2
//= type=test
//# 8985:RACK-15, 8985:RACK-22 the D-SACK widens the reordering window, whatever is in flight
TEST(Duplicates, AReportCountsWithNothingInFlight) {
  enum class When { with_the_ack, in_its_burst, later, with_new_data };
  for (When const when :
       {When::with_the_ack, When::in_its_burst, When::later, When::with_new_data}) {
    Reported peer;
    peer.write_octets(10'000);
    peer.advance(ms(100));
    peer.ack(1, {{1001, 10'001}});
    EXPECT_EQ(peer.sent_at(), "1");
    EXPECT_LT(peer.ssthresh(), Reported::unlimited);
    peer.advance(ms(20));
    if (when != When::with_the_ack) {
      peer.queue_ack(10'001);
    }
    if (when == When::later || when == When::with_new_data) {
      peer.turn();
      peer.advance(ms(80));
    }
    if (when == When::with_new_data) {
      peer.write_octets(1000);
    }
    peer.ack(10'001, {{1, 1001}});
    auto const number = static_cast<int>(when);
    EXPECT_EQ(peer.undone(), 1u) << number;
    EXPECT_EQ(peer.ssthresh(), Reported::unlimited) << number;
    EXPECT_GE(peer.cwnd(), 10'000u) << number;
    EXPECT_TRUE(peer.info().reordering_seen) << number;
    EXPECT_EQ(peer.info().account.duplicates_told, 1u) << number;
    EXPECT_EQ(peer.stack.pools().active, when == When::with_new_data ? 1u : 0u) << number;
  }
}

// A retransmission that is not reported within a timeout was needed.
TEST(Duplicates, AReportIsAwaitedForATimeout) {
  Reported peer;
  peer.write_octets(10'000);
  peer.advance(ms(100));
  peer.ack(1, {{1001, 10'001}});
  Duration const rto = peer.info().rto;
  peer.advance(ms(100));
  peer.ack(10'001);
  EXPECT_EQ(peer.stack.pools().active, 1u);
  peer.advance(rto - ms(101));
  EXPECT_EQ(peer.stack.pools().active, 1u);
  peer.advance(ms(1));
  EXPECT_EQ(peer.stack.pools().active, 0u);
  peer.ack(10'001, {{1, 1001}});
  EXPECT_EQ(peer.undone(), 0u);
  EXPECT_EQ(peer.info().account.duplicates_told, 1u);
}

// Other connections need the state more than this one.
TEST(Duplicates, NoReportIsAwaitedInAShortage) {
  Config config = reported_config();
  config.tcp.active_max = Count{1};
  Reported peer(config);
  peer.write_octets(10'000);
  peer.advance(ms(100));
  peer.ack(1, {{1001, 10'001}});
  peer.advance(ms(100));
  peer.ack(10'001);
  EXPECT_EQ(peer.stack.pools().active, 0u);
}

//= rfc5681#4.1
//= type=test
//# 5681:CC-25 the restart window of an idle period stays
TEST(Duplicates, ALateReportDoesNotUndoARestart) {
  Config config = reported_config();
  Reported peer(config);
  peer.auto_consume = false;
  send_twenty(peer);
  peer.ack(10'001, {{11'001, 30'001}});
  peer.advance(ms(100));
  // Unread data keeps the state of the recovery.
  peer.deliver({.flags = flag::ack, .seq = 1, .ack = 30'001, .data = "unread"});
  EXPECT_GT(peer.cwnd(), 10'000u);
  peer.advance(ms(2000));
  peer.write_octets(1000);
  EXPECT_EQ(peer.cwnd(), 10'000u);
  peer.deliver({.flags = flag::ack, .seq = 7, .ack = 30'001, .sack = {{10'001, 11'001}}});
  EXPECT_EQ(peer.cwnd(), 10'000u);
}

// The network has made a copy of a segment that was sent once.
TEST(Duplicates, OnlyReportsOfRetransmissionsCount) {
  for (bool const same_burst : {false, true}) {
    Reported peer;
    peer.write_octets(100'000);
    peer.advance(ms(50));
    peer.queue_ack(1, {{1001, 5001}});
    if (!same_burst) {
      peer.turn();
      EXPECT_EQ(peer.sent_at().substr(0, 1), "1");
    }
    peer.ack(1, {{3001, 4001}, {1001, 6001}});
    EXPECT_EQ(peer.sent_at().substr(0, 2) == "1 ", same_burst);
    EXPECT_EQ(peer.undone(), 0u) << same_burst;
    EXPECT_TRUE(peer.info().fast_recovery) << same_burst;
    EXPECT_EQ(peer.ssthresh(), 7000u) << same_burst;
  }
}

// Every second segment is late: each retransmission must be reported.
TEST(Duplicates, EveryRetransmissionMustBeReported) {
  for (std::uint32_t const holes : {1u, 2u, 3u, 4u, 5u, 6u, 9u}) {
    Reported peer;
    send_twenty(peer);
    for (std::uint32_t i = 0; i < holes; ++i) {
      std::uint32_t const begin = 11'001 + 2000 * i;
      peer.ack(10'001, {{begin, i + 1 == holes ? 30'001 : begin + 1000}});
    }
    peer.advance(ms(50));
    ASSERT_EQ(peer.info().retransmissions, holes);
    peer.ack(30'001);
    for (std::uint32_t i = 0; i < holes; ++i) {
      EXPECT_EQ(peer.undone(), 0u) << i << " of " << holes;
      std::uint32_t const begin = 10'001 + 2000 * i;
      // A copy made by the network. From the fourth hole on only the hull of the holes is known.
      if (holes <= 4 || i < 3) {
        peer.ack(30'001, {{begin + 1000, begin + 2000}});
      }
      peer.ack(30'001, {{begin, begin + 1000}});
    }
    EXPECT_EQ(peer.undone(), 1u) << holes;
  }
}

// The scoreboard was given up: not all retransmissions are known.
TEST(Duplicates, NotWithoutAScoreboard) {
  Config config = reported_config();
  config.tcp.sent_per_connection = Count{3};
  Reported peer(config);
  peer.write_octets(10'000);
  peer.advance(ms(100));
  peer.ack(1, {{3001, 6001}});
  ASSERT_EQ(peer.stack.statistics().tcp.scoreboards_dropped, 1u);
  for (std::uint32_t const number : {1001u, 2001u, 10'001u}) {
    peer.advance(ms(50));
    peer.ack(number);
  }
  EXPECT_EQ(peer.sent_at(), "1 1001 2001");
  peer.ack(10'001, {{1, 1001}});
  EXPECT_EQ(peer.undone(), 0u);
}

}  // namespace
}  // namespace lockstep::testing
