// Pacing on the wire, exact to the nanosecond of virtual time, and its rate samples.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

Config paced_config(bool on = true) {
  Config config = flow_config();
  config.tcp.pacing = on;
  config.tcp.pacing_quantum = Duration{0};
  config.tcp.rate_samples = true;
  return config;
}

constexpr Peer far{1000, 65535, Duration::milliseconds(80)};

// cwnd is 4 segments and SRTT 80 ms: twice that rate in slow start is one segment per 10 ms.
TEST(Pacing, SpreadsTheWindow) {
  Flow flow(paced_config(), far);
  Instant const begun = flow.now;
  flow.write_octets(100'000);
  flow.advance(Duration::milliseconds(70));
  auto const out = flow.take();
  ASSERT_EQ(out.size(), 4u);
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i].at, begun + Duration::milliseconds(10 * i)) << i;
  }
  EXPECT_EQ(flow.info().pacing_rate, 100'000u);
}

// The peer delayed its ACK of a request by 40 ms, which SRTT holds for many round trips: the rate
// follows the newer round trip of 1 ms.
TEST(Pacing, ADelayedAckOfARequestSlowsNothingLater) {
  constexpr Peer near{1000, 65535, Duration::milliseconds(1)};
  Config config = paced_config();
  config.tcp.rate_samples = false;
  Flow flow(config, near);
  flow.write_octets(100);
  flow.advance(Duration::milliseconds(41));
  flow.ack(101);
  flow.write_octets(50'000);
  flow.advance(Duration::milliseconds(1));
  flow.ack(1101);
  EXPECT_EQ(flow.info().pacing_rate, flow.cwnd() * 2 * 1000u);
}

// At no round trip at all the rate is finite.
TEST(Pacing, ARoundTripOfNothing) {
  Flow flow(paced_config(), Peer{});
  flow.write_octets(50'000);
  flow.ack(1001);
  EXPECT_EQ(flow.info().pacing_rate, flow.cwnd() * 2 * 1'000'000ull);
}

TEST(Pacing, OffSendsAtOnce) {
  Flow flow(paced_config(false), far);
  Instant const begun = flow.now;
  flow.write_octets(100'000);
  auto const out = flow.take();
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[3].at, begun);
  EXPECT_EQ(flow.info().pacing_rate, 0u);
}

// 10 ms at 100,000 octets per second are one segment; in 25 ms two fit, and the rest follows
// evenly.
TEST(Pacing, AQuantumLeavesBackToBack) {
  Config config = paced_config();
  config.tcp.pacing_quantum = Duration::milliseconds(25);
  Flow flow(config, far);
  Instant const begun = flow.now;
  flow.write_octets(100'000);
  flow.advance(Duration::milliseconds(70));
  auto const out = flow.take();
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[1].at, begun);
  EXPECT_EQ(out[2].at, begun + Duration::milliseconds(5));
  EXPECT_EQ(out[3].at, begun + Duration::milliseconds(15));
}

// Paced data waits on the wheel: no turn is needed in between, and other segments are not delayed.
TEST(Pacing, WaitsOnTheWheel) {
  Flow flow(paced_config(), far);
  flow.write_octets(100'000);
  EXPECT_FALSE(flow.stack.wants_transmit());
  EXPECT_LE(flow.stack.deadline(), flow.now + Duration::milliseconds(10));
  flow.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = octets(1, 1000)});
  flow.deliver({.flags = flag::ack, .seq = 1001, .ack = 1, .data = octets(1001, 1000)});
  auto const out = flow.take();
  ASSERT_EQ(out.size(), 2u);
  EXPECT_TRUE(out[1].data.empty());
}

// The path delivers one segment per 20 ms, however many were sent at once.
TEST(RateSample, IsThatOfThePath) {
  Flow flow(paced_config(false), far);
  flow.write_octets(100'000);
  flow.advance(Duration::milliseconds(80));
  for (std::uint32_t i = 1; i <= 12; ++i) {
    flow.ack(1 + i * 1000);
    flow.advance(Duration::milliseconds(20));
  }
  auto const rate = flow.info().rate;
  ASSERT_TRUE(rate.valid);
  EXPECT_FALSE(rate.limited);
  EXPECT_EQ(rate.delivered.count * 20'000'000ull, 1'000 * rate.interval.ns);
}

// A burst of ACKs gives no higher rate than the sending rate.
TEST(RateSample, AckCompressionIsNoFastPath) {
  Flow flow(paced_config(), far);
  flow.write_octets(100'000);
  flow.advance(Duration::milliseconds(100));
  for (std::uint32_t i = 1; i <= 4; ++i) {
    flow.ack(1 + i * 1000);
  }
  auto const rate = flow.info().rate;
  ASSERT_TRUE(rate.valid);
  EXPECT_GE(rate.interval, Duration::milliseconds(30));
}

TEST(RateSample, KnowsAnIdleApplication) {
  Flow flow(paced_config(false), far);
  flow.write_octets(2000);
  flow.advance(Duration::milliseconds(80));
  flow.ack(2001);
  EXPECT_TRUE(flow.info().rate.limited || !flow.info().rate.valid);
}

// An ACK of retransmitted data gives no sample.
TEST(RateSample, NotOfRetransmittedData) {
  Flow flow(paced_config(false), far);
  flow.write_octets(100'000);
  flow.time_out();
  flow.advance(Duration::milliseconds(80));
  flow.ack(4001);
  EXPECT_FALSE(flow.info().rate.valid);
}

}  // namespace
}  // namespace lockstep::testing
