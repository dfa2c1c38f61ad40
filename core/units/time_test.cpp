// Instants and durations: they saturate, stop at zero, and never wrap.
#include "core/units/time.hpp"

#include <gtest/gtest.h>

#include "core/units/random.hpp"

namespace lockstep {
namespace {

constexpr std::uint64_t last_ns = ~std::uint64_t{0};

static_assert(Duration::seconds(1).ns == 1'000'000'000);
static_assert(Duration::milliseconds(1).ns == 1'000'000);
static_assert(Duration::microseconds(1).ns == 1'000);
static_assert(Duration::nanoseconds(1).ns == 1);
static_assert(Instant::never().is_never());
static_assert(!Instant{last_ns - 1}.is_never());

TEST(Duration, Saturates) {
  EXPECT_EQ(Duration::seconds(last_ns / 1'000'000'000).ns, 18'446'744'073'000'000'000u);
  EXPECT_EQ(Duration::seconds(last_ns / 1'000'000'000 + 1), Duration::forever());
  EXPECT_EQ(Duration::milliseconds(last_ns), Duration::forever());
  EXPECT_EQ(Duration::forever() + Duration{1}, Duration::forever());
  EXPECT_EQ(Duration{last_ns - 5} + Duration{5}, Duration::forever());
  EXPECT_EQ(Duration{last_ns - 5} + Duration{4}, Duration{last_ns - 1});
  EXPECT_EQ(Duration{last_ns / 2} * 3, Duration::forever());
  EXPECT_EQ(Duration{last_ns / 2} * 2, Duration{last_ns - 1});
  EXPECT_EQ(Duration{7} * 0, Duration{0});
  EXPECT_EQ(Duration::forever() / 2, Duration{last_ns / 2});
}

TEST(Duration, FloorsAtZero) {
  EXPECT_EQ(Duration{5} - Duration{6}, Duration{0});
  EXPECT_EQ(Duration{5} - Duration{5}, Duration{0});
  EXPECT_EQ(Duration{5} - Duration{4}, Duration{1});
}

TEST(Instant, SaturatesAtNeverAndFloorsAtTheOrigin) {
  EXPECT_TRUE((Instant{last_ns - 3} + Duration{3}).is_never());
  EXPECT_TRUE((Instant{last_ns - 3} + Duration::forever()).is_never());
  EXPECT_FALSE((Instant{last_ns - 3} + Duration{2}).is_never());
  EXPECT_TRUE((Instant::never() + Duration{1}).is_never());
  EXPECT_EQ(Instant{3} - Duration{4}, Instant{0});
  EXPECT_EQ(Instant{4} - Duration{3}, Instant{1});
  EXPECT_EQ(Instant{4}.since(Instant{5}), Duration{0});
  EXPECT_EQ(Instant{5}.since(Instant{4}), Duration{1});
}

TEST(Instant, OrdersAsNumbersDo) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    Instant const a{random.next() >> random.below(64)};
    Instant const b{random.next() >> random.below(64)};
    EXPECT_EQ(a < b, a.ns < b.ns);
    EXPECT_EQ(earlier(a, b).ns, a.ns < b.ns ? a.ns : b.ns);
    EXPECT_EQ(later(a, b).ns, a.ns < b.ns ? b.ns : a.ns);
    // Adding the distance gives the later instant, except where it saturates.
    Duration const apart = later(a, b).since(earlier(a, b));
    EXPECT_EQ(earlier(a, b) + apart, later(a, b));
    EXPECT_EQ(later(a, b) - apart, earlier(a, b));
  }
}

}  // namespace
}  // namespace lockstep
