// Random streams: fixed values, uniform ranges, independent forks.
#include "core/units/random.hpp"

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Random, IsSplitMix64) {
  Random random(1234567);
  for (std::uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                 4593380528125082431u, 16408922859458223821u}) {
    EXPECT_EQ(random.next(), expected);
  }
}

TEST(Random, BelowStaysBelowAndReachesEveryValue) {
  Random random(1);
  for (std::uint64_t limit = 1; limit < 20; ++limit) {
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 1000; ++i) {
      std::uint64_t const drawn = random.below(limit);
      ASSERT_LT(drawn, limit);
      seen.insert(drawn);
    }
    EXPECT_EQ(seen.size(), limit);
  }
}

// The lowest 2^64 mod limit draws are rejected: then all remainders are equally likely.
TEST(Random, BelowRejectsBiasedDraws) {
  constexpr std::uint64_t limit = (std::uint64_t{1} << 63) + 1;
  constexpr std::uint64_t unfair = (std::uint64_t{1} << 63) - 1;
  Random random(5);
  Random raw(5);
  std::uint64_t refused = 0;
  for (int i = 0; i < 1000; ++i) {
    std::uint64_t drawn = raw.next();
    while (drawn < unfair) {
      ++refused;
      drawn = raw.next();
    }
    ASSERT_EQ(random.below(limit), drawn % limit);
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(random.state(), raw.state());
}

TEST(Random, WithinHoldsBothEnds) {
  Random random(2);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 200; ++i) {
    seen.insert(random.within({~std::uint64_t{0} - 2, ~std::uint64_t{0}}));
  }
  EXPECT_EQ(seen, (std::set<std::uint64_t>{~std::uint64_t{0} - 2, ~std::uint64_t{0} - 1,
                                           ~std::uint64_t{0}}));
  EXPECT_EQ(random.within({9, 9}), 9u);
  Random same = random;
  EXPECT_EQ(random.within({0, ~std::uint64_t{0}}), same.next());
}

TEST(Random, ChanceIsExactAtItsEnds) {
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(random.chance({0}));
    ASSERT_TRUE(random.chance({Probability::certain}));
  }
  // This seed's first draw is 10^18, a multiple of 10^9: below() returns the rarest number, 0.
  Random rarest(0xf2cb'1142'5e3c'5bfd);
  EXPECT_EQ(Random(rarest).next(), 1'000'000'000'000'000'000u);
  EXPECT_FALSE(Random(rarest).chance({0}));
  EXPECT_TRUE(Random(rarest).chance({1}));
  Random drawn = random;
  EXPECT_EQ(random.chance({500'000'000}), drawn.below(Probability::certain) < 500'000'000);
}

TEST(Random, AForkIsIndependent) {
  Random parent(4);
  Random const untouched = parent;
  Random loss = parent.fork("loss");
  Random delay = parent.fork("delay");
  EXPECT_EQ(parent.state(), untouched.state());
  EXPECT_NE(loss.state(), delay.state());
  EXPECT_NE(loss.state(), parent.state());
  EXPECT_EQ(parent.fork("loss").state(), loss.state());
  EXPECT_NE(parent.fork("").state(), parent.fork("l").state());
  EXPECT_NE(Random(5).fork("loss").state(), loss.state());
  // Drawing from one does not change the other.
  std::uint64_t const before = delay.state();
  loss.next();
  EXPECT_EQ(delay.state(), before);
}

// Fixed values: a seed gives the same simulation in every build.
TEST(Random, ForksAreTheSameEverywhere) {
  EXPECT_EQ(Random(0).fork("loss").state(), 0xe33a'f872'eba0'10bcu);
}

TEST(RandomDeathTest, RefusesEmptyRanges) {
  Random random(1);
  EXPECT_DEATH(random.below(0), "");
  EXPECT_DEATH(random.within({2, 1}), "");
}

}  // namespace
}  // namespace lockstep
