// RFC 9438 as arithmetic: the cubic, its inverse, growth regions, and reductions.
#include "core/tcp/congestion/cubic.hpp"

#include <gtest/gtest.h>

#include "core/units/random.hpp"

namespace lockstep::tcp::cubic {
namespace {

using congestion::Acked;
using congestion::Signal;
using congestion::Subject;

constexpr Bytes smss{1000};

// One controller with its window, and a clock.
struct Bench {
  CongestionVariables v;
  ControllerState state;
  Config config;
  Instant now = Instant{0} + Duration::seconds(1000);
  Duration srtt = Duration::milliseconds(100);
  Sequence una{1000};

  Subject subject() { return {v, state, config, smss, now}; }
  void ack(std::uint32_t newly, bool limited = false) {
    una = una + Bytes{newly};
    Acked acked;
    acked.newly = {newly};
    acked.una = una;
    acked.nxt = una + v.cwnd;
    acked.srtt = srtt;
    acked.limited = limited;
    state.peak = v.cwnd;
    Subject s = subject();
    on_ack(s, acked);
  }
  // One window of ACKs, one per segment, in one round trip.
  void round() {
    std::uint32_t const acks = v.cwnd.count / smss.count;
    for (std::uint32_t i = 0; i < acks; ++i) {
      now = now + srtt / acks;
      ack(smss.count);
    }
  }
  void lose(Signal signal = Signal::loss) {
    Subject s = subject();
    v.ssthresh = most(reduced(s, v.cwnd, signal), Bytes{2 * smss.count});
    v.cwnd = v.ssthresh;
  }
};

Bench at(std::uint32_t cwnd, std::uint32_t ssthresh) {
  Bench bench;
  bench.v.cwnd = {cwnd};
  bench.v.ssthresh = {ssthresh};
  return bench;
}

TEST(CubeRoot, IsTheGreatestWholeOneBelow) {
  auto const cubed = [](std::uint64_t x) { return x * x * x; };
  for (std::uint64_t x : {0ull, 1ull, 7ull, 8ull, 9ull, 26ull, 27ull, ~0ull,
                          2642245ull * 2642245 * 2642245, (1ull << 63)}) {
    std::uint64_t const root = cube_root(x);
    EXPECT_LE(cubed(root), x);
    EXPECT_TRUE(root == 2642245 || cubed(root + 1) > x) << x;
  }
  Random draw(1);
  for (int i = 0; i < 10'000; ++i) {
    std::uint64_t const root = draw.below(2'642'245);
    EXPECT_EQ(cube_root(cubed(root)), root);
    EXPECT_EQ(cube_root(cubed(root + 1) - 1), root);
  }
}

//= rfc9438#4.2
//= type=test
//# 9438:CUBIC-19 K cubed times C is the rise, exact to a unit of K
//= rfc9438#5.1
//= type=test
//# 9438:CUBIC-14 C is 0.4
TEST(Cubic, KIsTheInverse) {
  for (std::uint32_t rise : {1'000u, 30'000u, 300'000u, 123'456'789u}) {
    // 0.4 * (K / 4096)^3 * 1000 octets, times 5 * 2^36 to be an integer.
    auto const octets = [](std::uint64_t k) { return k * k * k * 2 * 200 / 1'000; };
    std::uint64_t const scaled = (std::uint64_t{rise} << 36) / 1'000;
    std::uint64_t const k = k_of(Bytes{rise}, smss);
    EXPECT_LE(octets(k), scaled);
    EXPECT_GT(octets(k + 2), scaled);
  }
  EXPECT_EQ(k_of(Bytes{0}, smss), 0u);
}

// Segments of the cubic as exact fractions: 2 * d^3 / 5 with d in seconds = units / 4096.
//= rfc9438#4.2
//= type=test
//# 9438:CUBIC-2 W_cubic(t) = C * (t - K)^3 + W_max
TEST(Cubic, FollowsItsEquation) {
  Cubic q;
  q.origin = {100'000'000};
  q.k = k_of(Bytes{30'000'000}, smss);
  for (std::uint64_t ms = 0; ms <= 120'000; ms += 50) {
    Duration const t = Duration::milliseconds(ms);
    std::int64_t const away =
        static_cast<std::int64_t>(units_of(t)) - static_cast<std::int64_t>(q.k);
    // Octets * 5 * 2^36, at most (2^20)^3 * 2000: within 2^72, so split into two factors.
    std::int64_t const d = away < 0 ? -away : away;
    std::uint64_t const cubed = static_cast<std::uint64_t>(d * d * d);
    std::uint64_t const rise = cubed / 5 * 2 / (1u << 16) * 1'000 / (1u << 20);
    std::int64_t const exact = 100'000'000 + static_cast<std::int64_t>(rise) * (away < 0 ? -1 : 1);
    std::int64_t const capped = std::min<std::int64_t>(exact, congestion::cwnd_max);
    EXPECT_NEAR(static_cast<double>(window_at(q, t, smss).count), static_cast<double>(capped), 2.0)
        << ms;
  }
}

TEST(Cubic, NothingWraps) {
  Cubic q;
  q.origin = {1u << 30};
  q.k = k_of(Bytes{1u << 30}, Bytes{28});
  for (Bytes size : {Bytes{28}, Bytes{1460}, Bytes{65'495}}) {
    for (Duration t :
         {Duration{}, Duration::seconds(3), Duration::seconds(100'000), Duration::forever()}) {
      EXPECT_LE(window_at(q, t, size).count, 1u << 30);
      EXPECT_GE(window_at(q, t, size).count, size.count);
    }
  }
}

//= rfc9438#4.10
//= type=test
//# 9438:CUBIC-13 slow start below ssthresh only
TEST(Cubic, SlowStartUpToSsthresh) {
  Bench bench = at(4'000, 5'000);
  bench.ack(1'000);
  EXPECT_EQ(bench.v.cwnd.count, 5'000u);
  bench.ack(1'000);
  EXPECT_LT(bench.v.cwnd.count, 6'000u);
}

//= rfc9438#4.6
//= type=test
//# 9438:CUBIC-15, 9438:CUBIC-16 seven tenths of the flight, at once
//# 9438:CUBIC-7 ssthresh is set before any retransmission
//# 9438:CUBIC-8 from the flight, not from unused cwnd
//= rfc9438#4.7
//= type=test
//# 9438:CUBIC-10 after a second loss below W_max, W_max is 0.85 of cwnd
TEST(Cubic, LossAndFastConvergence) {
  Bench bench = at(100'000, 1 << 30);
  bench.lose();
  EXPECT_EQ(bench.v.cwnd.count, 70'000u);
  EXPECT_EQ(w_max_of(bench.v).count, 100'000u);
  EXPECT_EQ(cwnd_prior_of(bench.v).count, 100'000u);
  bench.lose();
  EXPECT_EQ(bench.v.cwnd.count, 49'000u);
  EXPECT_EQ(w_max_of(bench.v).count, 59'500u);
  EXPECT_EQ(cwnd_prior_of(bench.v).count, 70'000u);
  bench.v.cwnd = {80'000};
  Subject s = bench.subject();
  EXPECT_EQ(reduced(s, Bytes{20'000}, Signal::loss).count, 14'000u);
  EXPECT_EQ(w_max_of(bench.v).count, 80'000u);
}

// Concave up to W_max, flat there, convex beyond: after each round cwnd is on the curve.
//= rfc9438#4.4
//= type=test
//# 9438:CUBIC-5 concave below W_max
//= rfc9438#4.5
//= type=test
//# 9438:CUBIC-6 convex above it
//= rfc9438#4.2
//= type=test
//# 9438:CUBIC-2 at most 1.5 times as much in a round
//# 9438:CUBIC-20 only by ACKs of new data
TEST(Cubic, GrowsAlongTheCurve) {
  Bench bench = at(1'000'000, 1 << 30);
  bench.lose();
  bench.ack(1'000);
  std::uint32_t concave = 0;
  std::uint32_t convex = 0;
  std::uint32_t step = 0;
  for (int i = 0; i < 200; ++i) {
    std::uint32_t const before = bench.v.cwnd.count;
    Duration const t = bench.state.cubic.elapsed;
    bench.round();
    ASSERT_LE(bench.v.cwnd.count, before + before / 2 + 1'000);
    Cubic const& q = bench.state.cubic;
    std::uint32_t const expected = window_at(q, q.elapsed, smss).count;
    ASSERT_NEAR(bench.v.cwnd.count, expected, std::max(1'000u, expected / 50)) << i << " " << t.ns;
    std::uint32_t const grown = bench.v.cwnd.count - before;
    concave += before < 990'000 && grown < step ? 1 : 0;
    convex += before > 1'010'000 && grown > step ? 1 : 0;
    step = grown;
  }
  EXPECT_GT(concave, 50u);
  EXPECT_GT(convex, 50u);
}

//= rfc9438#4.3
//= type=test
//# 9438:CUBIC-3 with a small window Reno's estimate is larger: 9/17 of a segment per round
//# 9438:CUBIC-4 a whole one from cwnd_prior on
//# 9438:CUBIC-21 starting at cwnd of the stage
TEST(Cubic, RenoFriendlyRegion) {
  Bench bench = at(20'000, 1 << 30);
  bench.srtt = Duration::milliseconds(5);
  bench.lose();
  ASSERT_EQ(bench.v.cwnd.count, 14'000u);
  for (int i = 0; i < 8; ++i) {
    bench.round();
  }
  // 8 rounds of 9/17 segments each.
  EXPECT_NEAR(bench.v.cwnd.count, 14'000u + 8 * 9'000 / 17, 200);
  while (bench.v.cwnd.count < 20'000) {
    bench.round();
  }
  std::uint32_t const before = bench.v.cwnd.count;
  for (int i = 0; i < 4; ++i) {
    bench.round();
  }
  EXPECT_NEAR(bench.v.cwnd.count, before + 4'000, 300);
}

//= rfc9438#4.8
//= type=test
//# 9438:CUBIC-11 after a timeout K is 0: no plateau
//# 9438:CUBIC-17 and W_est starts there as well
TEST(Cubic, StageAfterATimeout) {
  Bench bench = at(100'000, 1 << 30);
  bench.lose(Signal::timeout);
  EXPECT_EQ(bench.v.ssthresh.count, 70'000u);
  bench.v.cwnd = {70'000};
  bench.ack(1'000);
  EXPECT_EQ(bench.state.cubic.k, 0u);
  EXPECT_EQ(bench.state.cubic.origin.count, 70'000u);
  EXPECT_EQ(bench.state.cubic.estimate >> 16, 70'000u + 1'000 * 9 / 17 / 70);
}

//= rfc9438#4.10
//= type=test
//# 9438:CUBIC-22 slow start ended without a loss: K is 0, W_max and cwnd_prior are cwnd
TEST(Cubic, StageAfterHyStart) {
  Bench bench = at(64'000, 64'000);
  bench.ack(1'000);
  EXPECT_EQ(bench.state.cubic.k, 0u);
  EXPECT_EQ(w_max_of(bench.v).count, 64'000u);
  EXPECT_EQ(cwnd_prior_of(bench.v).count, 64'000u);
}

//= rfc9438#4.2
//= type=test
//# 9438:CUBIC-1 application-limited time does not count
//= rfc9438#5.8
//= type=test
//# 9438:CUBIC-24 and cwnd does not grow in it
TEST(Cubic, ApplicationLimited) {
  Bench bench = at(100'000, 1 << 30);
  bench.lose();
  bench.ack(1'000);
  std::uint32_t const before = bench.v.cwnd.count;
  for (int i = 0; i < 1'000; ++i) {
    bench.now = bench.now + Duration::milliseconds(100);
    bench.ack(1'000, true);
  }
  EXPECT_EQ(bench.v.cwnd.count, before);
  EXPECT_EQ(bench.state.cubic.elapsed, Duration{});
  bench.now = bench.now + Duration::milliseconds(100);
  bench.ack(1'000);
  EXPECT_EQ(bench.state.cubic.elapsed, Duration::milliseconds(100));
}

TEST(Cubic, IdleTimeDoesNotCount) {
  Bench bench = at(100'000, 1 << 30);
  bench.lose();
  bench.ack(1'000);
  bench.state.cubic.drained = true;
  bench.now = bench.now + Duration::seconds(30);
  bench.ack(1'000);
  EXPECT_EQ(bench.state.cubic.elapsed, bench.srtt);
}

}  // namespace
}  // namespace lockstep::tcp::cubic
