// Shards in parallel, each pinned to a processor: the throughput of two relative to one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/shards/affinity.hpp"
#include "tools/proofs/bench/shards.hpp"

namespace lockstep::tools::benchmark {

struct PinnedResult {
  std::uint64_t units = 0;              // transactions of all shards
  std::vector<std::uint64_t> units_of;  // ... of each shard
  std::vector<std::uint64_t> busy_ns;   // processor time of each shard's thread
  std::uint64_t wall_ns = 0;            // from the common start to the end of the last shard
  std::uint64_t forwarded = 0;          // frames that arrived at another shard's thread
  std::string trouble;                  // why nothing could be measured; empty: success
};

// Runs a thread per shard, on the processor at the same index of `cpus`. Each shard has its own
// client, joined in memory, whose flows belong to that shard, and rings to all other shards
// (hw/shards). Each does `count` transactions.
PinnedResult run_pinned(const ShardSettings& settings, const std::vector<hw::Cpu>& cpus);

}  // namespace lockstep::tools::benchmark
