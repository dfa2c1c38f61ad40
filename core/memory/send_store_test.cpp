// The send store compared with a deque of bytes, each copied or lent.
#include "core/memory/send_store.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "core/units/random.hpp"

namespace lockstep::memory {
namespace {

struct World {
  alignas(arena_alignment) std::array<std::byte, 16384> memory;
  BytePools pools;

  World(Count blocks, Count pieces) {
    std::memset(memory.data(), 0xa5, memory.size());
    Layout layout(memory);
    pools.blocks = Blocks::lay_out(layout, blocks, Bytes{64});
    pools.pieces = Slots<Piece>::lay_out(layout, pieces);
    pools.blocks.start();
    pools.pieces.start();
  }
};

struct Byte {
  SourceKind kind;
  std::byte value;
  RegionId region;
  std::uint64_t offset;
  bool ends_record = false;
};

struct Model {
  std::deque<Byte> bytes;
  SendStore store;

  void append(Random& random, World& world) {
    std::vector<std::byte> data(static_cast<std::size_t>(random.below(200)));
    for (std::byte& byte : data) {
      byte = static_cast<std::byte>(random.next());
    }
    Bytes const taken = store.append(world.pools, data);
    ASSERT_LE(taken.count, data.size());
    // Not all were accepted only if a pool is empty.
    if (taken.count < data.size()) {
      ASSERT_TRUE(world.pools.blocks.available() == 0 || world.pools.pieces.available() == 0);
    }
    for (std::uint32_t i = 0; i < taken.count; ++i) {
      bytes.push_back({SourceKind::bytes, data[i], {}, 0, false});
    }
  }

  void lend(Random& random, World& world) {
    Loan loan{random.next() >> 1, Bytes{static_cast<std::uint32_t>(random.below(300))},
              RegionId{static_cast<std::uint32_t>(random.below(3))}};
    if (random.below(2) == 0 && !bytes.empty() && bytes.back().kind == SourceKind::loan) {
      loan.region = bytes.back().region;
      loan.offset = bytes.back().offset + 1;
    }
    Bytes const taken = store.append_loan(world.pools, loan);
    if (taken != loan.length) {
      ASSERT_EQ(taken.count, 0u);
      ASSERT_EQ(world.pools.pieces.available(), 0u);
    }
    for (std::uint32_t i = 0; i < taken.count; ++i) {
      bytes.push_back({SourceKind::loan, std::byte{}, loan.region, loan.offset + i, false});
    }
  }

  void end_record(World& world) {
    store.end_record(world.pools);
    if (!bytes.empty()) {
      bytes.back().ends_record = true;
    }
  }

  void check_record(const World& world, std::uint64_t from, std::uint64_t limit) const {
    ASSERT_EQ(store.record_ends, std::ranges::count(bytes, true, &Byte::ends_record));
    if (from >= bytes.size() || limit == 0) {
      return;
    }
    std::uint64_t expected = 1;
    while (expected < limit && from + expected < bytes.size() &&
           !bytes[static_cast<std::size_t>(from + expected - 1)].ends_record) {
      ++expected;
    }
    expected = from + expected == bytes.size() ? limit : expected;
    ASSERT_EQ(store
                  .within_record(world.pools, {Bytes{static_cast<std::uint32_t>(from)},
                                               Bytes{static_cast<std::uint32_t>(limit)}})
                  .count,
              expected);
  }

  void drop(World& world, std::uint64_t count) {
    store.drop_front(world.pools, Bytes{static_cast<std::uint32_t>(count)});
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
  }

  void walk(World& world, std::uint64_t from, std::uint64_t limit) {
    SendCursor cursor = store.walk(world.pools, {Bytes{static_cast<std::uint32_t>(from)},
                                                 Bytes{static_cast<std::uint32_t>(limit)}});
    std::uint64_t const rest = from < bytes.size() ? bytes.size() - from : 0;
    std::uint64_t const expected = limit < rest ? limit : rest;
    ASSERT_EQ(cursor.left().count, expected);
    std::size_t position = static_cast<std::size_t>(from);
    Source source;
    while (cursor.next(source)) {
      ASSERT_GT(source.length.count, 0u);
      ASSERT_LE(position + source.length.count, from + expected);
      for (std::uint32_t i = 0; i < source.length.count; ++i, ++position) {
        ASSERT_EQ(source.kind, bytes[position].kind);
        if (source.kind == SourceKind::bytes) {
          ASSERT_EQ(source.bytes.size(), source.length.count);
          ASSERT_EQ(source.bytes[i], bytes[position].value);
        } else {
          ASSERT_TRUE(source.bytes.empty());
          ASSERT_EQ(source.region, bytes[position].region);
          ASSERT_EQ(source.offset + i, bytes[position].offset);
        }
      }
    }
    ASSERT_EQ(position, from + expected);
    ASSERT_EQ(cursor.left().count, 0u);
    check_first_block(world, from, limit);
  }

  // If the first block contains the whole range, it has the same bytes.
  void check_first_block(World& world, std::uint64_t from, std::uint64_t limit) const {
    auto const near = store.in_first_block(world.pools, {Bytes{static_cast<std::uint32_t>(from)},
                                                         Bytes{static_cast<std::uint32_t>(limit)}});
    if (!near.empty()) {
      ASSERT_EQ(near.size(), limit);
      ASSERT_LE(from + limit, bytes.size());
      for (std::size_t i = 0; i < near.size(); ++i) {
        ASSERT_EQ(bytes[static_cast<std::size_t>(from) + i].kind, SourceKind::bytes);
        ASSERT_EQ(near[i], bytes[static_cast<std::size_t>(from) + i].value);
      }
    }
  }
};

void run(std::uint64_t seed) {
  Random random(seed);
  Count const blocks{static_cast<std::uint32_t>(random.within({1, 40}))};
  Count const pieces{static_cast<std::uint32_t>(random.within({1, 12}))};
  World world(blocks, pieces);
  std::array<Model, 2> streams;
  for (Model& stream : streams) {
    stream.store.front = std::uint32_t{0} - static_cast<std::uint32_t>(random.below(2000));
  }
  std::uint64_t next = 0;
  for (int step = 0; step < 400; ++step) {
    Model& stream = streams[random.below(2)];
    std::uint64_t const held = stream.bytes.size();
    switch (random.below(7)) {
      case 0:
        stream.append(random, world);
        break;
      case 1:
        stream.lend(random, world);
        break;
      case 2:
        stream.drop(world, random.below(held + 1));
        break;
      case 3:  // new bytes, one segment after the other
        next = next > held ? 0 : next;
        stream.walk(world, next, 50);
        next += 50;
        break;
      case 4: {
        auto const from = random.below(held + 20);
        stream.walk(world, from, random.below(300));
        stream.check_record(world, from, random.below(300));
        break;
      }
      case 5:
        stream.end_record(world);
        break;
      default:
        if (random.below(20) == 0) {
          stream.store.clear(world.pools);
          stream.bytes.clear();
        }
    }
    if (::testing::Test::HasFatalFailure()) {
      return;
    }
    ASSERT_EQ(stream.store.length().count, stream.bytes.size());
    ASSERT_EQ(stream.store.empty(), stream.bytes.empty());
    if (streams[0].bytes.empty() && streams[1].bytes.empty()) {
      ASSERT_EQ(world.pools.blocks.used(), 0u);
      ASSERT_EQ(world.pools.pieces.used(), 0u);
    }
  }
  for (Model& stream : streams) {
    stream.walk(world, 0, 1'000'000);
    stream.drop(world, stream.bytes.size());
  }
  ASSERT_EQ(world.pools.blocks.used(), 0u);
  ASSERT_EQ(world.pools.pieces.used(), 0u);
  ASSERT_EQ(world.pools.blocks.takes(), world.pools.blocks.gives());
}

TEST(SendStore, AShortMessageIsInTheFirstBlock) {
  World world(Count{4}, Count{4});
  SendStore store;
  std::array<std::byte, 100> const data{};
  ASSERT_EQ(store.append(world.pools, data).count, 100u);
  EXPECT_EQ(store.in_first_block(world.pools, {Bytes{0}, Bytes{64}}).size(), 64u);
  EXPECT_EQ(store.in_first_block(world.pools, {Bytes{10}, Bytes{54}}).size(), 54u);
  EXPECT_TRUE(store.in_first_block(world.pools, {Bytes{10}, Bytes{55}}).empty());
  store.drop_front(world.pools, Bytes{70});
  EXPECT_EQ(store.in_first_block(world.pools, {Bytes{0}, Bytes{30}}).size(), 30u);
  EXPECT_TRUE(store.in_first_block(world.pools, {Bytes{0}, Bytes{31}}).empty());
  store.clear(world.pools);
  EXPECT_TRUE(store.in_first_block(world.pools, {Bytes{0}, Bytes{1}}).empty());
}

TEST(SendStore, BehavesAsADequeOfBytes) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    run(seed);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(SendStore, FillsTheLastBlockFirstAndReleasesAcknowledgedBlocks) {
  World world(Count{4}, Count{2});
  SendStore store;
  std::array<std::byte, 100> const data{};
  ASSERT_EQ(store.append(world.pools, std::span(data).first(10)).count, 10u);
  ASSERT_EQ(store.append(world.pools, std::span(data).first(54)).count, 54u);
  EXPECT_EQ(world.pools.blocks.used(), 1u);
  ASSERT_EQ(store.append(world.pools, std::span(data).first(1)).count, 1u);
  EXPECT_EQ(world.pools.blocks.used(), 2u);
  EXPECT_EQ(world.pools.pieces.used(), 1u);
  store.drop_front(world.pools, Bytes{63});
  EXPECT_EQ(world.pools.blocks.used(), 2u);
  store.drop_front(world.pools, Bytes{1});
  EXPECT_EQ(world.pools.blocks.used(), 1u);
  store.drop_front(world.pools, Bytes{1});
  EXPECT_EQ(world.pools.blocks.used(), 0u);
}

TEST(SendStore, AcceptsWhatThePoolsCanHold) {
  World world(Count{2}, Count{1});
  SendStore store;
  std::array<std::byte, 200> const data{};
  EXPECT_EQ(store.append(world.pools, data).count, 128u);
  EXPECT_EQ(store.append(world.pools, data).count, 0u);
  EXPECT_EQ(store.append_loan(world.pools, {0, Bytes{5}, RegionId{1}}).count, 0u);
  store.clear(world.pools);
  // No block may be lost if only the piece is missing.
  SendStore other;
  EXPECT_EQ(other.append_loan(world.pools, {0, Bytes{5}, RegionId{1}}).count, 5u);
  EXPECT_EQ(other.append(world.pools, data).count, 0u);
  EXPECT_EQ(world.pools.blocks.used(), 0u);
}

TEST(SendStore, JoinsALoanThatContinuesTheLastOne) {
  World world(Count{2}, Count{4});
  SendStore store;
  ASSERT_EQ(store.append_loan(world.pools, {100, Bytes{5}, RegionId{1}}).count, 5u);
  ASSERT_EQ(store.append_loan(world.pools, {105, Bytes{5}, RegionId{1}}).count, 5u);
  EXPECT_EQ(world.pools.pieces.used(), 1u);
  ASSERT_EQ(store.append_loan(world.pools, {110, Bytes{5}, RegionId{2}}).count, 5u);
  ASSERT_EQ(store.append_loan(world.pools, {114, Bytes{5}, RegionId{2}}).count, 5u);
  EXPECT_EQ(world.pools.pieces.used(), 3u);
  SendCursor cursor = store.walk(world.pools, {Bytes{3}, Bytes{100}});
  Source source;
  ASSERT_TRUE(cursor.next(source));
  EXPECT_EQ(source.offset, 103u);
  EXPECT_EQ(source.length.count, 7u);
}

TEST(SendStore, LoansAreLimitedByTheRangeOfPositions) {
  World world(Count{1}, Count{4});
  SendStore store;
  store.front = 5;
  ASSERT_EQ(store.append_loan(world.pools, {0, Bytes{0xffff'ffff}, RegionId{1}}).count,
            SendStore::length_max);
  EXPECT_EQ(store.append_loan(world.pools, {0, Bytes{1}, RegionId{2}}).count, 0u);
  std::array<std::byte, 3> const data{};
  EXPECT_EQ(store.append(world.pools, data).count, 0u);
  store.drop_front(world.pools, Bytes{SendStore::length_max - 1});
  SendCursor cursor = store.walk(world.pools, {Bytes{0}, Bytes{100}});
  Source source;
  ASSERT_TRUE(cursor.next(source));
  EXPECT_EQ(source.offset, SendStore::length_max - 1);
  EXPECT_FALSE(cursor.next(source));
}

TEST(SendStore, RemembersWhereNewBytesBeginBesidesARetransmission) {
  World world(Count{30}, Count{4});
  SendStore store;
  std::array<std::byte, 64 * 20> const data{};
  ASSERT_EQ(store.append(world.pools, data).count, data.size());
  Source source;
  SendCursor cursor = store.walk(world.pools, {Bytes{64 * 18}, Bytes{64}});
  ASSERT_TRUE(cursor.next(source));
  SendStore::Place const newest = store.newest;
  EXPECT_EQ(newest.start, 64u * 18);
  cursor = store.walk(world.pools, {Bytes{64}, Bytes{64}});
  ASSERT_TRUE(cursor.next(source));
  EXPECT_EQ(store.newest.start, newest.start);
  EXPECT_EQ(store.older.start, 64u);
  store.drop_front(world.pools, Bytes{65});
  EXPECT_EQ(store.older.piece, nil);
  EXPECT_EQ(store.newest.start, newest.start);
}

TEST(SendStoreDeathTest, RefusesToDropMoreThanItHolds) {
  World world(Count{1}, Count{1});
  SendStore store;
  std::array<std::byte, 3> const data{};
  ASSERT_EQ(store.append(world.pools, data).count, 3u);
  EXPECT_DEATH(store.drop_front(world.pools, Bytes{4}), "");
}

}  // namespace
}  // namespace lockstep::memory
