// Connections that do nothing: what each of them holds, and what a turn among them costs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/lib/pair/pair.hpp"
#include "tools/proofs/bench/result.hpp"

namespace lockstep::tools::benchmark {

// One record that an idle connection holds.
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
  Result turns;                   // units: turns of one host with nothing to do
  std::uint64_t arena_bytes = 0;  // that the arena grows by for these connections
  std::vector<Share> shares;      // what that is made of
};

// Opens the connections, and then takes turns in which nothing arrives. There is only one active
// part for every hundred connections, which shows that an idle one holds none.
IdleResult run_idle(const IdleSettings& settings);

}  // namespace lockstep::tools::benchmark
