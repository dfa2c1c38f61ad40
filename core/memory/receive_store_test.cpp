// The receive store compared with a map from position to byte.
#include "core/memory/receive_store.hpp"

#include <array>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/units/random.hpp"

namespace lockstep::memory {
namespace {

constexpr std::uint32_t block_bytes = 64;

struct World {
  alignas(arena_alignment) std::array<std::byte, 8192> memory;
  Blocks blocks;

  explicit World(Count capacity) {
    std::memset(memory.data(), 0xa5, memory.size());
    Layout layout(memory);
    blocks = Blocks::lay_out(layout, capacity, Bytes{block_bytes});
    blocks.start();
  }
};

std::vector<std::byte> drawn(Random& random, std::uint64_t length) {
  std::vector<std::byte> bytes;
  for (std::uint64_t i = 0; i < length; ++i) {
    bytes.push_back(static_cast<std::byte>(random.next()));
  }
  return bytes;
}

// One stream. The model keeps positions as 64-bit numbers, which do not wrap.
struct Model {
  std::set<std::uint64_t> blocks;
  std::map<std::uint64_t, std::byte> bytes;
  ReceiveStore store;
  std::uint64_t begin = 0;  // no access before this

  std::uint32_t missing(std::uint64_t position, std::uint64_t length) const {
    std::uint32_t count = 0;
    for (std::uint64_t block = position / block_bytes;
         length != 0 && block <= (position + length - 1) / block_bytes; ++block) {
      count += blocks.count(block) == 0;
    }
    return count;
  }

  void reserve(Blocks& pool, std::uint64_t position, std::uint64_t length) {
    std::uint32_t const needed = missing(position, length);
    bool const fits = needed <= pool.available();
    std::uint32_t const held = store.blocks_held;
    Sequence const at{static_cast<std::uint32_t>(position)};
    Bytes const extent{static_cast<std::uint32_t>(length)};
    ASSERT_EQ(store.blocks_missing(pool, at, extent).value, needed);
    ASSERT_EQ(store.reserve(pool, at, extent), fits);
    ASSERT_EQ(store.blocks_held, held + (fits ? needed : 0));
    for (std::uint64_t p = position; fits && p < position + length; ++p) {
      blocks.insert(p / block_bytes);
    }
    ASSERT_EQ(store.blocks_missing(pool, at, extent).value, fits ? 0 : needed);
  }

  void put(Random& random, const Blocks& pool, std::uint64_t position, std::uint64_t length) {
    if (missing(position, length) != 0) {
      return;
    }
    std::vector<std::byte> const data = drawn(random, length);
    store.put(pool, Sequence{static_cast<std::uint32_t>(position)}, data);
    for (std::uint64_t i = 0; i < length; ++i) {
      bytes[position + i] = data[static_cast<std::size_t>(i)];
    }
  }

  void compare(const Blocks& pool, std::uint64_t position, std::uint64_t limit) {
    auto const piece = store.at(pool, Sequence{static_cast<std::uint32_t>(position)},
                                Bytes{static_cast<std::uint32_t>(limit)});
    std::uint64_t const rest = block_bytes - position % block_bytes;
    std::uint64_t const expected = blocks.count(position / block_bytes) == 0 ? 0
                                   : limit < rest                            ? limit
                                                                             : rest;
    ASSERT_EQ(piece.size(), expected);
    for (std::size_t i = 0; i < piece.size(); ++i) {
      auto const known = bytes.find(position + i);
      if (known != bytes.end()) {
        ASSERT_EQ(piece[i], known->second);
      }
    }
  }

  void release(Blocks& pool, std::uint64_t position) {
    store.release_before(pool, Sequence{static_cast<std::uint32_t>(position)});
    blocks.erase(blocks.begin(), blocks.lower_bound(position / block_bytes));
    bytes.erase(bytes.begin(), bytes.lower_bound(position / block_bytes * block_bytes));
    begin = position;
  }

  void release_rest(Blocks& pool, std::uint64_t position) {
    store.release_from(pool, Sequence{static_cast<std::uint32_t>(position)});
    std::uint64_t const first = (position + block_bytes - 1) / block_bytes;
    blocks.erase(blocks.lower_bound(first), blocks.end());
    bytes.erase(bytes.lower_bound(first * block_bytes), bytes.end());
  }

  void clear(Blocks& pool) {
    store.clear(pool);
    blocks.clear();
    bytes.clear();
  }
};

// Two streams from one pool, both about to wrap.
void run(std::uint64_t seed) {
  Random random(seed);
  World world(Count{static_cast<std::uint32_t>(random.within({1, 60}))});
  std::array<Model, 2> streams;
  for (Model& stream : streams) {
    stream.begin = (std::uint64_t{1} << 32) - random.below(3000);
  }
  for (int step = 0; step < 300; ++step) {
    Model& stream = streams[random.below(2)];
    std::uint64_t const position = stream.begin + random.below(random.below(2) == 0 ? 200 : 4000);
    std::uint64_t const length = random.below(random.below(2) == 0 ? 4 : 400);
    switch (random.below(7)) {
      case 0:
        stream.reserve(world.blocks, position, length);
        break;
      case 1:
        stream.reserve(world.blocks, position, length);
        stream.put(random, world.blocks, position, length);
        break;
      case 2:
        stream.put(random, world.blocks, position, length);
        break;
      case 3:
        stream.compare(world.blocks, position, length);
        break;
      case 4:
        stream.release(world.blocks, random.below(2) == 0 ? stream.begin : position);
        break;
      case 5:
        stream.release_rest(world.blocks, position);
        break;
      default:
        if (random.below(20) == 0) {
          stream.clear(world.blocks);
        }
    }
    if (::testing::Test::HasFatalFailure()) {
      return;
    }
    ASSERT_EQ(stream.store.blocks_held, stream.blocks.size());
    ASSERT_EQ(stream.store.empty(), stream.blocks.empty());
    ASSERT_EQ(world.blocks.used(), streams[0].blocks.size() + streams[1].blocks.size());
  }
  for (Model& stream : streams) {
    for (std::uint64_t p = stream.begin; p < stream.begin + 4400; ++p) {
      stream.compare(world.blocks, p, 7);
    }
    stream.clear(world.blocks);
  }
  ASSERT_EQ(world.blocks.used(), 0u);
  ASSERT_EQ(world.blocks.takes(), world.blocks.gives());
}

TEST(ReceiveStore, BehavesAsAMapFromPositionToByte) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    run(seed);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(ReceiveStore, SpansTheWrapOfTheSequenceSpace) {
  World world(Count{4});
  ReceiveStore store;
  Sequence const begin{0xffff'fff0};
  std::array<std::byte, 32> data;
  data.fill(std::byte{3});
  EXPECT_EQ(store.blocks_missing(world.blocks, begin, Bytes{32}).value, 2u);
  ASSERT_TRUE(store.reserve(world.blocks, begin, Bytes{32}));
  store.put(world.blocks, begin, data);
  EXPECT_EQ(store.at(world.blocks, begin, Bytes{32}).size(), 16u);
  EXPECT_EQ(store.at(world.blocks, Sequence{0}, Bytes{16}).size(), 16u);
  EXPECT_EQ(store.at(world.blocks, Sequence{15}, Bytes{1})[0], std::byte{3});
  store.release_before(world.blocks, Sequence{0});
  EXPECT_EQ(store.blocks_held, 1u);
  EXPECT_TRUE(store.at(world.blocks, begin, Bytes{1}).empty());
  store.release_before(world.blocks, Sequence{63});
  EXPECT_EQ(store.blocks_held, 1u);
  store.release_before(world.blocks, Sequence{64});
  EXPECT_TRUE(store.empty());
}

TEST(ReceiveStore, BlocksBeginAtAnyPosition) {
  World world(Count{3});
  for (std::uint32_t const begin : {0u, 63u, 64u, 1000u, 0xffff'fff1u}) {
    ReceiveStore store;
    store.begin_at(world.blocks, Sequence{begin});
    EXPECT_EQ(store.blocks_touched(world.blocks, Sequence{begin}, Bytes{block_bytes}), 1u);
    EXPECT_EQ(store.blocks_touched(world.blocks, Sequence{begin}, Bytes{block_bytes + 1}), 2u);
    std::vector<std::byte> data(2 * block_bytes);
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<std::byte>(i);
    }
    ASSERT_TRUE(store.reserve(world.blocks, Sequence{begin}, Bytes{2 * block_bytes}));
    EXPECT_EQ(store.blocks_held, 2u);
    store.put(world.blocks, Sequence{begin}, data);
    Sequence const second = Sequence{begin} + Bytes{block_bytes};
    auto const read = store.at(world.blocks, second, Bytes{1000});
    ASSERT_EQ(read.size(), block_bytes);
    EXPECT_TRUE(std::ranges::equal(read, std::span(data).subspan(block_bytes)));
    store.release_before(world.blocks, second);
    EXPECT_EQ(store.blocks_held, 1u);
    store.release_from(world.blocks, second);
    EXPECT_TRUE(store.empty());
  }
}

TEST(ReceiveStore, TakesAllTheBlocksOfARangeOrNone) {
  World world(Count{3});
  ReceiveStore store;
  ASSERT_TRUE(store.reserve(world.blocks, Sequence{1000}, Bytes{1}));
  EXPECT_FALSE(store.reserve(world.blocks, Sequence{900}, Bytes{300}));
  EXPECT_EQ(world.blocks.used(), 1u);
  EXPECT_TRUE(store.reserve(world.blocks, Sequence{900}, Bytes{130}));
  EXPECT_EQ(world.blocks.used(), 3u);
}

TEST(ReceiveStoreDeathTest, RefusesBytesWithoutReservation) {
  World world(Count{3});
  ReceiveStore store;
  std::array<std::byte, 2> const data{};
  EXPECT_DEATH(store.put(world.blocks, Sequence{5}, data), "");
  ASSERT_TRUE(store.reserve(world.blocks, Sequence{63}, Bytes{1}));
  EXPECT_DEATH(store.put(world.blocks, Sequence{63}, data), "");
  // The block behind the hole is not contiguous.
  ASSERT_TRUE(store.reserve(world.blocks, Sequence{128}, Bytes{1}));
  EXPECT_DEATH(store.put(world.blocks, Sequence{63}, data), "");
}

}  // namespace
}  // namespace lockstep::memory
