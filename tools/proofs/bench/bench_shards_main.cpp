// The program behind tools/bench shards and journal: one run, printed as one line of JSON. Separate
// from bench_pair, so that the linker lays out that program's core for its own workloads only.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hw/shards/affinity.hpp"
#include "tools/proofs/bench/pinned.hpp"
#include "tools/proofs/bench/result_json.hpp"
#include "tools/proofs/bench/shards.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::tools::benchmark;

struct Asked {
  std::uint32_t shards = 1;
  std::uint32_t at_once = 1;
  std::uint64_t count = 100'000;
  std::string journal;
  std::string pinned;
};

// Shards in parallel threads. If that is not possible, prints the reason and returns exit code 3.
int run_side_by_side(const Asked& asked) {
  std::vector<hw::Cpu> cpus;
  hw::Trouble const trouble = hw::parse_cpus(asked.pinned, cpus);
  ShardSettings settings;
  settings.shards = {static_cast<std::uint32_t>(cpus.size())};
  settings.at_once = Count{asked.at_once};
  settings.count = asked.count;
  PinnedResult const result = trouble ? PinnedResult{} : run_pinned(settings, cpus);
  if (trouble || !result.trouble.empty()) {
    fmt::print(stderr, "bench_shards: --pinned {}: {}{}\n", asked.pinned, trouble.text,
               result.trouble);
    return trouble ? 2 : 3;
  }
  nlohmann::ordered_json const out{{"units", result.units},
                                   {"units_of", result.units_of},
                                   {"busy_ns", result.busy_ns},
                                   {"wall_ns", result.wall_ns},
                                   {"forwarded", result.forwarded}};
  fmt::print("{}\n", out.dump());
  return 0;
}

nlohmann::json run(const Asked& asked) {
  ShardSettings settings;
  settings.shards = {asked.shards};
  settings.journal = asked.journal;
  settings.at_once = Count{asked.at_once};
  settings.count = asked.count;
  ShardedTransactions transactions(settings);
  transactions.warm_up();
  nlohmann::json out = json_of(transactions.run());
  out["forwarded"] = transactions.forwarded();
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  Asked asked;
  CLI::App app{
      "Runs transactions with a server of several shards, and prints one line of JSON.\n"
      "Example: bench_shards --shards 2 --at-once 64 --count 10000"};
  app.add_option("--shards", asked.shards, "shards of the server")->check(CLI::Range(1u, 256u));
  app.add_option("--at-once", asked.at_once, "connections open at the same time")
      ->check(CLI::Range(1u, 100'000u));
  app.add_option("--count", asked.count, "transactions");
  app.add_option("--journal", asked.journal, "write a journal to this file; with one shard only");
  app.add_option("--pinned", asked.pinned,
                 "processors like 0,1: run a shard and its client on each, in parallel threads");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    int const code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  if (!asked.pinned.empty()) {
    return run_side_by_side(asked);
  }
  fmt::print("{}\n", run(asked).dump());
  return 0;
}
