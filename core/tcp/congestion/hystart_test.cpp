// RFC 9406: rounds, the conservative phase, and its two exits.
#include "core/tcp/congestion/hystart.hpp"

#include <gtest/gtest.h>

namespace lockstep::tcp::hystart {
namespace {

constexpr Bytes smss{1000};

struct Bench {
  CongestionVariables v;
  ControllerState state;
  Config config;
  Sequence una{5000};

  Bench() {
    config.hystart = true;
    v.cwnd = {10'000};
    v.ssthresh = {congestion::cwnd_max};
  }
  void ack(std::uint32_t newly, Duration rtt) {
    una = una + Bytes{newly};
    congestion::Acked acked;
    acked.newly = {newly};
    acked.una = una;
    acked.nxt = una + v.cwnd;
    acked.sample.valid = rtt.ns != 0;
    acked.sample.rtt = rtt;
    congestion::Subject s{v, state, config, smss, {}};
    slow_start(s, acked);
  }
  // Acknowledges the flight one segment at a time: one round.
  void round(std::uint64_t rtt_ms) {
    Sequence const end = una + v.cwnd;
    while (una.before(end)) {
      ack(1'000, Duration::milliseconds(rtt_ms));
    }
  }
};

//= rfc9406#4.2
//= type=test
//# 9406:HSPP-3 a round that ended gigabytes ago is over, even after sequence numbers wrapped
TEST(HyStart, RoundsContinueAfterALongPause) {
  Bench bench;
  bench.round(40);
  // The application used a part of cwnd: cwnd did not grow, and no round ended.
  bench.una = bench.una + Bytes{0x9000'0000};
  bench.round(40);
  bench.round(40);
  bench.round(56);
  bench.round(56);
  EXPECT_TRUE(bench.state.slow.conservative);
}

//= rfc9406#4.2
//= type=test
//# 9406:HSPP-1, 9406:HSPP-2 an RTT longer by an eighth, at least 4 ms, ends slow start
//# 9406:HSPP-3 from one round to the next
//# 9406:HSPP-13 the first round has no previous minimum
TEST(HyStart, TheRoundTripGrows) {
  Bench bench;
  bench.round(40);
  bench.round(40);
  EXPECT_FALSE(bench.state.slow.conservative);
  bench.round(44);
  EXPECT_FALSE(bench.state.slow.conservative);
  bench.round(49);
  EXPECT_FALSE(bench.state.slow.conservative);
  bench.round(56);
  EXPECT_TRUE(bench.state.slow.conservative);
  Bench near;
  near.round(1);
  near.round(4);
  EXPECT_FALSE(near.state.slow.conservative);
  near.round(8);
  EXPECT_TRUE(near.state.slow.conservative);
  Bench far;
  far.round(300);
  far.round(315);
  EXPECT_FALSE(far.state.slow.conservative);
  far.round(331);
  EXPECT_TRUE(far.state.slow.conservative);
}

//= rfc9406#4.2
//= type=test
//# 9406:HSPP-1 fewer than eight samples have no effect
TEST(HyStart, EightSamples) {
  Bench bench;
  bench.round(40);
  bench.round(40);
  while (bench.state.slow.samples != 0) {
    bench.ack(1'000, Duration::milliseconds(40));
  }
  for (int i = 0; i < 7; ++i) {
    bench.ack(1'000, Duration::milliseconds(400));
    ASSERT_FALSE(bench.state.slow.conservative);
  }
  bench.ack(1'000, Duration::milliseconds(400));
  EXPECT_TRUE(bench.state.slow.conservative);
}

//= rfc9406#4.2
//= type=test
//# 9406:HSPP-4 what was acknowledged, at most eight segments
//# 9406:HSPP-5 a quarter of it in conservative slow start
//= rfc9406#4.3
//= type=test
//# 9406:HSPP-12 a divisor of four; the minimum is two
TEST(HyStart, Growth) {
  Bench bench;
  bench.ack(3'000, {});
  EXPECT_EQ(bench.v.cwnd.count, 13'000u);
  bench.ack(12'000, {});
  EXPECT_EQ(bench.v.cwnd.count, 21'000u);
  bench.config.pacing = true;
  bench.ack(12'000, {});
  EXPECT_EQ(bench.v.cwnd.count, 33'000u);
  bench.state.slow.conservative = true;
  bench.ack(4'000, {});
  EXPECT_EQ(bench.v.cwnd.count, 34'000u);
}

//= rfc9406#4.2
//= type=test
//# 9406:HSPP-6 an RTT below the baseline ends the conservative phase
TEST(HyStart, BackToSlowStart) {
  Bench bench;
  bench.round(40);
  bench.round(40);
  bench.round(60);
  ASSERT_TRUE(bench.state.slow.conservative);
  bench.round(50);
  EXPECT_FALSE(bench.state.slow.conservative);
  EXPECT_EQ(bench.v.ssthresh.count, congestion::cwnd_max);
}

//= rfc9406#4.2
//= type=test
//# 9406:HSPP-7 after five rounds congestion avoidance begins with ssthresh = cwnd
TEST(HyStart, FiveRounds) {
  Bench bench;
  bench.round(40);
  bench.round(40);
  bench.round(60);
  ASSERT_TRUE(bench.state.slow.conservative);
  int rounds = 0;
  while (bench.v.ssthresh.count == congestion::cwnd_max) {
    bench.round(60);
    ASSERT_LT(++rounds, 6);
  }
  EXPECT_GE(rounds, 4);
  EXPECT_LE(bench.v.ssthresh, bench.v.cwnd);
}

//= rfc9406#4.2
//= type=test
//# 9406:HSPP-8 after a loss or ECE slow start is as in RFC 5681
TEST(HyStart, OnlyTheFirstSlowStart) {
  Bench bench;
  bench.v.ssthresh = {1'000'000};
  for (std::uint64_t rtt : {40u, 40u, 80u, 160u}) {
    bench.round(rtt);
  }
  EXPECT_FALSE(bench.state.slow.begun);
  bench.ack(5'000, {});
  Bench off;
  off.config.hystart = false;
  off.ack(5'000, {});
  EXPECT_EQ(off.v.cwnd.count, 11'000u);
}

}  // namespace
}  // namespace lockstep::tcp::hystart
