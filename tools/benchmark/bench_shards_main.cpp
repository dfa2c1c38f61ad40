// The program behind tools/bench shards and journal: one run, as one line of JSON. It is no part
// of bench_pair, so that the link lays out that one's core for its own workloads alone.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/benchmark/result_json.hpp"
#include "tools/benchmark/shards.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::tools::benchmark;

struct Asked {
  std::uint32_t shards = 1;
  std::uint32_t at_once = 1;
  std::uint64_t count = 100'000;
  std::string journal;
};

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
  CLI::App app{"Transactions with a server of several shards, as one line of JSON.\n"
               "Example: bench_shards --shards 2 --at-once 64 --count 10000"};
  app.add_option("--shards", asked.shards, "of the server")->check(CLI::Range(1u, 256u));
  app.add_option("--at-once", asked.at_once, "connections under way")
      ->check(CLI::Range(1u, 100'000u));
  app.add_option("--count", asked.count, "transactions");
  app.add_option("--journal", asked.journal, "keep one there; with one shard only");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    int const code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  fmt::print("{}\n", run(asked).dump());
  return 0;
}
