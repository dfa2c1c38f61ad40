// The block pool: last given, first taken; counters; separate memory for each block.
#include "core/memory/blocks.hpp"

#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/units/random.hpp"

namespace lockstep::memory {
namespace {

struct World {
  alignas(arena_alignment) std::array<std::byte, 8192> memory;
  Blocks blocks;

  World(Count capacity, Bytes block_bytes) {
    std::memset(memory.data(), 0xa5, memory.size());
    Layout layout(memory);
    blocks = Blocks::lay_out(layout, capacity, block_bytes);
    blocks.start();
  }
};

TEST(Blocks, BehavesAsAStackOfSeparateBlocks) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    auto const capacity = static_cast<std::uint32_t>(random.below(12));
    Bytes const size{std::uint32_t{64} << random.below(3)};
    World world(Count{capacity}, size);
    Blocks& blocks = world.blocks;
    ASSERT_EQ(blocks.block_bytes(), size);
    ASSERT_EQ(blocks.capacity(), capacity);
    std::vector<Index> free;
    for (std::uint32_t i = capacity; i > 0; --i) {
      free.push_back(i - 1);
    }
    std::vector<Index> held;
    for (int step = 0; step < 300; ++step) {
      if (random.below(2) == 0) {
        Index const expected = free.empty() ? nil : free.back();
        ASSERT_EQ(blocks.take(), expected);
        if (expected != nil) {
          free.pop_back();
          held.push_back(expected);
          ASSERT_EQ(blocks.meta(expected).next, nil);
          ASSERT_EQ(blocks.meta(expected).number, 0u);
          ASSERT_EQ(blocks.bytes(expected).size(), size.count);
          std::memset(blocks.bytes(expected).data(), static_cast<int>(expected), size.count);
          blocks.meta(expected) = {expected, expected};
        }
      } else if (!held.empty()) {
        auto const which = static_cast<std::ptrdiff_t>(random.below(held.size()));
        Index const index = held[static_cast<std::size_t>(which)];
        held.erase(held.begin() + which);
        free.push_back(index);
        for (std::byte byte : blocks.bytes(index)) {
          ASSERT_EQ(byte, static_cast<std::byte>(index));
        }
        blocks.give(index);
      }
      ASSERT_EQ(blocks.used(), held.size());
      ASSERT_EQ(blocks.available(), free.size());
      ASSERT_EQ(blocks.takes() - blocks.gives(), held.size());
    }
  }
}

TEST(Blocks, CountsTheHighWaterMark) {
  World world(Count{4}, Bytes{64});
  Index const first = world.blocks.take();
  Index const second = world.blocks.take();
  world.blocks.give(first);
  world.blocks.give(second);
  EXPECT_EQ(world.blocks.take(), second);
  EXPECT_EQ(world.blocks.high_water(), 2u);
  EXPECT_EQ(world.blocks.takes(), 3u);
  EXPECT_EQ(world.blocks.gives(), 2u);
}

TEST(Blocks, APromisedBlockIsFreeButNotAvailable) {
  World world(Count{8}, Bytes{64});
  Blocks& blocks = world.blocks;
  blocks.keep({Count{2}, Count{0}}, {Count{3}, Count{0}});
  EXPECT_EQ(blocks.room_to_receive(), 6u);
  EXPECT_EQ(blocks.room_to_write(), 5u);
  blocks.promise(Count{4});
  EXPECT_EQ(blocks.available(), 8u);
  EXPECT_EQ(blocks.room_to_receive(), 2u);
  EXPECT_EQ(blocks.room_to_write(), 1u);
  blocks.release(Count{1});
  EXPECT_EQ(blocks.promised(), 3u);
  EXPECT_EQ(blocks.room_to_receive(), 3u);
}

TEST(BlocksDeathTest, RefusesDoubleGiveAndInvalidSizes) {
  World world(Count{2}, Bytes{64});
  Index const index = world.blocks.take();
  world.blocks.give(index);
  EXPECT_DEATH(world.blocks.give(index), "");
  EXPECT_DEATH(world.blocks.give(2), "");
  Layout layout;
  EXPECT_DEATH(Blocks::lay_out(layout, Count{1}, Bytes{100}), "");
  EXPECT_DEATH(Blocks::lay_out(layout, Count{1}, Bytes{32}), "");
}

}  // namespace
}  // namespace lockstep::memory
