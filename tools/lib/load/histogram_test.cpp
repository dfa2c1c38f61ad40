// The buckets of the histogram, tested at their edges.
#include "tools/lib/load/histogram.hpp"

#include <gtest/gtest.h>

namespace lockstep::load {
namespace {

TEST(Histogram, SmallTimesAreExact) {
  Histogram times;
  for (std::uint64_t ns = 1; ns <= 100; ++ns) {
    times.add(Duration{ns});
  }
  EXPECT_EQ(times.at({50'000}), Duration{50});
  EXPECT_EQ(times.at({99'000}), Duration{99});
  EXPECT_EQ(times.at({99'900}), Duration{100});
  EXPECT_EQ(times.at({0}), Duration{1});
  EXPECT_EQ(times.least(), Duration{1});
  EXPECT_EQ(times.most(), Duration{100});
  EXPECT_EQ(times.mean(), Duration{50});
}

TEST(Histogram, NeverBelowTheValueAndAtMostA128thAbove) {
  for (std::uint64_t ns = 1; ns < std::uint64_t{1} << 41; ns += ns / 3 + 1) {
    Histogram times;
    times.add(Duration{ns});
    times.add(Duration{ns * 4});  // so that the most does not limit the result
    Duration const half = times.at({50'000});
    EXPECT_GE(half, Duration{ns});
    EXPECT_LE(half.ns, ns + ns / 128);
  }
}

TEST(Histogram, BucketsTouchEachOther) {
  Histogram times;
  for (std::uint64_t ns : {0u, 127u, 128u, 255u, 256u, 257u, 258u}) {
    times.add(Duration{ns});
  }
  std::uint64_t sum = 0;
  Duration last;
  times.visit([&](Duration from, Duration to, std::uint64_t count) {
    EXPECT_LT(from, to);
    EXPECT_GE(from, last);
    last = to;
    sum += count;
  });
  EXPECT_EQ(sum, 7u);
  EXPECT_EQ(last, Duration{260});
}

TEST(Histogram, TwoHistogramsCanBeAdded) {
  Histogram a;
  Histogram b;
  Histogram both;
  for (std::uint64_t ns = 1; ns < 5'000'000; ns = ns * 3 + 1) {
    (ns % 2 == 0 ? a : b).add(Duration{ns});
    both.add(Duration{ns});
  }
  a.add(b);
  EXPECT_EQ(a.count(), both.count());
  EXPECT_EQ(a.least(), both.least());
  EXPECT_EQ(a.most(), both.most());
  EXPECT_EQ(a.mean(), both.mean());
  EXPECT_EQ(a.at({50'000}), both.at({50'000}));
}

TEST(Histogram, EndlessValuesAreLongerThanAny) {
  Histogram times;
  EXPECT_EQ(times.at({50'000}, 0), Duration{});
  EXPECT_EQ(times.at({50'000}, 1), Duration::forever());
  for (std::uint64_t ns = 1; ns <= 99; ++ns) {
    times.add(Duration{ns});
  }
  EXPECT_EQ(times.at({50'000}, 1), Duration{50});
  EXPECT_EQ(times.at({99'000}, 1), Duration{99});
  EXPECT_EQ(times.at({99'001}, 1), Duration::forever());
  EXPECT_EQ(times.at({50'000}, 99), Duration{99});
  EXPECT_EQ(times.at({50'000}, 101), Duration::forever());
}

TEST(Histogram, LongerThanAnyBucketIsInTheLast) {
  Histogram times;
  times.add(Duration::seconds(100'000));
  EXPECT_EQ(times.at({50'000}), Duration::seconds(100'000));
}

}  // namespace
}  // namespace lockstep::load
