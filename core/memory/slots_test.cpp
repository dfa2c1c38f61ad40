// The pool of slots compared with a stack of free indices.
#include "core/memory/slots.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/units/random.hpp"

namespace lockstep::memory {
namespace {

struct Thing {
  std::uint32_t generation = 7;
  std::uint32_t value = 0;
};

// An arena that starts with arbitrary contents.
struct World {
  alignas(arena_alignment) std::array<std::byte, 4096> memory;
  Slots<Thing> slots;

  explicit World(Count capacity) {
    std::memset(memory.data(), 0xa5, memory.size());
    Layout layout(memory);
    slots = Slots<Thing>::lay_out(layout, capacity);
    slots.start();
  }
};

TEST(Slots, BehavesAsAStackOfFreeIndices) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    auto const capacity = static_cast<std::uint32_t>(random.below(40));
    World world(Count{capacity});
    std::vector<Index> free;
    for (std::uint32_t i = capacity; i > 0; --i) {
      free.push_back(i - 1);
    }
    std::vector<Index> held;
    std::uint32_t most = 0;
    for (int step = 0; step < 400; ++step) {
      if (random.below(2) == 0) {
        Index const expected = free.empty() ? nil : free.back();
        ASSERT_EQ(world.slots.take(), expected);
        if (expected != nil) {
          free.pop_back();
          held.push_back(expected);
        }
      } else if (!held.empty()) {
        auto const which = static_cast<std::ptrdiff_t>(random.below(held.size()));
        Index const index = held[static_cast<std::size_t>(which)];
        held.erase(held.begin() + which);
        free.push_back(index);
        world.slots.give(index);
      }
      most = std::max(most, static_cast<std::uint32_t>(held.size()));
      ASSERT_EQ(world.slots.used(), held.size());
      ASSERT_EQ(world.slots.available(), free.size());
      ASSERT_EQ(world.slots.high_water(), most);
      for (Index i = 0; i < capacity + 3; ++i) {
        ASSERT_EQ(world.slots.taken(i), std::find(held.begin(), held.end(), i) != held.end());
      }
      ASSERT_FALSE(world.slots.taken(nil));
    }
  }
}

TEST(Slots, FirstUseIsCleanAndLaterUsesKeepTheContent) {
  World world(Count{2});
  Index const index = world.slots.take();
  EXPECT_EQ(world.slots[index].generation, 7u);
  EXPECT_EQ(world.slots[index].value, 0u);
  world.slots[index] = {8, 9};
  world.slots.give(index);
  EXPECT_EQ(world.slots.take(), index);
  EXPECT_EQ(world.slots[index].generation, 8u);
  EXPECT_EQ(world.slots[index].value, 9u);
}

// An object that contains the pool's index.
struct Counted {
  std::uint32_t generation = 0;
  std::uint32_t value = 0;

  static Index& next_free(Counted& thing) { return thing.value; }
};

TEST(Slots, AGenerationIsOddWhileInUseAndNeedsNoIndex) {
  alignas(arena_alignment) std::array<std::byte, 512> memory{};
  Layout layout(memory);
  auto slots = Slots<Counted>::lay_out(layout, Count{8});
  EXPECT_EQ(layout.bytes(), 64u + 8 * sizeof(Counted));
  slots.start();
  Index const first = slots.take();
  Index const second = slots.take();
  EXPECT_EQ(slots[first].generation, 1u);
  EXPECT_FALSE(slots.taken(2));
  slots.give(first);
  EXPECT_EQ(slots[first].generation, 2u);
  EXPECT_FALSE(slots.taken(first));
  EXPECT_TRUE(slots.taken(second));
  slots.give(second);
  EXPECT_EQ(slots.take(), second);
  EXPECT_EQ(slots.take(), first);
  EXPECT_EQ(slots[first].generation, 3u);
  EXPECT_EQ(slots.used(), 2u);
  EXPECT_EQ(slots.high_water(), 2u);
}

TEST(Slots, DoesNotTouchSlotsThatWereNeverTaken) {
  World world(Count{10});
  Index const index = world.slots.take();
  EXPECT_EQ(index, 0u);
  std::uint32_t word = 0;
  std::memcpy(&word, &world.slots.view().data()[1], sizeof word);
  EXPECT_EQ(word, 0xa5a5'a5a5u);
}

TEST(Slots, AreAValue) {
  World world(Count{5});
  world.slots.give(world.slots.take());
  Index const kept = world.slots.take();
  auto const copy = world.memory;
  Index const later = world.slots.take();
  world.memory = copy;
  EXPECT_TRUE(world.slots.taken(kept));
  EXPECT_FALSE(world.slots.taken(later));
  EXPECT_EQ(world.slots.take(), later);
}

TEST(SlotsDeathTest, RefusesToGiveAFreeSlot) {
  World world(Count{3});
  Index const index = world.slots.take();
  world.slots.give(index);
  EXPECT_DEATH(world.slots.give(index), "");
  EXPECT_DEATH(world.slots.give(1), "");
  EXPECT_DEATH(world.slots.give(3), "");
  EXPECT_DEATH(world.slots.give(nil), "");
}

}  // namespace
}  // namespace lockstep::memory
