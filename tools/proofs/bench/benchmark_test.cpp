// The workloads do what they describe, and nothing is allocated once the stacks are constructed.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tools/proofs/bench/bulk.hpp"
#include "tools/proofs/bench/counted_allocations.hpp"
#include "tools/proofs/bench/idle.hpp"
#include "tools/proofs/bench/pinned.hpp"
#include "tools/proofs/bench/transactions.hpp"

namespace lockstep::tools::benchmark {
namespace {

class Allocations : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!allocations_counted) {
      GTEST_SKIP() << "allocations are not counted under ThreadSanitizer";
    }
  }
};

TEST_F(Allocations, CountsEachAllocation) {
  std::uint64_t const before = allocations_made;
  // Called by name, because a compiler may omit the allocation of a new-expression.
  void* const first = operator new(8);
  void* const second = operator new[](8);
  std::uint64_t const made = allocations_made - before;
  operator delete(first);
  operator delete[](second);
  EXPECT_EQ(made, 2u);
}

TEST_F(Allocations, NoneInABulkTransfer) {
  for (Writing const writing : {Writing::copied, Writing::lent}) {
    for (LinkType const link : {LinkType::ip, LinkType::ethernet}) {
      BulkSettings settings;
      settings.pair.link = link;
      settings.writing = writing;
      settings.segments = 2'000;
      Bulk bulk(settings);
      std::uint64_t const before = allocations_made;
      bulk.warm_up();
      static_cast<void>(bulk.run());
      EXPECT_EQ(allocations_made, before);
    }
  }
}

TEST_F(Allocations, NoneInTransactions) {
  TransactionSettings settings;
  settings.at_once = Count{300};
  settings.count = 2'000;
  Transactions transactions(settings);
  std::uint64_t const before = allocations_made;
  transactions.warm_up();
  static_cast<void>(transactions.run());
  EXPECT_EQ(allocations_made, before);
}

TEST(Bulk, EveryByteArrivesInFullSegmentsOnce) {
  for (std::uint32_t const mtu : {128u, 1500u, 9000u}) {
    for (Writing const writing : {Writing::copied, Writing::lent}) {
      BulkSettings settings;
      settings.pair.mtu = Bytes{mtu};
      settings.writing = writing;
      settings.segments = 1'000;
      settings.verify = true;
      Bulk bulk(settings);
      bulk.warm_up();
      Result const result = bulk.run();
      EXPECT_EQ(result.bytes, 1'000u * (mtu - 40));
      EXPECT_GE(result.units, 1'000u);
      EXPECT_LE(result.units, 1'050u);
      EXPECT_EQ(result.retransmissions, 0u);
      EXPECT_EQ(result.drops, 0u);
    }
  }
}

TEST(Transactions, TakeSixFramesForAnyNumberOfConnections) {
  for (std::uint32_t const at_once : {1u, 50u, 1'000u}) {
    TransactionSettings settings;
    settings.at_once = Count{at_once};
    settings.count = 3'000;
    Transactions transactions(settings);
    transactions.warm_up();
    Result const result = transactions.run();
    EXPECT_GE(result.units, 3'000u);
    EXPECT_EQ((result.frames + result.units / 2) / result.units, 6u);
    EXPECT_EQ(result.retransmissions, 0u);
    EXPECT_EQ(result.drops, 0u);
  }
}

TEST(Pinned, EachShardServesItsOwnFlows) {
  // One processor is enough here; tools/bench shards --pinned measures with several.
  std::vector<hw::Cpu> const cpus(2, hw::allowed_cpus().front());
  ShardSettings settings;
  settings.shards = {2};
  settings.at_once = Count{50};
  settings.count = 2'000;
  PinnedResult const result = run_pinned(settings, cpus);
  EXPECT_EQ(result.trouble, "");
  ASSERT_EQ(result.units_of.size(), 2u);
  EXPECT_GE(result.units_of[0], 2'000u);
  EXPECT_GE(result.units_of[1], 2'000u);
  EXPECT_EQ(result.forwarded, 0u);
}

TEST(Idle, SharesAddUpToTheArenaGrowth) {
  IdleSettings settings;
  settings.connections = Count{20'000};
  settings.turns = 10;
  IdleResult const result = run_idle(settings);
  std::uint64_t sum = 0;
  for (Share const& share : result.shares) {
    sum += share.bytes;
  }
  EXPECT_EQ(sum, result.arena_bytes);
  EXPECT_LE(result.arena_bytes / settings.connections.value, 400u);
}

}  // namespace
}  // namespace lockstep::tools::benchmark
