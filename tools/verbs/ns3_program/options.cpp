// The options of `lockstep ns3 run`: from the command line, and from a TOML file beneath it.
#include "tools/verbs/ns3_program/options.hpp"

#include <fmt/core.h>

#include <utility>

#include "tools/base/process/failure.hpp"
#include "tools/base/text/toml_table.hpp"

namespace lockstep::tools {
namespace {

void add_network(CLI::App& run, TopologySettings& topology) {
  run.add_option("topology", topology.name,
                 "dumbbell, parking-lot, lan, wifi, lossy or datacenter");
  run.add_option("--rate", topology.rate, "of the bottleneck, as 10Mbps");
  run.add_option("--delay", topology.delay, "of the bottleneck, as 20ms");
  run.add_option("--queue", topology.queue, "packets at the bottleneck")
      ->check(CLI::Range(2, 1'000'000));
  run.add_option("--disc", topology.disc, "at the bottleneck")
      ->check(CLI::IsMember({"none", "pfifo", "codel", "fqcodel", "red"}));
  run.add_flag("--ecn", topology.ecn, "ns-3's TCP and the disc use ECN");
  run.add_option("--loss", topology.loss, "of each packet behind the bottleneck: 0.01 is 1%")
      ->check(CLI::Range(0.0, 0.9));
}

void add_flows(CLI::App& run, RunOptions& options) {
  auto& settings = options.settings;
  run.add_option("--flows", settings.flows,
                 "the sender of each flow: ours, newreno, cubic, bbr, dctcp, vegas, linuxreno, and "
                 "newreno-ruled, cubic-ruled, whose single rules --default makes as ours")
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
  run.add_option("--seed", settings.seed, "ns-3's seed")->check(CLI::Range(1u, 4294944442u));
  run.add_option("--run", settings.run, "ns-3's run number");
  run.add_option("--profile", settings.profile, "of our stacks")
      ->check(CLI::IsMember({"default", "rfc", "linux", "freebsd"}))
      ->capture_default_str();
  run.add_option("--set", options.sets, "an attribute of our stacks: Congestion=reno");
  run.add_option("--default", options.defaults,
                 "a default of ns-3's own: ns3::TcpSocket::SndBufSize=4194304");
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

/// A value as it would stand on the command line.
std::string word_of(const std::string& file, const toml::node& node) {
  if (auto const* const text = node.as_string()) {
    return text->get();
  }
  if (auto const* const whole = node.as_integer()) {
    return fmt::format("{}", whole->get());
  }
  if (auto const* const number = node.as_floating_point()) {
    return fmt::format("{}", number->get());
  }
  if (auto const* const flag = node.as_boolean()) {
    return flag->get() ? "true" : "false";
  }
  refuse(file, node, "expected a text in quotes, a number, true, false, or an array of these");
}

/// The option that a key names, or null: what is of the command line alone is none.
CLI::Option* option_of(CLI::App& run, const std::string& key) {
  if (key == "topology") {
    return run.get_option_no_throw(key);
  }
  return key == "config" || key == "help" ? nullptr : run.get_option_no_throw("--" + key);
}

void take(CLI::App& run, const std::string& file, const std::string& key, const toml::node& node) {
  CLI::Option* const option = option_of(run, key);
  if (option == nullptr) {
    refuse(file, node,
           fmt::format("no option is called '{}': 'lockstep ns3 run --help' lists them", key));
  }
  if (option->count() != 0) {
    return;  // the command line has said it
  }
  bool const flag = option->get_items_expected_max() == 0;
  auto const add = [&](const toml::node& value) {
    auto const word = word_of(file, value);
    option->add_result(flag ? option->get_flag_value(key, word) : word);
  };
  if (auto const* const array = node.as_array()) {
    for (const auto& each : *array) {
      add(each);
    }
  } else {
    add(node);
  }
  try {
    option->run_callback();
  } catch (const CLI::ParseError& error) {
    refuse(file, node, error.what());
  }
}

}  // namespace

void add_run_options(CLI::App& run, RunOptions& options) {
  auto& settings = options.settings;
  settings.topology.name.clear();
  add_network(run, settings.topology);
  add_flows(run, options);
  run.add_option("--measure-from", settings.measure_from,
                 "also tell the goodput from this second to the end")
      ->check(CLI::Range(0.0, 100'000.0));
  run.add_flag("--speed", settings.speed, "count the frames of hosts, and tell the time taken");
  run.add_option("--out", settings.folder,
                 "a folder for summary.json, traces.csv and a pcap of each interface");
  run.add_flag("!--no-pcap", settings.pcap, "write no pcap");
  run.add_flag("--json", options.json, "print the summary as JSON");
  run.add_option("--config", options.config,
                 "a TOML file of the same options, as topology = \"lan\", flows = [\"ours\", "
                 "\"cubic\"] or rate = \"1Gbps\"; those of the command line win");
  run.footer(
      "Exit code 1: a flow did not finish.\n"
      "Example: lockstep ns3 run dumbbell --flows ours,newreno --seed 7 --out run");
}

ExperimentSettings settings_of(CLI::App& run, RunOptions& options) {
  if (!options.config.empty()) {
    auto const table = parse_toml(options.config);
    for (const auto& [key, node] : table) {
      take(run, options.config, std::string(key.str()), node);
    }
  }
  auto& settings = options.settings;
  if (settings.topology.name.empty()) {
    throw Failure(ExitCode::bad_input,
                  "which topology is missing: dumbbell, parking-lot, lan, wifi, lossy or "
                  "datacenter; see 'lockstep ns3 run --help'");
  }
  settings.attributes = pairs_of("--set", options.sets, "Congestion=reno");
  settings.defaults = pairs_of("--default", options.defaults, "ns3::TcpSocketBase::MinRto=200ms");
  return settings;
}

}  // namespace lockstep::tools
