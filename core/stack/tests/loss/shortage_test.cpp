// What ends loss recovery early: a timer that new data postpones, and scoreboards without records.
#include "core/stack/testing/sender_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr Duration ms(std::uint64_t count) { return Duration::milliseconds(count); }

// The SRTT is 50 ms; the peer answers nothing more. The application writes ten octets every 40 ms.
//= rfc8985#7.3
//= type=test
//# 8985:TLP-3, 8985:TLP-5 after one probe the retransmission timer runs, whatever else is sent
TEST(TailProbe, NewDataDoesNotPostponeTheTimeout) {
  Flow flow(sender_config(), bare_peer());
  ASSERT_EQ(flow.stack.set(flow.id, {SettingKind::nagle, 0}), Refusal::none);
  for (int i = 0; i < 20; ++i) {
    flow.stamp += 50;
    flow.write_octets(10);
    flow.advance(ms(50));
    flow.ack(flow.written + 1);
  }
  ASSERT_EQ(flow.info().rto, ms(200));
  tcp::Counters const before = flow.stack.statistics().tcp;
  for (int i = 0; i < 25; ++i) {
    flow.write_octets(10);
    flow.advance(ms(40));
  }
  // A probe 200 ms after the first octets, timeouts after 400 and 800 ms.
  EXPECT_EQ(flow.stack.statistics().tcp.loss_probes - before.loss_probes, 1u);
  EXPECT_EQ(flow.stack.statistics().tcp.timeouts - before.timeouts, 2u);
}

// The path becomes longer than two of the old round trips. Without timestamps a probe ends the only
// measurement of its flight: there is none in the next, so that SRTT adapts.
//= rfc8985#7.3
//= type=test
//# 8985:TLP-3 no probe before an RTT was measured since the last
TEST(TailProbe, ProbesDoNotHideALongerPath) {
  Peer peer = bare_peer(1460, 0);
  peer.round_trip = ms(1);
  Flow flow(sender_config(), peer);
  for (int i = 0; i < 20; ++i) {
    flow.write_octets(3 * 1460);
    flow.advance(ms(50));
    flow.ack(flow.written + 1);
    flow.advance(ms(250));
  }
  EXPECT_GT(flow.info().srtt, ms(40));
  EXPECT_LE(flow.stack.statistics().tcp.loss_probes, 10u);
}

// A full and a short segment: a receiver may delay their ACK, as that of a single one.
//= rfc8985#7.2
//= type=test
//# 8985:TLP-1 two RTTs and the delay of an ACK, for less than two full-sized segments
TEST(TailProbe, WaitsForTheDelayedAckOfAShortPair) {
  Peer peer = bare_peer();
  peer.round_trip = ms(10);
  Flow flow(sender_config(), peer);
  ASSERT_EQ(flow.stack.set(flow.id, {SettingKind::nagle, 0}), Refusal::none);
  flow.write_octets(1500);
  EXPECT_EQ(flow.segments(), "1+1448 1449+52");
  flow.advance(ms(150));
  EXPECT_EQ(flow.segments(), "");
  flow.ack(1501);
  flow.write_octets(2 * 1448);
  EXPECT_EQ(flow.segments(), "1501+1448 2949+1448");
  flow.advance(ms(150));
  EXPECT_EQ(flow.segments(), "2949+1448");
}

// Segments leave two at a time, so that a SACK of the second has to split a range.
class Pairs : public Flow {
 public:
  explicit Pairs(const Config& config) : Flow(config, bare_peer(1000, 0)) {}
  void write_pairs(int pairs) {
    for (int i = 0; i < pairs; ++i) {
      write_octets(2000);
      advance(ms(1));
    }
    take();
  }
};

//= rfc6675#5
//= type=test
//# 6675:S6675-8 with a full scoreboard, too
TEST(Scoreboard, AFullOneMergesRangesToSplitAnother) {
  Config config = sender_config();
  config.tcp.sent_per_connection = Count{4};
  Pairs flow(config);
  flow.write_pairs(5);
  ASSERT_EQ(flow.info().ranges, 4u);
  flow.sack(1, {{1001, 10'001}});
  EXPECT_EQ(flow.info().sacked.count, 9000u);
  EXPECT_EQ(flow.stack.statistics().tcp.sacks_forgotten, 0u);
  flow.advance(ms(20));
  EXPECT_EQ(flow.segments(), "1+1000");
  EXPECT_EQ(flow.stack.statistics().tcp.timeouts, 0u);
}

// One peer that SACKs every other segment leaves enough records for the first loss of another.
TEST(Scoreboard, SplitOnesLeaveRecordsToOthers) {
  Config config = sender_config();
  config.tcp.sent_max = Count{64};
  config.tcp.initial_window = tcp::InitialWindow::rfc6928;
  Pairs flow(config);
  auto const ours = std::pair(flow.id, flow.device_iss);
  IpAddress const peer = flow.peer;
  flow.peer = IpAddress::v4(10, 0, 0, 77);
  flow.deliver({.flags = flag::syn, .mss = 100, .sack_permitted = true});
  flow.take();
  flow.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = 65535});
  for (std::uint32_t i = 0; i < 200; ++i) {
    static_cast<void>(flow.stack.write(flow.id, Kit::bytes_of(octets(1, 100)), More::no));
    flow.turn();
    flow.advance(ms(1));
    flow.sack(1, {{2 * i * 100 + 101, 2 * i * 100 + 201}});
  }
  EXPECT_LE(flow.info().ranges, 48u);
  flow.take();
  flow.peer = peer;
  std::tie(flow.id, flow.device_iss) = ours;
  flow.write_pairs(3);
  flow.sack(1, {{1001, 6001}});
  EXPECT_EQ(flow.info().sacked.count, 5000u);
}

// One ACK with ECE and one loss in each window, with an alpha near zero.
//= rfc8257#3.5
//= type=test
//# 8257:DCTCP-10 a loss halves the window, whatever a mark has taken from it
TEST(Dctcp, ALossInAMarkedWindowHalvesIt) {
  Config config = sender_config();
  config.tcp.congestion = tcp::Congestion::dctcp;
  config.tcp.ecn = tcp::EcnPolicy::on;
  LongFlow flow(config);
  flow.carry(20'000'000);
  flow.ack(flow.una() + LongFlow::segment, flag::ece);
  flow.carry(3'000'000'000);
  ASSERT_LT(flow.info().alpha, 100u);
  std::uint32_t const before = flow.info().cwnd.count;
  flow.ack(flow.una() + LongFlow::segment, flag::ece);
  std::uint32_t const una = flow.una();
  for (std::uint32_t i = 1; i < 8; ++i) {
    flow.sack(una, una + LongFlow::segment, una + LongFlow::segment * (i + 1));
  }
  ASSERT_TRUE(flow.info().fast_recovery);
  EXPECT_LE(flow.info().ssthresh.count, before / 2 + LongFlow::segment);
}

}  // namespace
}  // namespace lockstep::testing
