// The timer wheel compared with a sorted list of (due, insertion).
#include "core/memory/timer_wheel.hpp"

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/units/random.hpp"

namespace lockstep::memory {
namespace {

constexpr std::uint32_t timers_max = 40;
constexpr std::uint64_t last_ns = ~std::uint64_t{0};

struct World {
  alignas(arena_alignment) std::array<std::byte, 16384> memory;
  TimerWheel wheel;

  World() {
    std::memset(memory.data(), 0xa5, memory.size());
    Layout layout(memory);
    wheel = TimerWheel::lay_out(layout, Count{timers_max});
    wheel.start();
  }
};

// A simple model of the wheel.
struct Model {
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  std::map<Key, Index> timers;
  std::map<Index, Key> keys;
  std::uint64_t insertions = 0;

  void cancel(Index node) {
    if (keys.count(node) != 0) {
      timers.erase(keys[node]);
      keys.erase(node);
    }
  }
  void set(Index node, Instant due) {
    cancel(node);
    if (!due.is_never()) {
      keys[node] = {due.ns, insertions++};
      timers[keys[node]] = node;
    }
  }
  Instant first() const {
    return timers.empty() ? Instant::never() : Instant{timers.begin()->first.first};
  }
  Index pop(Instant now) {
    if (timers.empty() || timers.begin()->first.first > now.ns) {
      return nil;
    }
    Index const node = timers.begin()->second;
    cancel(node);
    return node;
  }
};

// A number of any magnitude up to `bits` bits.
std::uint64_t of_any_size(Random& random, std::uint64_t bits) {
  std::uint64_t const size = random.below(bits + 1);
  return size == 0 ? 0 : random.next() >> (64 - size);
}

struct Race {
  World world;
  Model model;
  Random random;
  Instant now;
  std::uint64_t bits;  // log2 of the distance between timers

  explicit Race(std::uint64_t seed) : random(seed) {
    bits = random.within({1, 64});
    std::uint64_t const near_end = last_ns - of_any_size(random, bits);
    now = {random.below(2) == 0 ? of_any_size(random, 64) : near_end};
    for (std::uint32_t i = 0; i < timers_max; ++i) {
      EXPECT_EQ(world.wheel.open(TimerOwner{i}), i);
    }
  }

  Instant some_instant() {
    std::uint64_t const distance = of_any_size(random, bits);
    switch (random.below(8)) {
      case 0:
        return now - Duration{distance};
      case 1:
        return model.first();  // as another one, or never
      case 2:
        return {last_ns - distance};
      default:
        return now + Duration{distance};
    }
  }

  void step() {
    TimerWheel& wheel = world.wheel;
    auto const node = static_cast<Index>(random.below(timers_max));
    switch (random.below(5)) {
      case 0:
      case 1: {
        Instant const due = some_instant();
        wheel.set(node, due);
        model.set(node, due);
        break;
      }
      case 2:
        wheel.cancel(node);
        model.cancel(node);
        break;
      case 3:
        now = random.below(2) == 0 ? later(now, wheel.deadline())
                                   : now + Duration{of_any_size(random, bits)};
        drain();
        break;
      default:
        ASSERT_EQ(wheel.pop_due(now), model.pop(now));
    }
  }

  void drain() {
    for (;;) {
      Index const expected = model.pop(now);
      ASSERT_EQ(world.wheel.pop_due(now), expected);
      if (expected == nil) {
        break;
      }
      ASSERT_FALSE(world.wheel.is_set(expected));
    }
    ASSERT_TRUE(model.timers.empty() || world.wheel.deadline() > now);
  }

  void compare() {
    TimerWheel& wheel = world.wheel;
    ASSERT_TRUE(wheel.sound());
    ASSERT_EQ(wheel.size(), model.timers.size());
    ASSERT_LE(wheel.deadline(), model.first());
    ASSERT_EQ(wheel.deadline().is_never(), model.timers.empty());
    for (Index node = 0; node < timers_max; ++node) {
      bool const set = model.keys.count(node) != 0;
      ASSERT_EQ(wheel.is_set(node), set);
      ASSERT_EQ(wheel.due(node), set ? Instant{model.keys[node].first} : Instant::never());
    }
  }
};

TEST(TimerWheel, FiresInTheOrderOfDueAndInsertionAtAnyDistance) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    Race race(seed);
    for (int step = 0; step < 200; ++step) {
      race.step();
      ASSERT_FALSE(HasFatalFailure());
      race.compare();
      ASSERT_FALSE(HasFatalFailure());
    }
    race.now = {last_ns};
    race.drain();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_EQ(race.world.wheel.size(), 0u);
  }
}

TEST(TimerWheel, ItsDeadlineIsExactWithoutCancels) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Race race(seed);
    for (Index node = 0; node < timers_max; ++node) {
      Instant const due = race.some_instant();
      race.world.wheel.set(node, due);
      race.model.set(node, due);
      ASSERT_EQ(race.world.wheel.deadline(), race.model.first());
    }
    // Firing what is due keeps the deadline exact.
    for (std::uint32_t i = 0; i <= timers_max; ++i) {
      Instant const first = race.model.first();
      ASSERT_EQ(race.world.wheel.deadline(), first);
      ASSERT_EQ(race.world.wheel.pop_due(first), race.model.pop(first));
    }
  }
}

TEST(TimerWheel, ItsDeadlineIsExactAgainOnceItWasCalledEarly) {
  World world;
  Index const first = world.wheel.open({0});
  Index const second = world.wheel.open({1});
  Index const third = world.wheel.open({2});
  world.wheel.set(first, Instant{1'000'000});
  world.wheel.set(second, Instant{1'000'300});
  world.wheel.set(third, Instant{1'000'200});
  world.wheel.cancel(first);
  EXPECT_LE(world.wheel.deadline(), Instant{1'000'200});
  EXPECT_EQ(world.wheel.pop_due(world.wheel.deadline()), nil);
  EXPECT_EQ(world.wheel.deadline(), Instant{1'000'200});
}

TEST(TimerWheel, ItsDeadlineIsExactForTheOnlyTimerLeft) {
  World world;
  Index const first = world.wheel.open({0});
  Index const second = world.wheel.open({1});
  world.wheel.set(first, Instant{1'000'000});
  world.wheel.set(second, Instant{1'000'300});
  world.wheel.cancel(first);
  EXPECT_EQ(world.wheel.deadline(), Instant{1'000'300});
}

// The caller must not do that; still, the order must not break.
TEST(TimerWheel, AClockThatStepsBackFiresNothingEarly) {
  World world;
  Index const first = world.wheel.open({0});
  Index const second = world.wheel.open({1});
  world.wheel.set(first, Instant{1'000'000});
  EXPECT_EQ(world.wheel.pop_due(Instant{700'000}), nil);
  world.wheel.set(second, Instant{500'000});
  EXPECT_EQ(world.wheel.pop_due(Instant{499'999}), nil);
  EXPECT_EQ(world.wheel.pop_due(Instant{500'000}), second);
  world.wheel.set(second, Instant{1'000'001});
  EXPECT_EQ(world.wheel.pop_due(Instant{999'999}), nil);
  EXPECT_EQ(world.wheel.pop_due(Instant{1'000'000}), first);
  EXPECT_EQ(world.wheel.pop_due(Instant{100}), nil);
  EXPECT_TRUE(world.wheel.sound());
  EXPECT_EQ(world.wheel.pop_due(Instant{1'000'001}), second);
}

TEST(TimerWheel, FiresExactlyWhenDue) {
  World world;
  Index const node = world.wheel.open({0});
  for (std::uint64_t due :
       {std::uint64_t{1}, std::uint64_t{63}, std::uint64_t{64}, std::uint64_t{1} << 30,
        (std::uint64_t{1} << 60) - 1, std::uint64_t{1} << 60, last_ns - 1}) {
    world.wheel.set(node, Instant{due});
    EXPECT_EQ(world.wheel.pop_due(Instant{due - 1}), nil);
    EXPECT_TRUE(world.wheel.is_set(node));
    EXPECT_EQ(world.wheel.pop_due(Instant{due}), node);
    EXPECT_TRUE(world.wheel.deadline().is_never());
  }
}

TEST(TimerWheel, MovingATimerToItsOwnInstantPutsItBehindItsEquals) {
  World world;
  Index const first = world.wheel.open({0});
  Index const second = world.wheel.open({1});
  world.wheel.set(first, Instant{5000});
  world.wheel.set(second, Instant{5000});
  world.wheel.set(first, Instant{5000});
  EXPECT_EQ(world.wheel.pop_due(Instant{5000}), second);
  EXPECT_EQ(world.wheel.pop_due(Instant{5000}), first);
}

TEST(TimerWheel, NeverDoesNotFire) {
  World world;
  Index const node = world.wheel.open({0});
  world.wheel.set(node, Instant{5});
  world.wheel.set(node, Instant::never());
  EXPECT_FALSE(world.wheel.is_set(node));
  EXPECT_EQ(world.wheel.pop_due(Instant::never()), nil);
  // The clock was at its end: everything is overdue now, and still sorted.
  Index const other = world.wheel.open({1});
  world.wheel.set(node, Instant{7});
  world.wheel.set(other, Instant{6});
  EXPECT_EQ(world.wheel.deadline(), Instant{6});
  EXPECT_EQ(world.wheel.pop_due(Instant{7}), other);
  EXPECT_EQ(world.wheel.pop_due(Instant{7}), node);
}

TEST(TimerWheel, ATimerCanBeOpenedAgainForANewOwner) {
  World world;
  Index const node = world.wheel.open(TimerOwner{7});
  EXPECT_EQ(node, 7u);
  world.wheel.set(node, Instant{5});
  world.wheel.cancel(node);
  EXPECT_EQ(world.wheel.size(), 0u);
  EXPECT_TRUE(world.wheel.deadline().is_never());
  EXPECT_EQ(world.wheel.open(TimerOwner{7}), node);
  EXPECT_FALSE(world.wheel.is_set(node));
  EXPECT_EQ(world.wheel.capacity(), timers_max);
}

TEST(TimerWheel, IsAValue) {
  Race race(11);
  for (int step = 0; step < 100; ++step) {
    race.step();
  }
  auto const copy = race.world.memory;
  std::array<Index, timers_max> fired{};
  for (Index& node : fired) {
    node = race.world.wheel.pop_due(Instant{last_ns});
  }
  race.world.memory = copy;
  for (Index node : fired) {
    EXPECT_EQ(race.world.wheel.pop_due(Instant{last_ns}), node);
  }
}

TEST(TimerWheel, ManyTimersOfOneInstantKeepTheirOrderThroughEveryLevel) {
  constexpr std::uint32_t many = 20'000;
  Layout measure;
  TimerWheel::lay_out(measure, Count{many});
  std::vector<std::byte> memory(static_cast<std::size_t>(measure.bytes()) + arena_alignment);
  void* base = memory.data();
  std::size_t space = memory.size();
  auto* const arena = static_cast<std::byte*>(
      std::align(arena_alignment, static_cast<std::size_t>(measure.bytes()), base, space));
  Layout layout(std::span(arena, static_cast<std::size_t>(measure.bytes())));
  TimerWheel wheel = TimerWheel::lay_out(layout, Count{many});
  wheel.start();
  for (Index node = 0; node < many; ++node) {
    ASSERT_EQ(wheel.open({node}), node);
    wheel.set(node, Instant{std::uint64_t{1} << 62});
  }
  // Advances the clock in ever smaller steps, so that the timers pass through every level.
  Index const pilot = many - 1;
  for (std::uint32_t bit = 61; bit > 0; --bit) {
    Instant const near{(std::uint64_t{1} << 62) - (std::uint64_t{1} << bit)};
    wheel.set(pilot, near);
    ASSERT_EQ(wheel.pop_due(near), pilot);
  }
  for (Index node = 0; node < pilot; ++node) {
    ASSERT_EQ(wheel.pop_due(Instant{std::uint64_t{1} << 62}), node);
  }
}

}  // namespace
}  // namespace lockstep::memory
