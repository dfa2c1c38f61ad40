// The program behind tools/bench: one run of one workload on a pair of stacks, printed as JSON.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/proofs/bench/bulk.hpp"
#include "tools/proofs/bench/counted_allocations.hpp"
#include "tools/proofs/bench/idle.hpp"
#include "tools/proofs/bench/result_json.hpp"
#include "tools/proofs/bench/transactions.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::tools::benchmark;

struct Asked {
  std::string link = "ip";
  std::uint32_t mtu = 1500;
  std::string writing = "copied";
  std::uint32_t ack_stretch = tcp::Config{}.ack_stretch_segments.value;
  std::uint32_t at_once = 1;
  std::uint64_t count = 100'000;
  bool verify = false;
  bool extensions = false;

  LinkType link_type() const { return link == "ethernet" ? LinkType::ethernet : LinkType::ip; }
};

nlohmann::json run_bulk(const Asked& asked) {
  BulkSettings settings;
  settings.pair.link = asked.link_type();
  settings.pair.extensions = asked.extensions;
  settings.pair.mtu = Bytes{asked.mtu};
  settings.pair.ack_stretch_segments = Count{asked.ack_stretch};
  settings.writing = asked.writing == "lent" ? Writing::lent : Writing::copied;
  settings.segments = asked.count;
  settings.verify = asked.verify;
  Bulk bulk(settings);
  std::uint64_t const before = allocations_made;
  bulk.warm_up();
  Result const result = bulk.run();
  std::uint64_t const allocations = allocations_made - before;
  nlohmann::json out = json_of(result);
  out["allocations"] = allocations;
  return out;
}

nlohmann::json run_transactions(const Asked& asked) {
  TransactionSettings settings;
  settings.link = asked.link_type();
  settings.extensions = asked.extensions;
  settings.at_once = Count{asked.at_once};
  settings.count = asked.count;
  Transactions transactions(settings);
  std::uint64_t const before = allocations_made;
  transactions.warm_up();
  Result const result = transactions.run();
  std::uint64_t const allocations = allocations_made - before;
  nlohmann::json out = json_of(result);
  out["allocations"] = allocations;
  return out;
}

nlohmann::json run_idle_connections(const Asked& asked) {
  IdleSettings settings;
  settings.link = asked.link_type();
  settings.extensions = asked.extensions;
  settings.connections = Count{asked.at_once};
  settings.turns = asked.count;
  IdleResult const result = run_idle(settings);
  nlohmann::json out = json_of(result.turns);
  out["connections"] = asked.at_once;
  out["arena_bytes"] = result.arena_bytes;
  for (Share const& share : result.shares) {
    out["shares"][std::string(share.record)] = share.bytes;
  }
  return out;
}

nlohmann::json run_verb(const Asked& asked, const std::string& verb) {
  if (verb == "bulk") {
    return run_bulk(asked);
  }
  if (verb == "transactions") {
    return run_transactions(asked);
  }
  return run_idle_connections(asked);
}

}  // namespace

int main(int argc, char** argv) {
  Asked asked;
  CLI::App app{
      "Runs one workload once on two stacks joined in memory, and prints one line of JSON.\n"
      "Example: bench_pair bulk --mtu 1500 --writing lent --count 200000"};
  app.require_subcommand(1);
  app.add_option("--link", asked.link, "ip or ethernet")->check(CLI::IsMember({"ip", "ethernet"}));
  app.add_flag("--extensions", asked.extensions,
               "enable the extensions of a bare Config: SACK, timestamps, CUBIC ...");
  CLI::App* const bulk = app.add_subcommand("bulk", "one connection at full speed");
  bulk->add_option("--mtu", asked.mtu, "MTU of the link in bytes")->check(CLI::Range(68u, 9000u));
  bulk->add_option("--writing", asked.writing, "copied, or lent with a checksum table")
      ->check(CLI::IsMember({"copied", "lent"}));
  bulk->add_option("--ack-stretch", asked.ack_stretch, "segments that one ACK may acknowledge")
      ->check(CLI::Range(2u, 1024u));
  bulk->add_option("--count", asked.count, "full-sized segments");
  bulk->add_flag("--verify", asked.verify, "compare each received byte");
  CLI::App* const transactions =
      app.add_subcommand("transactions", "connect, 64 B each way, close");
  transactions->add_option("--at-once", asked.at_once, "connections open at the same time")
      ->check(CLI::Range(1u, 1'000'000u));
  transactions->add_option("--count", asked.count, "transactions");
  CLI::App* const idle = app.add_subcommand("idle", "idle connections");
  idle->add_option("--at-once", asked.at_once, "connections")->check(CLI::Range(1u, 1'000'000u));
  idle->add_option("--count", asked.count, "turns");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    int const code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  fmt::print("{}\n", run_verb(asked, app.get_subcommands().front()->get_name()).dump());
  return 0;
}
