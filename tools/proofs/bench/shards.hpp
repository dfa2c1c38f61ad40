// Short connections with a server of several shards, all run by one thread on a virtual clock.
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
  std::string journal;  // a single shard writes a journal to this file; empty: none
};

// The client is one stack; its frames go to the shard that shard_of gives, as in a port. A shard
// turns when it has frames or a due timer, one shard after each turn of the client, with rings to
// all others (hw/shards).
class ShardedTransactions {
 public:
  explicit ShardedTransactions(const ShardSettings& settings);
  ~ShardedTransactions();
  ShardedTransactions(const ShardedTransactions&) = delete;
  ShardedTransactions& operator=(const ShardedTransactions&) = delete;

  void warm_up();
  Result run();
  // Frames that were forwarded to the shard of their flow.
  std::uint64_t forwarded() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lockstep::tools::benchmark
