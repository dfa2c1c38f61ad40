// The driver does not run for a while (a paused process): segments that waited in its ring tell
// nothing about the round trip.
#include "core/stack/testing/sender_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr Duration ms(std::uint64_t count) { return Duration::milliseconds(count); }

// Timestamps, SACK and RACK together, then without RACK, without timestamps and SACK, and with all
// that is measured besides.
class Stall : public ::testing::TestWithParam<int> {
 public:
  Flow flow{config_of(GetParam()), peer_of(GetParam())};

 private:
  static Config config_of(int which) {
    Config config = sender_config();
    config.tcp.nagle = false;
    config.tcp.rack = config.tcp.tail_probe = which != 1;
    config.tcp.accounts = config.tcp.rate_samples = which == 3;
    return config;
  }
  static Peer peer_of(int which) {
    Peer peer = bare_peer(1460, which == 2 ? 0 : 1000);
    peer.sack = which != 2;
    return peer;
  }
};
INSTANTIATE_TEST_SUITE_P(Switches, Stall, ::testing::Range(0, 4));

// What the timeout depends on.
std::string estimate(const Flow& flow) {
  ConnectionInfo const info = flow.info();
  return std::to_string(info.srtt.ns) + " " + std::to_string(info.rttvar.ns) + " " +
         std::to_string(info.rto.ns);
}

// A round trip of 50 ms.
void request(Flow& flow) {
  flow.write_octets(1000);
  flow.advance(ms(50));
  flow.ack(flow.written + 1);
}

// No turn in between: no timer of the stack fires.
void pause(Flow& flow, Duration by) { flow.now = flow.now + by; }

//= rfc6298#3
//= type=test
//# 6298:RTO-6, 6298:RTO-23 no sample from a segment whose time of arrival is unknown
TEST_P(Stall, WhatWaitedMeasuresNothing) {
  request(flow);
  std::string const before = estimate(flow);
  flow.write_octets(3000);
  pause(flow, Duration::seconds(3600));
  flow.ack(flow.written - 1500);
  EXPECT_EQ(estimate(flow), before);
  // More than one burst may have waited.
  pause(flow, ms(1));
  flow.ack(flow.written + 1);
  EXPECT_EQ(estimate(flow), before);
  flow.take();
  flow.advance(ms(200));
  request(flow);
  EXPECT_NE(estimate(flow), before);
  EXPECT_LT(flow.info().rto, ms(400));
}

// A network card that stamps packets knows when they arrived.
TEST_P(Stall, AStampedSegmentIsMeasured) {
  request(flow);
  std::string const before = estimate(flow);
  flow.write_octets(1000);
  flow.stamped = flow.now + ms(70);
  pause(flow, Duration::seconds(3600));
  flow.ack(flow.written + 1);
  EXPECT_NE(estimate(flow), before);
  EXPECT_LT(flow.info().srtt, ms(60));
}

// A driver that runs late by less is slow, and the round trip is as long as it seems.
TEST_P(Stall, ALateTurnIsMeasured) {
  request(flow);
  std::string const before = estimate(flow);
  flow.write_octets(1000);
  pause(flow, flow.stack.deadline().since(flow.now) + ms(200));
  flow.ack(flow.written + 1);
  EXPECT_NE(estimate(flow), before);
}

// With nothing in flight no timer is missed, and a long silence is no stall.
TEST_P(Stall, SilenceIsNone) {
  request(flow);
  std::string const before = estimate(flow);
  flow.advance(Duration::seconds(3600));
  request(flow);
  EXPECT_NE(estimate(flow), before);
}

}  // namespace
}  // namespace lockstep::testing
