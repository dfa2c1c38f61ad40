// Idle connections: the memory that each holds, and the cost of a turn with many of them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/lib/pair/pair.hpp"
#include "tools/proofs/bench/result.hpp"

namespace lockstep::tools::benchmark {

// One kind of record that an idle connection holds.
struct Share {
  std::string_view record;
  std::uint64_t bytes = 0;  // of all connections
};

struct IdleSettings {
  LinkType link = LinkType::ip;
  bool extensions = false;
  Count connections{100'000};
  std::uint64_t turns = 100'000;
};

struct IdleResult {
  Result turns;                   // units: turns of one host without work
  std::uint64_t arena_bytes = 0;  // growth of the arena for these connections
  std::vector<Share> shares;      // the records that make up this growth
};

// Opens the connections, and then runs turns in which nothing arrives. There is only one active
// part per hundred connections, which shows that idle connections hold none.
IdleResult run_idle(const IdleSettings& settings);

}  // namespace lockstep::tools::benchmark
