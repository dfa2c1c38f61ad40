// One stack per thread: pairs in parallel share nothing, and behave as each does alone.
// ThreadSanitizer checks the first, the counts the second.
#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <tuple>

#include "tools/proofs/bench/bulk.hpp"
#include "tools/proofs/bench/transactions.hpp"

namespace lockstep::tools {
namespace {

using namespace benchmark;

using Counts = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

Counts counts_of(const Result& result) {
  return {result.units, result.bytes, result.frames, result.retransmissions};
}

// A different workload for each number: both ways of writing, both links, and short connections.
Counts workload(std::uint32_t number) {
  if (number % 2 == 0) {
    TransactionSettings settings;
    settings.at_once = Count{100 + number};
    settings.count = 1'000;
    Transactions transactions(settings);
    transactions.warm_up();
    return counts_of(transactions.run());
  }
  BulkSettings settings;
  settings.pair.link = number % 4 == 1 ? LinkType::ip : LinkType::ethernet;
  settings.writing = number % 4 == 1 ? Writing::copied : Writing::lent;
  settings.segments = 1'000;
  settings.verify = true;
  Bulk bulk(settings);
  bulk.warm_up();
  return counts_of(bulk.run());
}

TEST(Threads, ParallelPairsBehaveAsAlone) {
  constexpr std::uint32_t count = 4;
  std::array<Counts, count> together;
  std::array<std::thread, count> threads;
  for (std::uint32_t i = 0; i < count; ++i) {
    threads[i] = std::thread([&together, i] { together[i] = workload(i); });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(together[i], workload(i)) << "workload " << i;
  }
}

}  // namespace
}  // namespace lockstep::tools
