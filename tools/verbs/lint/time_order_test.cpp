// Tests of sorting by time.
#include "tools/verbs/lint/time_order.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace lockstep::tools {
namespace {

/// The order in which segments of these times in milliseconds are given out.
std::vector<std::uint64_t> sorted(TimeOrder& order, std::initializer_list<std::uint64_t> times) {
  std::vector<std::uint64_t> out;
  Segment segment;
  for (std::uint64_t const ms : times) {
    segment.number = out.size() + 1;
    segment.time = Instant{} + Duration::milliseconds(ms);
    order.put(Segment(segment));
    while (order.take(segment)) {
      out.push_back(segment.time.ns / 1'000'000);
    }
  }
  order.end();
  while (order.take(segment)) {
    out.push_back(segment.time.ns / 1'000'000);
  }
  return out;
}

TEST(TimeOrder, HoldsSegmentsAsLongAsAnEarlierOneMayCome) {
  TimeOrder order(Duration::milliseconds(15));
  EXPECT_EQ(sorted(order, {10, 20, 5, 20, 30}), (std::vector<std::uint64_t>{5, 10, 20, 20, 30}));
  EXPECT_FALSE(order.failed());
}

TEST(TimeOrder, SaysThatItCouldNotSort) {
  TimeOrder order(Duration::milliseconds(3));
  EXPECT_EQ(sorted(order, {10, 20, 5}), (std::vector<std::uint64_t>{10, 5, 20}));
  EXPECT_TRUE(order.failed());
}

TEST(TimeOrder, KeepsTheOrderOfEqualTimes) {
  TimeOrder order(Duration::milliseconds(1));
  Segment segment;
  for (std::uint64_t number = 1; number <= 100; ++number) {
    segment.number = number;
    order.put(Segment(segment));
  }
  order.end();
  for (std::uint64_t number = 1; number <= 100; ++number) {
    ASSERT_TRUE(order.take(segment));
    EXPECT_EQ(segment.number, number);
  }
  EXPECT_FALSE(order.take(segment));
}

}  // namespace
}  // namespace lockstep::tools
