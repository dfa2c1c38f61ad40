// Shards side by side, each held to a processor: how much more two of them do than one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/shards/affinity.hpp"
#include "tools/proofs/bench/shards.hpp"

namespace lockstep::tools::benchmark {

struct PinnedResult {
  std::uint64_t units = 0;              // transactions, all shards together
  std::vector<std::uint64_t> units_of;  // ... of each
  std::vector<std::uint64_t> busy_ns;   // processor time of each shard's thread
  std::uint64_t wall_ns = 0;            // from when all began until the last was done
  std::uint64_t forwarded = 0;          // frames that came to another shard's thread
  std::string trouble;                  // why nothing could be measured; empty: it was
};

// A thread a shard, on the processor of the same place in `cpus`; each has a client of its own,
// whose flows are that shard's, joined to it in memory, and rings to all other shards (hw/shards).
// Each does `count` transactions.
PinnedResult run_pinned(const ShardSettings& settings, const std::vector<hw::Cpu>& cpus);

}  // namespace lockstep::tools::benchmark
