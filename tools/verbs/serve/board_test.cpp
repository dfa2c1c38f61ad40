// PublishedTotals between threads, and the sums over several shards.
#include "tools/verbs/serve/board.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tools/verbs/serve/summary.hpp"

namespace lockstep::tools {
namespace {

struct Numbers {
  std::array<std::uint64_t, 20> all{};
  std::uint32_t last = 0;
};

TEST(PublishedTotals, IsNeverReadTorn) {
  constexpr std::uint32_t rounds = 3'000;
  PublishedTotals<Numbers> board({2});
  EXPECT_EQ(board.read({1}).last, 0u);
  std::thread writer([&] {
    for (std::uint32_t i = 1; i <= rounds; ++i) {
      Numbers numbers;
      numbers.all.fill(i);
      numbers.last = i;
      board.write({1}, numbers);
    }
  });
  std::uint32_t seen = 0;
  while (seen < rounds) {
    Numbers const numbers = board.read({1});
    ASSERT_GE(numbers.last, seen);
    seen = numbers.last;
    for (std::uint64_t const each : numbers.all) {
      ASSERT_EQ(each, seen);
    }
  }
  writer.join();
  EXPECT_EQ(board.read({0}).last, 0u);
}

TEST(PublishedTotals, ShardsShareNoCacheLine) {
  PublishedTotals<ServeTotals> board({3});
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(board.line({i})) % hw::line_bytes, 0u);
  }
  EXPECT_EQ(PublishedTotals<ServeTotals>::place_bytes() % hw::line_bytes, 0u);
}

TEST(Summary, OfSeveralShardsIsTheirSum) {
  ServeTotals one;
  one.lasted = Duration::seconds(2);
  one.server.connections = 5;
  one.server.ends[0] = 2;
  one.stack.drops.count(Drop::tcp_checksum);
  one.shard.lost = 7;
  one.open = 1;
  ServeTotals sum;
  add(sum, one);
  one.lasted = Duration::seconds(3);
  add(sum, one);
  EXPECT_EQ(sum.lasted, Duration::seconds(3));
  EXPECT_EQ(sum.server.connections, 10u);
  EXPECT_EQ(sum.server.ends[0], 4u);
  EXPECT_EQ(sum.stack.drops.of(Drop::tcp_checksum), 2u);
  EXPECT_EQ(sum.open, 2u);
  EXPECT_NE(summary_text(sum).find("14 shard_ring_full"), std::string::npos);
  one.shard.forwarded = 1234;
  EXPECT_EQ(shard_text({3}, one),
            "shard 3          5 connections, 0 requests, 0 frames in, 0 out, 1,234 forwarded, "
            "0 from others\n");
  EXPECT_NE(
      with_shards(summary_json(sum, hw::Ending::stopped), {one, one}).find("\"forwarded\": 1234"),
      std::string::npos);
}

}  // namespace
}  // namespace lockstep::tools
