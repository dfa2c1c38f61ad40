// Host clocks: monotonic in both directions, exact inverses, also near the end of time.
#include "sim/clock/host_clock.hpp"

#include <gtest/gtest.h>

#include "core/units/random.hpp"

namespace lockstep::sim {
namespace {

TEST(HostClock, APlainClockShowsWorldTime) {
  HostClock const clock;
  EXPECT_EQ(clock.local(Instant{17}).ns, 17u);
  EXPECT_EQ(clock.world(Instant{17}).ns, 17u);
  EXPECT_TRUE(clock.world(Instant::never()).is_never());
}

TEST(HostClock, GainsOrLosesPartsPerBillion) {
  HostClock const fast(ClockSpec{Duration{}, 100'000});
  HostClock const slow(ClockSpec{Duration{}, -100'000});
  EXPECT_EQ(fast.local(Instant{1'000'000'000}).ns, 1'000'100'000u);
  EXPECT_EQ(slow.local(Instant{1'000'000'000}).ns, 999'900'000u);
}

TEST(HostClock, WorldGivesTheFirstInstantOfAHostTime) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    auto const skew = static_cast<std::int32_t>(random.below(1'000'000'001)) - 500'000'000;
    std::uint64_t const origin = random.next() >> random.below(64);
    HostClock const clock(ClockSpec{Duration{origin}, skew});
    Instant const at{random.next() >> (1 + random.below(63))};
    Instant const local = clock.local(at);
    if (local.is_never()) {
      continue;
    }
    Instant const back = clock.world(local);
    ASSERT_LE(back.ns, at.ns);
    ASSERT_GE(clock.local(back).ns, local.ns);
    if (back.ns != 0) {
      ASSERT_LT(clock.local(Instant{back.ns - 1}).ns, local.ns);
    }
  }
}

TEST(HostClock, SaturatesAtTheEndOfTime) {
  HostClock const clock(ClockSpec{Duration{Duration::ns_max - 10}, 0});
  EXPECT_EQ(clock.local(Instant{9}).ns, Duration::ns_max - 1);
  EXPECT_TRUE(clock.local(Instant{10}).is_never());
  EXPECT_TRUE(clock.local(Instant{1'000}).is_never());
}

}  // namespace
}  // namespace lockstep::sim
