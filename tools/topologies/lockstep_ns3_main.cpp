// The program lockstep_ns3: ready topologies of ns-3, run with flows of our TCP and of ns-3's.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/cli/failure.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/ns3_ports/port_kind.hpp"
#include "tools/output/draft_file.hpp"
#include "tools/topologies/experiment.hpp"

namespace {

using namespace lockstep::tools;

struct Words {
  ExperimentSettings settings;
  std::vector<std::string> sets;
  std::vector<std::string> defaults;
  bool json = false;
};

void add_options(CLI::App& run, Words& words) {
  auto& settings = words.settings;
  auto& topology = settings.topology;
  run.add_option("topology", topology.name,
                 "dumbbell, parking-lot, lan, wifi, lossy or datacenter")
      ->required();
  run.add_option("--flows", settings.flows,
                 "the sender of each flow: ours, newreno, cubic, bbr, dctcp, vegas, linuxreno")
      ->delimiter(',')
      ->capture_default_str();
  run.add_option("--receivers", settings.receivers, "whose TCP receives")
      ->check(CLI::IsMember({"same", "ours", "ns3"}))
      ->capture_default_str();
  run.add_option("--bytes", settings.bytes, "octets that each flow sends")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
      ->capture_default_str();
  run.add_option("--stop", settings.stop, "seconds to simulate at most")
      ->check(CLI::Range(1.1, 100'000.0))
      ->capture_default_str();
  run.add_option("--rate", topology.rate, "of the bottleneck, as 10Mbps");
  run.add_option("--delay", topology.delay, "of the bottleneck, as 20ms");
  run.add_option("--queue", topology.queue, "packets at the bottleneck")
      ->check(CLI::Range(2, 1'000'000));
  run.add_option("--disc", topology.disc, "at the bottleneck")
      ->check(CLI::IsMember({"none", "pfifo", "codel", "fqcodel", "red"}));
  run.add_flag("--ecn", topology.ecn, "ns-3's TCP and the disc use ECN");
  run.add_option("--loss", topology.loss, "of each packet behind the bottleneck: 0.01 is 1%")
      ->check(CLI::Range(0.0, 0.9));
  run.add_option("--seed", settings.seed, "ns-3's seed")->check(CLI::Range(1u, 4294944442u));
  run.add_option("--run", settings.run, "ns-3's run number");
  run.add_option("--profile", settings.profile, "of our stacks")
      ->check(CLI::IsMember({"default", "rfc", "linux", "freebsd"}))
      ->capture_default_str();
  run.add_option("--set", words.sets, "an attribute of our stacks: Congestion=reno");
  run.add_option("--default", words.defaults,
                 "a default of ns-3's own: ns3::TcpSocket::SndBufSize=4194304");
  run.add_option("--measure-from", settings.measure_from,
                 "also tell the goodput from this second to the end")
      ->check(CLI::Range(0.0, 100'000.0));
  run.add_flag("--speed", settings.speed, "count the frames of hosts, and tell the time taken");
  run.add_option("--out", settings.folder,
                 "a folder for summary.json, traces.csv and a pcap of each interface");
  run.add_flag("!--no-pcap", settings.pcap, "write no pcap");
  run.add_flag("--json", words.json, "print the summary as JSON");
  run.set_config("--config", "", "the same options in a TOML file: flows = [\"ours\", \"cubic\"]");
  run.footer("Exit code 1: a flow did not finish.\n"
             "Example: lockstep ns3 run dumbbell --flows ours,newreno --seed 7 --out run");
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs_of(const char* option, const std::vector<std::string>& words, const char* example) {
  Pairs pairs;
  for (const auto& each : words) {
    auto const equals = each.find('=');
    if (equals == std::string::npos) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("{} {}: expected NAME=VALUE, as {}", option, each, example));
    }
    pairs.emplace_back(each.substr(0, equals), each.substr(equals + 1));
  }
  return pairs;
}

int run_words(Words& words) {
  words.settings.attributes = pairs_of("--set", words.sets, "Congestion=reno");
  words.settings.defaults =
      pairs_of("--default", words.defaults, "ns3::TcpSocketBase::MinRto=200ms");
  auto const result = run_experiment(words.settings);
  auto const json = result_json(words.settings, result);
  if (!words.settings.folder.empty()) {
    save_file(words.settings.folder + "/summary.json", json);
  }
  fmt::print("{}", words.json ? json : result_text(result));
  bool const all = std::ranges::all_of(result.flows, [](const auto& f) { return f.complete; });
  return static_cast<int>(all ? ExitCode::fine : ExitCode::finding);
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("Ready topologies of ns-3, with flows of our TCP and of ns-3's own", "lockstep ns3");
  app.require_subcommand(1);
  app.footer("Example: lockstep ns3 run dumbbell --flows ours,newreno --seed 7 --out run");
  Words words;
  CLI::App* const run = app.add_subcommand("run", "Run one topology");
  add_options(*run, words);
  // The verbs that let one choose a port.
  add_port_kind(ns3_port_kind());
  int exit_code = static_cast<int>(ExitCode::fine);
  register_conformance(app, exit_code);
  register_matrix(app, exit_code);
  try {
    app.parse(count, arguments);
    return run->parsed() ? run_words(words) : exit_code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);
    }
    fmt::print(stderr, "lockstep: {}; see 'lockstep ns3 --help'\n", error.what());
    return static_cast<int>(ExitCode::bad_input);
  } catch (const Failure& failure) {
    fmt::print(stderr, "lockstep: {}\n", failure.what());
    return static_cast<int>(failure.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "lockstep: {}\n", error.what());
    return static_cast<int>(ExitCode::environment);
  }
}
