// Loss detection by time and tail loss probes on the wire (RFC 8985).
#include <tuple>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr Duration ms(std::uint64_t count) { return Duration::milliseconds(count); }

Config rack_config(bool on = true) {
  Config config = flow_config();
  config.tcp.sack = true;
  config.tcp.rack = on;
  config.tcp.initial_window = tcp::InitialWindow::rfc6928;
  config.tcp.rto_min = ms(200);
  return config;
}

Config probe_config(bool on = true) {
  Config config = rack_config();
  config.tcp.tail_probe = on;
  return config;
}

Peer far() {
  Peer peer;
  peer.sack = true;
  peer.round_trip = ms(100);
  return peer;
}

// The RTT is 100 ms; segments are sent a millisecond apart.
class Sender : public Flow {
 public:
  explicit Sender(const Config& config = rack_config(), const Peer& with = far())
      : Flow(config, with) {}
  void write_apart(std::uint32_t segments) {
    for (std::uint32_t i = 0; i < segments; ++i) {
      write_octets(1000);
      advance(ms(1));
    }
    take();
  }
};

//= rfc8985#6.2
//= type=test
//# 8985:RACK-7, 8985:RACK-23 one SACK of later data, and a reordering window has passed: lost
//# 8985:RACK-8, 8985:RACK-19 the reordering timer detects it
//# 8985:RACK-6 a quarter of the least RTT, without other information
//= rfc8985#4
//= type=test
//# 8985:RACK-1 by a scoreboard of what was sent
//# 8985:RACK-2 segments a millisecond apart are distinguished, far below a quarter of an RTT
TEST(Rack, OneSackIsEnough) {
  Sender sender;
  sender.write_apart(2);
  EXPECT_EQ(sender.info().ranges, 2u);
  sender.advance(ms(98));
  sender.sack(1, {{1001, 2001}});
  EXPECT_EQ(sender.segments(), "");
  // Sent at 0; RACK.rtt is 99 ms, and the window 99 / 4: due at 123.75 ms, 23.75 from here.
  sender.advance(ms(23));
  EXPECT_EQ(sender.segments(), "");
  sender.advance(ms(1));
  EXPECT_EQ(sender.segments(), "1+1000");
  EXPECT_TRUE(sender.info().fast_recovery);
}

// RFC 6675 waits for a timeout.
TEST(Rack, OneSackIsNotEnoughWithoutIt) {
  Sender sender(rack_config(false));
  sender.write_apart(2);
  sender.advance(ms(98));
  sender.sack(1, {{1001, 2001}});
  sender.advance(ms(150));
  EXPECT_EQ(sender.segments(), "");
}

//= rfc8985#6.2
//= type=test
//# 8985:RACK-6 DupThresh segments are SACKed and nothing was reordered: no reordering window
TEST(Rack, ThreeSegmentsNeedNoTime) {
  Sender sender;
  sender.write_apart(4);
  sender.advance(ms(96));
  sender.sack(1, {{1001, 4001}});
  EXPECT_EQ(sender.segments(), "1+1000");
}

//= rfc8985#6.2
//= type=test
//# 8985:RACK-5, 8985:RACK-14 data sent once is delivered after data sent later: reordering
//# 8985:RACK-17 from then on DupThresh has no effect
TEST(Rack, AfterReorderingOnlyTimeTells) {
  Sender sender;
  sender.write_apart(3);
  sender.advance(ms(97));
  sender.sack(1, {{1001, 2001}});
  sender.ack(2001);
  sender.write_apart(4);
  sender.advance(ms(96));
  sender.sack(3001, {{4001, 7001}});
  EXPECT_EQ(sender.segments(), "");
  EXPECT_FALSE(sender.info().fast_recovery);
  sender.advance(ms(30));
  EXPECT_EQ(sender.segments(), "3001+1000");
}

//= rfc8985#9.1
//= type=test
//# 8985:RACK-12 a retransmission has its own time
//# 8985:RACK-18 if lost again, it is retransmitted again
//= rfc8985#6.1
//= type=test
//# 8985:RACK-12 data sent after it was SACKed
TEST(Rack, LostRetransmission) {
  Sender sender;
  sender.write_apart(4);
  sender.advance(ms(96));
  sender.sack(1, {{1001, 4001}});
  EXPECT_EQ(sender.segments(), "1+1000");
  sender.write_apart(1);
  sender.advance(ms(99));
  sender.sack(1, {{1001, 5001}});
  EXPECT_EQ(sender.segments(), "1+1000");
}

//= rfc8985#9.3
//= type=test
//# 8985:RACK-20 without PRR a lost retransmission reduces cwnd again
//# 8985:RACK-21 with PRR the flight follows what is delivered
TEST(Rack, LostRetransmissionIsCongestion) {
  for (bool const prr : {false, true}) {
    Config config = rack_config();
    config.tcp.prr = prr;
    Sender sender(config);
    sender.write_apart(10);
    sender.advance(ms(90));
    sender.sack(1, {{1001, 10'001}});
    std::uint32_t const once = sender.ssthresh();
    sender.write_apart(3);
    sender.advance(ms(97));
    sender.sack(1, {{1001, 13'001}});
    sender.advance(ms(30));
    EXPECT_EQ(sender.ssthresh() != once, !prr) << prr;
  }
}

//= rfc8985#6.2
//= type=test
//# 8985:RACK-15, 8985:RACK-22 a D-SACK widens the window by a quarter of the least RTT
TEST(Rack, DuplicatesWidenTheWindow) {
  Sender sender;
  sender.write_apart(3);
  sender.advance(ms(97));
  sender.sack(1001, {{1, 1001}});
  sender.sack(1001, {{1, 1001}});  // the same round
  sender.ack(3001);
  sender.write_apart(2);
  sender.advance(ms(98));
  sender.sack(3001, {{4001, 5001}});
  sender.advance(ms(30));
  EXPECT_EQ(sender.segments(), "");
  sender.advance(ms(25));
  EXPECT_EQ(sender.segments(), "3001+1000");
}

// With dsack_before_reordering off only the second round does: the first D-SACK shows reordering.
TEST(Rack, TheFirstDuplicateNeedNotWidenTheWindow) {
  Config config = rack_config();
  config.tcp.dsack_before_reordering = false;
  Sender sender(config);
  for (std::uint32_t const first : {0u, 5000u}) {
    sender.write_apart(3);
    sender.advance(ms(97));
    sender.sack(first + 1001, {{first + 1, first + 1001}});
    sender.ack(first + 3001);
    sender.write_apart(2);
    sender.advance(ms(98));
    sender.sack(first + 3001, {{first + 4001, first + 5001}});
    sender.advance(ms(30));
    EXPECT_EQ(sender.segments(), first == 0 ? "3001+1000" : "");
    sender.ack(first + 5001);
  }
}

//= rfc8985#6.2
//= type=test
//# 8985:RACK-15 once per round: a D-SACK of the next round widens it again
TEST(Rack, DuplicatesOfTheNextRoundWidenItAgain) {
  Sender sender;
  sender.write_apart(3);
  sender.advance(ms(97));
  sender.sack(1001, {{1, 1001}});
  sender.ack(3001);
  sender.write_apart(3);
  sender.advance(ms(97));
  sender.sack(4001, {{1, 1001}});
  sender.ack(6001);
  sender.write_apart(2);
  sender.advance(ms(98));
  sender.sack(6001, {{7001, 8001}});
  sender.advance(ms(60));
  EXPECT_EQ(sender.segments(), "");
  sender.advance(ms(20));
  EXPECT_EQ(sender.segments(), "6001+1000");
}

// Segments that take 200 ms each and are sent 100 ms apart, so that one is always in flight.
std::uint32_t take_long(Sender& sender, std::uint32_t count) {
  std::uint32_t at = 1;
  sender.write_apart(1);
  sender.advance(ms(99));
  for (std::uint32_t i = 0; i < count; ++i) {
    sender.write_apart(1);
    sender.advance(ms(99));
    at += 1000;
    sender.ack(at);
  }
  return at;
}

//= rfc8985#6.2
//= type=test
//# 8985:RACK-3 the least RTT is valid while its time window lasts, and no longer
TEST(Rack, TheLeastRoundTripIsOfItsWindow) {
  for (auto const& [window, narrow] : {std::pair{Duration::seconds(300), true}, {ms(500), false}}) {
    Config config = rack_config();
    config.tcp.least_rtt_window = window;
    Sender sender(config);
    std::uint32_t const at = take_long(sender, 12) + 1000;
    sender.write_apart(2);
    sender.advance(ms(98));
    sender.ack(at);
    sender.advance(ms(100));
    sender.sack(at, {{at + 1000, at + 2000}});
    sender.advance(ms(30));
    EXPECT_EQ(sender.segments(), narrow ? std::to_string(at) + "+1000" : "");
    sender.advance(ms(25));
    EXPECT_EQ(sender.segments(), narrow ? "" : std::to_string(at) + "+1000");
  }
}

//= rfc8985#6.2
//= type=test
//# 8985:RACK-22 unnecessarily retransmitted data was late: DupThresh has no effect any more
TEST(Rack, DuplicatesAreReordering) {
  Config config = rack_config();
  config.tcp.undo = true;
  Sender sender(config);
  sender.write_apart(5);
  sender.advance(ms(96));
  sender.sack(1, {{1001, 4001}});
  EXPECT_EQ(sender.segments(), "1+1000");
  sender.ack(4001);
  sender.sack(4001, {{1, 1001}});
  sender.ack(5001);
  sender.write_apart(4);
  sender.advance(ms(96));
  sender.sack(5001, {{6001, 9001}});
  EXPECT_EQ(sender.segments(), "");
  sender.advance(ms(60));
  EXPECT_EQ(sender.segments(), "5001+1000");
}

// A probe that arrived twice shows no reordering.
TEST(Rack, ADuplicatedProbeIsNoReordering) {
  Sender sender(probe_config());
  sender.write_apart(1);
  sender.advance(ms(449));
  EXPECT_EQ(sender.segments(), "1+1000");
  sender.ack(1001);
  sender.sack(1001, {{1, 1001}});
  sender.write_apart(4);
  sender.advance(ms(96));
  sender.sack(1001, {{2001, 5001}});
  EXPECT_EQ(sender.segments(), "1001+1000");
}

// Without SACK there is no RACK.
TEST(Rack, NothingWithoutSack) {
  Flow sender(probe_config());
  sender.write_octets(3000);
  EXPECT_EQ(sender.info().ranges, 0u);
}

//= rfc8985#6.2
//= type=test
//# 8985:RACK-13 of two sent at the same time the lower number was sent first
TEST(Rack, TiesAreBrokenByNumber) {
  Sender sender;
  sender.write_octets(2000);
  sender.take();
  sender.advance(ms(100));
  sender.sack(1, {{1001, 2001}});
  sender.advance(ms(26));
  EXPECT_EQ(sender.segments(), "1+1000");
  Sender other;
  other.write_octets(3000);
  other.take();
  other.advance(ms(100));
  other.sack(1001, {});
  other.advance(ms(26));
  EXPECT_EQ(other.segments(), "");
}

//= rfc8985#6.2
//= type=test
//# 8985:RACK-4, 8985:RACK-24 an ACK a millisecond after a retransmission answers the original
TEST(Rack, AcksOfTheOriginalHaveNoEffect) {
  Sender sender;
  sender.write_apart(6);
  sender.advance(ms(94));
  sender.sack(1, {{1001, 4001}});
  EXPECT_EQ(sender.segments(), "1+1000");
  sender.advance(ms(1));
  sender.ack(4001);
  EXPECT_EQ(sender.segments(), "");
  EXPECT_EQ(sender.info().lost.count, 0u);
}

//= rfc8985#6.2
//= type=test
//# 8985:RACK-4 the echo of data before a gap says nothing about data above it
TEST(Rack, ProbeAboveAGapShowsWhatIsLost) {
  Config config = probe_config();
  config.tcp.timestamps = true;
  Peer with = far();
  with.stamp = 7;
  with.mss = 1012;
  Sender sender(config, with);
  sender.write_apart(4);
  sender.advance(ms(98));
  std::uint32_t const before_the_gap = sender.device_stamp;
  sender.ack(2001);
  sender.advance(ms(250));
  EXPECT_EQ(sender.segments(), "3001+1000");
  sender.advance(ms(99));
  sender.device_stamp = before_the_gap;
  sender.sack(2001, {{3001, 4001}});
  EXPECT_EQ(sender.segments(), "2001+1000");
}

//= rfc8985#6.2
//= type=test
//# 8985:RACK-3 the RTT of the handshake, 100 ms, counts: all later ones were longer
TEST(Rack, LeastRoundTripIsOfTheHandshakeToo) {
  Sender sender(probe_config());
  sender.write_apart(4);
  sender.advance(ms(108));
  sender.ack(2001);
  sender.time_out();
  EXPECT_EQ(sender.segments(), "3001+1000");
  sender.advance(ms(104));
  sender.sack(2001, {{3001, 4001}});
  EXPECT_EQ(sender.segments(), "2001+1000");
}

//= rfc8985#9.3
//= type=test
//# 8985:RACK-11 lost data is retransmitted as cwnd permits
TEST(Rack, LossesAreRetransmittedAsCwndPermits) {
  Sender sender;
  sender.write_apart(10);
  sender.advance(ms(90));
  sender.sack(1, {{9001, 10'001}});
  sender.advance(ms(40));
  EXPECT_EQ(sender.segments(), "1+1000 1001+1000 2001+1000 3001+1000 4001+1000");
  EXPECT_EQ(sender.cwnd(), 5000u);
  EXPECT_EQ(sender.info().lost.count, 4000u);
}

//= rfc8985#6.2
//= type=test
//# 8985:RACK-16 after sixteen recoveries without a D-SACK the window is a quarter again
TEST(Rack, TheWindowNarrowsAgain) {
  Sender sender;
  sender.write_apart(3);
  sender.advance(ms(97));
  sender.sack(1001, {{1, 1001}});
  sender.ack(3001);
  std::uint32_t at = 3001;
  for (int recovery = 0; recovery < 16; ++recovery) {
    sender.write_apart(2);
    sender.advance(ms(98));
    sender.sack(at, {{at + 1000, at + 2000}});
    sender.advance(ms(30));
    EXPECT_FALSE(sender.info().fast_recovery) << "still half a round trip";
    sender.advance(ms(30));
    EXPECT_TRUE(sender.info().fast_recovery);
    at += 2000;
    sender.ack(at);
  }
  sender.write_apart(2);
  sender.advance(ms(98));
  sender.sack(at, {{at + 1000, at + 2000}});
  sender.take();
  sender.advance(ms(30));
  EXPECT_EQ(sender.segments(), std::to_string(at) + "+1000");
}

//= rfc8985#6.3
//= type=test
//# 8985:RACK-9 after a timeout the first segment and old ones are lost; the rest stays in flight
TEST(Rack, Timeout) {
  Sender sender;
  sender.write_apart(1);
  sender.advance(ms(99));
  sender.ack(1001);
  sender.write_apart(1);
  sender.advance(ms(170));
  sender.write_octets(1000);
  sender.take();
  sender.time_out();
  EXPECT_EQ(sender.segments(), "1001+1000");
  EXPECT_EQ(sender.info().pipe.count, 2000u);
}

//= rfc8985#6.3
//= type=test
//# 8985:RACK-9 the scoreboard is kept
TEST(Rack, TimeoutKeepsTheBoard) {
  Sender sender;
  sender.write_apart(2);
  sender.advance(ms(98));
  sender.sack(1, {{1001, 2001}});
  sender.advance(ms(400));
  EXPECT_EQ(sender.info().sacked.count, 1000u);
}

//= rfc8985#7.2
//= type=test
//# 8985:TLP-1 two RTTs after the last segment
//# 8985:TLP-2 restarted by each segment
//= rfc8985#7.3
//= type=test
//# 8985:TLP-4, 8985:TLP-9 the last segment is retransmitted
//# 8985:TLP-5 then a whole RTO starts
//= rfc8985#4
//= type=test
//# 8985:TLP-13 with RACK
TEST(TailProbe, LastSegmentAgain) {
  Sender sender(probe_config());
  sender.write_apart(3);
  sender.advance(ms(198));
  EXPECT_EQ(sender.segments(), "");
  sender.advance(ms(1));
  EXPECT_EQ(sender.segments(), "2001+1000");
  EXPECT_EQ(sender.info().retransmit_due.since(sender.now), sender.info().rto);
}

TEST(TailProbe, Off) {
  Sender sender(probe_config(false));
  sender.write_apart(3);
  sender.advance(ms(250));
  EXPECT_EQ(sender.segments(), "");
}

//= rfc8985#7.3
//= type=test
//# 8985:TLP-4 new data if there is some, regardless of cwnd
TEST(TailProbe, NewData) {
  Sender sender(probe_config());
  sender.write_octets(20'000);
  sender.take();
  sender.advance(ms(199));
  EXPECT_EQ(sender.segments(), "");
  sender.advance(ms(2));
  EXPECT_EQ(sender.segments(), "10001+1000");
}

//= rfc8985#7.3
//= type=test
//# 8985:TLP-3 one at a time: the next is a timeout
TEST(TailProbe, OneAtATime) {
  Sender sender(probe_config());
  sender.write_apart(3);
  sender.advance(ms(200));
  EXPECT_EQ(sender.segments(), "2001+1000");
  sender.time_out();
  EXPECT_EQ(sender.segments(), "1+1000");
}

//= rfc8985#7.4.1
//= type=test
//# 8985:TLP-12 the ACK of the probe lets RACK detect the other losses
//= rfc8985#7.3
//= type=test
//# 8985:TLP-8 by the send time of the probe
//= rfc8985#7.1
//= type=test
//# 8985:TLP-7 because that is a recovery the probe is no longer tracked
TEST(TailProbe, RackFindsTheRest) {
  Sender sender(probe_config());
  sender.write_apart(3);
  sender.advance(ms(200));
  EXPECT_EQ(sender.segments(), "2001+1000");
  sender.advance(ms(100));
  sender.sack(1, {{2001, 3001}});
  sender.advance(ms(30));
  EXPECT_EQ(sender.segments(), "1+1000 1001+1000");
  std::uint32_t const once = sender.ssthresh();
  sender.advance(ms(100));
  sender.ack(3001);
  sender.write_octets(1000);
  sender.advance(ms(100));
  sender.ack(4001);
  EXPECT_EQ(sender.ssthresh(), once);
}

//= rfc8985#7.4.2
//= type=test
//# 8985:TLP-6, 8985:TLP-10 a loss repaired by the probe reduces cwnd
//# 8985:TLP-11 unless both copies arrived, or it was new data
TEST(TailProbe, RepairedLossIsAnswered) {
  for (bool const twice : {false, true}) {
    Sender sender(probe_config());
    sender.write_apart(3);
    sender.advance(ms(200));
    EXPECT_EQ(sender.segments(), "2001+1000");
    std::uint32_t const before = sender.ssthresh();
    sender.advance(ms(90));
    if (twice) {
      sender.sack(3001, {{2001, 3001}});
    } else {
      sender.ack(3001);
    }
    sender.write_octets(1000);
    sender.advance(ms(100));
    sender.ack(4001);
    EXPECT_EQ(sender.ssthresh() < before, !twice) << twice;
  }
}

//= rfc5682#3.1
//= type=test
//# 5682:FRTO-11 after the ACK of the retransmission new data is sent
//# 5682:FRTO-13 and an ACK of other data shows that the timeout was spurious
//= rfc5682#4
//= type=test
//# 5682:FRTO-14 cwnd is restored only with `undo`
TEST(Frto, SpuriousTimeout) {
  for (bool const undo : {false, true}) {
    Config config = rack_config(false);
    config.tcp.frto = true;
    config.tcp.undo = undo;
    Sender sender(config);
    sender.write_octets(40'000);
    sender.take();
    sender.time_out();
    EXPECT_EQ(sender.segments(), "1+1000");
    sender.ack(1001);
    EXPECT_EQ(sender.segments(), "10001+1000 11001+1000");
    sender.ack(2001);
    EXPECT_EQ(sender.stack.statistics().tcp.spurious_timeouts, 1u);
    EXPECT_EQ(sender.segments().substr(0, 10), undo ? "12001+1000" : "");
    EXPECT_EQ(sender.cwnd() > 9000, undo);
  }
}

// Without F-RTO slow start retransmits all.
TEST(Frto, Off) {
  Sender sender(rack_config(false));
  sender.write_octets(40'000);
  sender.take();
  sender.time_out();
  sender.take();
  sender.ack(1001);
  EXPECT_EQ(sender.segments(), "1001+1000 2001+1000");
}

//= rfc5682#3.1
//= type=test
//# 5682:FRTO-12 new data is delivered before the lost data: slow start, at most three segments
TEST(Frto, TrueTimeout) {
  Config config = rack_config(false);
  config.tcp.frto = true;
  Sender sender(config);
  sender.write_octets(40'000);
  sender.take();
  sender.time_out();
  sender.take();
  sender.ack(1001);
  EXPECT_EQ(sender.segments(), "10001+1000 11001+1000");
  sender.sack(1001, {{10'001, 11'001}});
  EXPECT_EQ(sender.stack.statistics().tcp.spurious_timeouts, 0u);
  EXPECT_EQ(sender.segments().substr(0, 9), "1001+1000");
  EXPECT_LE(sender.cwnd(), 3000u);
}

//= rfc5682#3.1
//= type=test
//# 5682:FRTO-12 a D-SACK alone is no duplicate ACK
//# 5682:FRTO-13 the next ACK of other data shows that the timeout was spurious
TEST(Frto, ADuplicateReportedAloneDecidesNothing) {
  Config config = rack_config(false);
  config.tcp.frto = true;
  config.tcp.undo = true;
  Sender sender(config);
  sender.write_octets(40'000);
  sender.take();
  sender.time_out();
  sender.take();
  sender.ack(1001);
  EXPECT_EQ(sender.segments(), "10001+1000 11001+1000");
  sender.sack(1001, {{1, 1001}});
  EXPECT_EQ(sender.segments(), "");
  sender.ack(2001);
  EXPECT_EQ(sender.stack.statistics().tcp.spurious_timeouts, 1u);
  EXPECT_EQ(sender.segments().substr(0, 10), "12001+1000");
}

//= rfc5682#3.1
//= type=test
//# 5682:FRTO-10 not if losses were already being repaired
TEST(Frto, NotInRecovery) {
  Config config = rack_config(false);
  config.tcp.frto = true;
  Sender sender(config);
  sender.write_octets(40'000);
  sender.take();
  sender.sack(1, {{1001, 4001}});
  sender.take();
  sender.time_out();
  sender.take();
  sender.ack(1001);
  EXPECT_EQ(sender.segments(), "1001+1000 2001+1000");
}

// A spurious recovery: all retransmissions arrived twice.
TEST(Undo, ByDuplicates) {
  for (bool const on : {false, true}) {
    Config config = rack_config(false);
    config.tcp.undo = on;
    Sender sender(config);
    sender.write_octets(40'000);
    sender.take();
    sender.sack(1, {{1001, 4001}});
    EXPECT_EQ(sender.segments(), "1+1000");
    sender.ack(4001);
    sender.sack(4001, {{1, 1001}});
    EXPECT_EQ(sender.cwnd() >= 10'000, on) << on;
    EXPECT_EQ(sender.stack.statistics().tcp.recoveries_undone, on ? 1u : 0u);
  }
}

// What was in flight then starts a recovery of its own when it is lost.
TEST(Undo, ALossAfterItIsRepaired) {
  Config config = rack_config(false);
  config.tcp.undo = true;
  Sender sender(config);
  sender.write_octets(40'000);
  sender.take();
  sender.sack(1, {{1001, 4001}});
  sender.ack(4001);
  sender.sack(4001, {{1, 1001}});
  ASSERT_EQ(sender.stack.statistics().tcp.recoveries_undone, 1u);
  sender.take();
  sender.sack(4001, {{5001, 8001}});
  EXPECT_EQ(sender.segments().substr(0, 9), "4001+1000");
}

// Repaired by duplicates because there was no record for a scoreboard: retransmissions were not
// counted, and a copy of other data made by the path shows nothing about them.
TEST(Undo, NotWithoutACountOfRetransmissions) {
  Config config = rack_config(false);
  config.tcp.undo = true;
  config.tcp.sent_max = Count{1};
  Sender sender(config);
  auto const ours = std::pair(sender.id, sender.device_iss);
  IpAddress const peer = sender.peer;
  // Another connection has the only scoreboard record.
  sender.peer = IpAddress::v4(10, 0, 0, 77);
  sender.deliver({.flags = flag::syn, .mss = 1000, .sack_permitted = true});
  sender.take();
  sender.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = 65535});
  ASSERT_EQ(sender.stack.write(sender.id, Kit::bytes_of(octets(1, 3000)), More::no).bytes.count,
            3000u);
  sender.turn();
  sender.sack(1, {{1001, 2001}});
  sender.take();
  sender.peer = peer;
  std::tie(sender.id, sender.device_iss) = ours;
  sender.write_octets(40'000);
  sender.take();
  for (int i = 0; i < 3; ++i) {
    sender.sack(1, {{1001, 2001}});
  }
  EXPECT_EQ(sender.segments(), "10001+1000 11001+1000 1+1000");
  sender.ack(12'001);
  sender.take();
  sender.sack(12'001, {{3001, 4001}});
  EXPECT_LT(sender.cwnd(), 10'000u);
  EXPECT_EQ(sender.stack.statistics().tcp.recoveries_undone, 0u);
}

}  // namespace
}  // namespace lockstep::testing
