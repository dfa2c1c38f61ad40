// Short connections with a server of several shards, all turned by one thread on a virtual clock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/units/bytes.hpp"
#include "core/units/shard.hpp"
#include "tools/proofs/bench/result.hpp"

namespace lockstep::tools::benchmark {

struct ShardSettings {
  ShardCount shards;
  Count at_once{1024};
  std::uint64_t count = 20'000;
  std::string journal;  // a lone shard keeps one in this file; empty: none
};

// The client is one stack; its frames are put where shard_of says, as a port does. A shard turns
// when it has frames or a deadline, one after each turn of the client, with rings to all others
// (hw/shards), as on a machine.
class ShardedTransactions {
 public:
  explicit ShardedTransactions(const ShardSettings& settings);
  ~ShardedTransactions();
  ShardedTransactions(const ShardedTransactions&) = delete;
  ShardedTransactions& operator=(const ShardedTransactions&) = delete;

  void warm_up();
  Result run();
  // Frames that a shard got and were another's.
  std::uint64_t forwarded() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep::tools::benchmark
