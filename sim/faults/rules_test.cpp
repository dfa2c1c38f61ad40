// Each fault rule does what it specifies and no more, and is deterministic for a random stream.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "core/wire/checksum.hpp"
#include "sim/faults/rule.hpp"

namespace lockstep::sim {
namespace {

constexpr Probability always{Probability::certain};

std::vector<std::byte> frame_of(std::uint32_t length) {
  std::vector<std::byte> frame(length);
  for (std::uint32_t i = 0; i < length; ++i) {
    frame[i] = static_cast<std::byte>(i * 7 + 1);
  }
  return frame;
}

// The number of `count` frames that a rule affected.
std::uint32_t acted(Rule& rule, std::uint32_t count) {
  std::vector<std::byte> frame = frame_of(100);
  std::uint32_t found = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    found += rule.judge({Instant{i}, frame}).act == Act::pass ? 0 : 1;
  }
  return found;
}

TEST(Loss, LosesTheConfiguredShare) {
  Rule rule(Loss{{100'000'000}}, {}, Random(1));
  std::uint32_t const lost = acted(rule, 100'000);
  // 10% of 100,000; with this seed within 3% of the expected number.
  EXPECT_GT(lost, 9'700u);
  EXPECT_LT(lost, 10'300u);
  Rule again(Loss{{100'000'000}}, {}, Random(1));
  EXPECT_EQ(acted(again, 100'000), lost);
  Rule never(Loss{{0}}, {}, Random(1));
  EXPECT_EQ(acted(never, 1'000), 0u);
  Rule all(Loss{always}, {}, Random(1));
  EXPECT_EQ(acted(all, 1'000), 1'000u);
}

TEST(BurstLoss, LosesInRuns) {
  Rule rule(BurstLoss{{10'000'000}, {100'000'000}, {0}, always, false}, {}, Random(2));
  std::vector<std::byte> frame = frame_of(60);
  std::uint32_t lost = 0;
  std::uint32_t runs = 0;
  bool before = false;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    bool const now = rule.judge({Instant{i}, frame}).act == Act::drop;
    lost += now ? 1 : 0;
    runs += now && !before ? 1 : 0;
    before = now;
  }
  ASSERT_GT(runs, 0u);
  // A burst ends with a probability of 10% per frame: ten frames on average.
  EXPECT_GE(lost / runs, 8u);
  EXPECT_LE(lost / runs, 12u);
}

TEST(Mask, LosesExactlyTheSelectedFrames) {
  Mask mask;
  mask.lose(0);
  mask.lose(3);
  mask.lose(100);
  Rule rule(mask, {}, Random(3));
  std::vector<std::byte> frame = frame_of(60);
  std::set<std::uint32_t> lost;
  for (std::uint32_t i = 0; i < 300; ++i) {
    Verdict const verdict = rule.judge({Instant{i}, frame});
    if (verdict.act == Act::drop) {
      EXPECT_EQ(verdict.reason, LinkDrop::masked);
      lost.insert(i);
    }
  }
  EXPECT_EQ(lost, (std::set<std::uint32_t>{0, 3, 100}));
  mask.repeat = true;
  Rule forever(mask, {}, Random(3));
  EXPECT_EQ(acted(forever, 202), 6u);
}

TEST(Mask, BeginsAgainEveryPeriod) {
  Mask mask;
  mask.lose(1);
  mask.repeat = true;
  mask.period = 5000;  // far longer than a mask can be
  Rule rule(mask, {}, Random(3));
  std::vector<std::byte> frame = frame_of(60);
  std::set<std::uint32_t> lost;
  for (std::uint32_t i = 0; i < 10'002; ++i) {
    if (rule.judge({Instant{i}, frame}).act == Act::drop) {
      lost.insert(i);
    }
  }
  EXPECT_EQ(lost, (std::set<std::uint32_t>{1, 5001, 10'001}));
}

TEST(Corrupt, FlipsOnlyTheChosenBit) {
  Rule rule(Corrupt{always, 8 * 20 + 3, 8 * 20 + 3}, {}, Random(4));
  std::vector<std::byte> const before = frame_of(60);
  std::vector<std::byte> frame = before;
  EXPECT_EQ(rule.judge({Instant{0}, frame}).act, Act::replace);
  EXPECT_EQ(frame[20], before[20] ^ std::byte{0x10});
  frame[20] = before[20];
  EXPECT_EQ(frame, before);
  Rule beyond(Corrupt{always, 8 * 60, 8 * 60}, {}, Random(4));
  EXPECT_EQ(beyond.judge({Instant{0}, frame}).act, Act::pass);
}

TEST(Corrupt, FlipsOneBitOfTheFrame) {
  Rule rule(Corrupt{always}, {}, Random(5));
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    std::vector<std::byte> const before = frame_of(40);
    std::vector<std::byte> frame = before;
    rule.judge({Instant{i}, frame});
    std::uint32_t bits = 0;
    for (std::size_t at = 0; at < frame.size(); ++at) {
      bits += static_cast<std::uint32_t>(
          std::popcount(std::to_integer<unsigned>(frame[at] ^ before[at])));
    }
    ASSERT_EQ(bits, 1u);
  }
}

TEST(Substitute, ChangesDataAndKeepsTheChecksumValid) {
  Rule rule(Substitute{always, 20}, {}, Random(6));
  std::vector<std::byte> const before = frame_of(60);
  std::uint32_t changed = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    std::vector<std::byte> frame = before;
    changed += rule.judge({Instant{i}, frame}).act == Act::replace ? 1 : 0;
    ASSERT_TRUE(std::equal(frame.begin(), frame.begin() + 20, before.begin()));
    ASSERT_EQ(wire::sum(frame).folded(), wire::sum(before).folded());
  }
  EXPECT_GT(changed, 90u);
}

TEST(Delay, KeepsTheOrderIfConfigured) {
  Rule rule(Delay{Duration{5}, Duration{1'000}, true, {}}, {}, Random(7));
  Rule loose(Delay{Duration{5}, Duration{1'000}, false, {}}, {}, Random(7));
  std::vector<std::byte> frame = frame_of(60);
  Instant last{0};
  Instant loose_last{0};
  bool overtaken = false;
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    Instant const at{i * 10};
    Verdict const verdict = rule.judge({at, frame});
    ASSERT_GE(verdict.delay.ns, 5u);
    ASSERT_GE(at + verdict.delay, last);
    last = at + verdict.delay;
    Instant const other = at + loose.judge({at, frame}).delay;
    overtaken = overtaken || other < loose_last;
    loose_last = other;
  }
  EXPECT_TRUE(overtaken);
}

TEST(DuplicateAndReorder, GiveTheArrivalTimes) {
  std::vector<std::byte> frame = frame_of(60);
  Rule twice(Duplicate{always, Duration{9}}, {}, Random(8));
  Verdict const copied = twice.judge({Instant{0}, frame});
  EXPECT_TRUE(copied.act == Act::deliver && copied.twice);
  EXPECT_LE(copied.delay.ns, 9u);
  Rule held(Reorder{always, Duration{77}}, {}, Random(8));
  Verdict const late = held.judge({Instant{0}, frame});
  EXPECT_TRUE(late.act == Act::deliver && !late.twice);
  EXPECT_EQ(late.delay.ns, 77u);
}

TEST(Active, IsActiveOnlyInItsPeriods) {
  Active const periodic{Instant{100}, Instant{200}, Duration{20}, Duration{5}};
  EXPECT_FALSE(periodic.at(Instant{99}));
  EXPECT_TRUE(periodic.at(Instant{100}));
  EXPECT_TRUE(periodic.at(Instant{104}));
  EXPECT_FALSE(periodic.at(Instant{105}));
  EXPECT_TRUE(periodic.at(Instant{120}));
  EXPECT_FALSE(periodic.at(Instant{200}));
  EXPECT_EQ(periodic.end_after(Instant{122}).ns, 125u);
  EXPECT_TRUE(Active{}.at(Instant{0}));
  EXPECT_TRUE(Active{}.end_after(Instant{0}).is_never());
  Rule cut(Partition{}, periodic, Random(9));
  EXPECT_EQ(acted(cut, 300), 25u);
}

}  // namespace
}  // namespace lockstep::sim
