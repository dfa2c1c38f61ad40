// The schedule compared with a stable sort, and its order at one instant.
#include "sim/schedule/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/units/random.hpp"

namespace lockstep::sim {
namespace {

TEST(Schedule, AtOneInstantRankThenInsertionDecides) {
  Schedule schedule;
  schedule.add(Instant{5}, {Kind::timer, 1, 0});
  schedule.add(Instant{5}, {Kind::turn, 2, 0});
  schedule.add(Instant{5}, {Kind::arrival, 3, 0});
  schedule.add(Instant{5}, {Kind::arrival, 4, 0});
  schedule.add(Instant{4}, {Kind::timer, 5, 0});
  std::vector<std::uint32_t> order;
  while (!schedule.empty()) {
    order.push_back(schedule.take().subject);
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{5, 3, 4, 2, 1}));
}

TEST(Schedule, MatchesASortedListForAnyMixOfAddAndTake) {
  Random random(7);
  for (int round = 0; round < 50; ++round) {
    Schedule schedule;
    std::vector<Entry> model;
    for (int i = 0; i < 2'000; ++i) {
      if (model.empty() || random.below(100) < 55) {
        Instant const at{random.below(50)};
        auto const kind = static_cast<Kind>(random.below(4));
        std::uint64_t const order =
            std::uint64_t{static_cast<std::uint8_t>(kind)} << 56 | schedule.inserted();
        auto const subject = static_cast<std::uint32_t>(i);
        model.push_back({at, order, subject, 0});
        schedule.add(at, {kind, subject, 0});
      } else {
        auto const least =
            std::min_element(model.begin(), model.end(),
                             [](const Entry& a, const Entry& b) { return a.precedes(b); });
        ASSERT_EQ(schedule.take().subject, least->subject);
        model.erase(least);
      }
    }
    ASSERT_EQ(schedule.size(), model.size());
  }
}

TEST(Schedule, ACopyContinuesTheSame) {
  Schedule schedule;
  for (std::uint32_t i = 0; i < 100; ++i) {
    schedule.add(Instant{i * 37 % 11}, {Kind::arrival, i, 0});
  }
  Schedule copy = schedule;
  while (!schedule.empty()) {
    ASSERT_EQ(schedule.take().subject, copy.take().subject);
  }
  EXPECT_TRUE(copy.empty());
}

}  // namespace
}  // namespace lockstep::sim
