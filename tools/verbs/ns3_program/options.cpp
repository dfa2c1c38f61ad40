// The options of `lockstep ns3 run`, from the command line and from a TOML file that it overrides.
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
  run.add_option("--rate", topology.rate, "rate of the bottleneck, like 10Mbps");
  run.add_option("--delay", topology.delay, "delay of the bottleneck, like 20ms");
  run.add_option("--queue", topology.queue, "packets that the bottleneck's queue can hold")
      ->check(CLI::Range(2, 1'000'000));
  run.add_option("--disc", topology.disc, "queue discipline at the bottleneck")
      ->check(CLI::IsMember({"none", "pfifo", "codel", "fqcodel", "pie", "red", "red1993"}));
  run.add_flag("--ecn", topology.ecn, "ECN in ns-3's TCP and in the queue discipline");
  run.add_option("--loss", topology.loss,
                 "probability of losing a packet after the bottleneck: 0.01 is 1%")
      ->check(CLI::Range(0.0, 0.9));
}

void add_flows(CLI::App& run, RunOptions& options) {
  auto& settings = options.settings;
  run.add_option(
         "--flows", settings.flows,
         "the sender's TCP of each flow: ours, newreno, cubic, bbr, dctcp, vegas, linuxreno, "
         "or newreno-ruled, cubic-ruled, in which --default can set single rules as in ours")
      ->delimiter(',')
      ->capture_default_str();
  run.add_option("--receivers", settings.receivers, "the receivers' TCP")
      ->check(CLI::IsMember({"same", "ours", "ns3"}))
      ->capture_default_str();
  run.add_option("--bytes", settings.bytes, "octets that each flow sends")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
      ->capture_default_str();
  run.add_option("--stop", settings.stop, "simulated seconds after which the run stops")
      ->check(CLI::Range(1.1, 100'000.0))
      ->capture_default_str();
  run.add_option("--seed", settings.seed, "ns-3's seed")->check(CLI::Range(1u, 4294944442u));
  run.add_option("--run", settings.run, "ns-3's run number");
  run.add_option("--profile", settings.profile, "profile of our stacks")
      ->check(CLI::IsMember({"default", "rfc", "linux", "freebsd"}))
      ->capture_default_str();
  run.add_option("--set", options.sets, "set an attribute of our stacks, like Congestion=reno");
  run.add_option("--default", options.defaults,
                 "set a default of ns-3, like ns3::TcpSocket::SndBufSize=4194304");
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs_of(const char* option, const std::vector<std::string>& words, const char* example) {
  Pairs pairs;
  for (const auto& each : words) {
    auto const equals = each.find('=');
    if (equals == std::string::npos) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("{} {}: expected NAME=VALUE, like {}", option, each, example));
    }
    pairs.emplace_back(each.substr(0, equals), each.substr(equals + 1));
  }
  return pairs;
}

/// A value as written on the command line.
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
  refuse(file, node, "expected a quoted string, a number, true, false, or an array of these");
}

/// The option with this name, or null if there is none or it belongs on the command line only.
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
           fmt::format("unknown option '{}': 'lockstep ns3 run --help' lists them", key));
  }
  if (option->count() != 0) {
    return;  // the command line overrides it
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
                 "also report the goodput from this second to the end")
      ->check(CLI::Range(0.0, 100'000.0));
  run.add_flag("--speed", settings.speed, "count the hosts' frames, and report the time taken");
  run.add_option("--out", settings.folder,
                 "write summary.json, traces.csv and a pcap of each interface to this folder");
  run.add_flag("!--no-pcap", settings.pcap, "write no pcap");
  run.add_flag("--json", options.json, "print the summary as JSON");
  run.add_option("--config", options.config,
                 "a TOML file with the same options, like topology = \"lan\", flows = [\"ours\", "
                 "\"cubic\"] or rate = \"1Gbps\"; the command line overrides it");
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
                  "the topology is missing: give dumbbell, parking-lot, lan, wifi, lossy or "
                  "datacenter; see 'lockstep ns3 run --help'");
  }
  settings.attributes = pairs_of("--set", options.sets, "Congestion=reno");
  settings.defaults = pairs_of("--default", options.defaults, "ns3::TcpSocketBase::MinRto=200ms");
  return settings;
}

}  // namespace lockstep::tools
