// RFC 6298's estimator, by hand and compared with a more precise model.
#include "core/tcp/rtt.hpp"

#include "core/tcp/expiry.hpp"

#include <gtest/gtest.h>

#include "core/units/random.hpp"

namespace lockstep::tcp {
namespace {

constexpr Duration ms(std::uint64_t count) { return Duration::milliseconds(count); }

Config no_floor() {
  Config config;
  config.rto_min = Duration{1};
  config.rto_granularity = ms(10);
  return config;
}

TEST(TimerSteps, AreAnEighthOfTheDelayAtMostAndAlwaysTheNext) {
  struct Row {
    Instant now;
    Duration delay;
    Duration at;
  };
  for (Row const& row :
       {Row{{}, ms(2), ms(3)}, Row{{}, ms(62), ms(63)}, Row{{}, ms(63), ms(64)},
        Row{{}, ms(300), ms(304)}, Row{{}, ms(503), ms(504)}, Row{{}, ms(504), ms(528)},
        Row{{}, ms(4031), ms(4048)}, Row{{}, ms(4032), ms(4176)},
        Row{Instant{} + ms(100), ms(300), ms(408)}, Row{Instant{} + ms(408), ms(600), ms(1040)},
        Row{{}, Duration::seconds(86'400), ms(86'494'800)}}) {
    EXPECT_EQ(stepped(row.now, row.delay).ns, row.at.ns) << row.delay.ns;
    EXPECT_GT(stepped(row.now, row.delay), row.now + row.delay);
  }
}

//= rfc6298#2.2
//= type=test
//# 6298:RTO-2 SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 * RTTVAR
TEST(Rtt, FirstSample) {
  RttVariables rtt;
  add_rtt_sample(rtt, ms(100), no_floor());
  EXPECT_EQ(srtt_of(rtt), ms(100));
  EXPECT_EQ(rttvar_of(rtt), ms(50));
  EXPECT_EQ(rtt.rto(), ms(300));
}

//= rfc6298#2.3
//= type=test
//# 6298:RTO-3, 6298:RTO-18 RTTVAR by a quarter of the deviation from the old SRTT, then SRTT by 1/8
// Predecessor, defect 7: gains of integer zero, and `min` where the RFC says `max`.
TEST(Rtt, Defect07_GainsAreNotZero) {
  RttVariables rtt;
  add_rtt_sample(rtt, ms(100), no_floor());
  add_rtt_sample(rtt, ms(180), no_floor());
  // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5; SRTT = 7/8 * 100 + 1/8 * 180 = 110; RTO = 110 + 230.
  EXPECT_EQ(rttvar_of(rtt), Duration::microseconds(57'500));
  EXPECT_EQ(srtt_of(rtt), ms(110));
  EXPECT_EQ(rtt.rto(), ms(340));
  add_rtt_sample(rtt, ms(30), no_floor());
  // RTTVAR = 3/4 * 57.5 + 1/4 * 80 = 63.125; SRTT = 7/8 * 110 + 1/8 * 30 = 100; RTO = 352.5.
  EXPECT_EQ(rttvar_of(rtt), Duration::microseconds(63'125));
  EXPECT_EQ(srtt_of(rtt), ms(100));
  EXPECT_EQ(rtt.rto(), Duration::microseconds(352'500));
}

//= rfc6298#2.4
//= type=test
//# 6298:RTO-4 raised to the minimum: `max`, not `min`
//= rfc6298#2.5
//= type=test
//# 6298:RTO-5 and lowered to the maximum
TEST(Rtt, Defect07_Bounds) {
  Config config;
  config.rto_min = Duration::seconds(1);
  config.rto_max = Duration::seconds(60);
  RttVariables rtt;
  add_rtt_sample(rtt, ms(1), config);
  EXPECT_EQ(rtt.rto(), Duration::seconds(1));
  add_rtt_sample(rtt, Duration::seconds(3000), config);
  EXPECT_EQ(rtt.rto(), Duration::seconds(60));
}

//= rfc6298#4
//= type=test
//# 6298:RTO-8 with no variance left the clock granularity is used
TEST(Rtt, GranularityReplacesZeroVariance) {
  RttVariables rtt;
  for (int i = 0; i < 200; ++i) {
    add_rtt_sample(rtt, ms(200), no_floor());
  }
  EXPECT_EQ(srtt_of(rtt), ms(200));
  EXPECT_EQ(rtt.rto(), ms(210));
}

//= rfc6298#5.5
//= type=test
//# 6298:RTO-14 doubled on expiry, up to the maximum
//= rfc6298#2.1
//= type=test
//# 6298:RTO-20 also without any sample
//= rfc6298#5
//= type=test
//# 6298:RTO-21 and recomputed from the next sample
TEST(Rtt, BackOffDoublesUntilASample) {
  Config config;
  RttVariables rtt;
  rtt.set_rto(Duration::seconds(1));
  std::string seen;
  for (int i = 0; i < 9; ++i) {
    back_off(rtt, config);
    seen += std::to_string(rtt.rto().ns / 1'000'000'000) + " ";
  }
  EXPECT_EQ(seen, "2 4 8 16 32 64 120 120 120 ");
  add_rtt_sample(rtt, ms(500), config);
  EXPECT_EQ(rtt.rto(), ms(1500));
}

//= rfc6298#5.7
//= type=test
//# 6298:RTO-16 three seconds if data begins after a lost SYN, unless there was a sample
TEST(Rtt, DataBeginsAfterALostSyn) {
  Config config;
  RttVariables rtt;
  rtt.set_rto(Duration::seconds(2));
  begin_data(rtt, false, config);
  EXPECT_EQ(rtt.rto(), Duration::seconds(2));
  begin_data(rtt, true, config);
  EXPECT_EQ(rtt.rto(), Duration::seconds(3));
}

// Predecessor, defect 7: intervals wrong by a factor of 1200. Here everything is in nanoseconds,
// and rounding costs less than 2 ns of SRTT and 12 ns of 4 * RTTVAR after any number of samples:
// the model has a resolution of 2^-20 ns.
TEST(Rtt, Defect07_AgreesWithTheFormulas) {
  constexpr std::uint64_t fine = 1u << 20;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random draw(seed);
    RttVariables rtt;
    std::uint64_t srtt = 0;
    std::uint64_t rttvar = 0;
    std::uint64_t const longest = draw.within({1, 10'000'000'000});
    for (int i = 0; i < 500; ++i) {
      std::uint64_t const sample = draw.below(longest);
      std::uint64_t const r = sample * fine;
      if (i == 0) {
        srtt = r;
        rttvar = r / 2;
      } else {
        std::uint64_t const deviation = srtt > r ? srtt - r : r - srtt;
        rttvar = rttvar - rttvar / 4 + deviation / 4;
        srtt = srtt - srtt / 8 + r / 8;
      }
      add_rtt_sample(rtt, Duration{sample}, no_floor());
      std::uint64_t const model = srtt / fine;
      ASSERT_LE(srtt_of(rtt).ns, model + 2) << "seed " << seed << " sample " << i;
      ASSERT_GE(srtt_of(rtt).ns + 2, model) << "seed " << seed << " sample " << i;
      std::uint64_t const variance = rttvar / (fine / 4);
      ASSERT_LE(rtt.rttvar4_ns(), variance + 12) << "seed " << seed << " sample " << i;
      ASSERT_GE(rtt.rttvar4_ns() + 12, variance) << "seed " << seed << " sample " << i;
    }
  }
}

// Extreme measurements neither wrap nor persist.
TEST(Rtt, ExtremeSamples) {
  RttVariables rtt;
  add_rtt_sample(rtt, Duration::forever(), no_floor());
  EXPECT_EQ(rtt.rto(), no_floor().rto_max);
  for (int i = 0; i < 300; ++i) {
    add_rtt_sample(rtt, Duration{}, no_floor());
  }
  EXPECT_LE(rtt.rto(), ms(11));
}

}  // namespace
}  // namespace lockstep::tcp
