// Loads, ways, causes and the flows that lost most as tables; all flows as JSON.
#include "tools/verbs/testbed/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/base/output/json.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/text/units.hpp"

namespace lockstep::tools {
namespace {

using nlohmann::ordered_json;
using Align = TextTable::Align;

constexpr std::size_t flows_shown = 8;

std::string load_table(const TestbedOptions& options, const TestbedResult& result,
                       std::size_t width) {
  TextTable table(
      {{"load", Align::left}, {"answered"}, {"failed"}, {"requests/s"}, {"goodput"}, {"p99"}});
  std::string said;
  for (const LoadOutcome& each : result.loads) {
    if (each.code != 0) {
      said += fmt::format("{}: {}\n", each.name, each.error);
    }
    if (each.json.empty()) {
      table.add({each.name, "-", "-", "-", "-", "-"});
      continue;
    }
    ordered_json const load = ordered_json::parse(each.json);
    std::uint64_t failed = 0;
    for (const ordered_json& count : load.at("errors")) {
      failed += count.get<std::uint64_t>();
    }
    auto const number = [&](const char* name) { return load.at(name).get<std::uint64_t>(); };
    table.add({each.name, grouped(number("answered")), grouped(failed),
               grouped(number("requests_per_second")),
               rate_text(number("requests_per_second") * 8 * options.size),
               text_of(Duration{load.at("latency").at("p99_ns").get<std::uint64_t>()})});
  }
  return table.text(width) + said;
}

std::string way_table(const Reconciled& account, std::size_t width) {
  TextTable table({{"frames", Align::left}, {"offered"}, {"made"}, {"delivered"}, {"lost"}});
  for (const Reconciled::Way& way : account.ways) {
    table.add({way.name, grouped(way.fate.offered), grouped(way.fate.made),
               grouped(way.fate.delivered), grouped(way.fate.lost)});
  }
  return table.text(width);
}

std::string cause_table(const Reconciled& account, std::size_t width) {
  if (account.causes.empty()) {
    return "";
  }
  TextTable table({{"lost"}, {"cause", Align::left}});
  for (const Cause& cause : account.causes) {
    table.add({grouped(cause.frames), cause.name});
  }
  return table.text(width) + "\n";
}

std::string flow_table(const Reconciled& account, std::size_t width) {
  std::vector<const FlowFate*> worst;
  for (const FlowFate& each : account.flows) {
    if (each.fate.lost + each.fate.made != 0) {
      worst.push_back(&each);
    }
  }
  std::string out = fmt::format("{} flows, {} of them lost frames or were given some\n",
                                grouped(account.flows.size()), grouped(worst.size()));
  if (worst.empty()) {
    return out;
  }
  std::sort(worst.begin(), worst.end(), [](const FlowFate* left, const FlowFate* right) {
    bool const alike = left->fate.lost == right->fate.lost;
    return alike ? left->flow < right->flow : left->fate.lost > right->fate.lost;
  });
  TextTable table({{"offered"}, {"made"}, {"delivered"}, {"lost"}, {"flow", Align::left}});
  for (std::size_t i = 0; i < std::min(worst.size(), flows_shown); ++i) {
    const Fate& fate = worst[i]->fate;
    table.add({grouped(fate.offered), grouped(fate.made), grouped(fate.delivered),
               grouped(fate.lost),
               fmt::format("{} to {}", worst[i]->flow.from, worst[i]->flow.to)});
  }
  return out + table.text(width);
}

std::string verdict(const Reconciled& account) {
  if (account.has_strays()) {
    return "not reconciled: more flows than the kernel's tables hold: fewer --connections\n";
  }
  if (account.contradicted) {
    return "not reconciled: a cause has taken more of a flow than it has lost\n";
  }
  if (account.unexplained != 0) {
    return fmt::format(
        "not reconciled: {} frames were lost by nothing that is counted: give each "
        "rule that drops a counter\n",
        grouped(account.unexplained));
  }
  std::string out = "reconciled: offered + made = delivered + lost, each loss by its cause\n";
  if (account.others != 0) {
    out += fmt::format("(causes have counted {} frames more, of no flow here)\n",
                       grouped(account.others));
  }
  return out;
}

ordered_json json_of(const Fate& fate) {
  return {{"offered", fate.offered},
          {"made", fate.made},
          {"delivered", fate.delivered},
          {"lost", fate.lost}};
}

ordered_json json_of(const std::vector<Cause>& causes) {
  ordered_json out = ordered_json::array();
  for (const Cause& cause : causes) {
    out.push_back({{"cause", cause.name}, {"frames", cause.frames}});
  }
  return out;
}

}  // namespace

bool TestbedResult::is_fine() const {
  return account.holds() && std::all_of(loads.begin(), loads.end(),
                                        [](const LoadOutcome& each) { return each.code == 0; });
}

std::string testbed_text(const TestbedOptions& options, const TestbedResult& result,
                         std::size_t width) {
  return fmt::format("box: {}\n", options.box) + load_table(options, result, width) + "\n" +
         way_table(result.account, width) + "\n" + cause_table(result.account, width) +
         flow_table(result.account, width) + verdict(result.account);
}

std::string testbed_json(const TestbedOptions& options, const TestbedResult& result) {
  const Reconciled& account = result.account;
  ordered_json out;
  out["box"] = options.box;
  out["reconciled"] = account.holds();
  auto& ways = out["ways"] = ordered_json::array();
  for (const Reconciled::Way& way : account.ways) {
    ordered_json each = json_of(way.fate);
    each["way"] = way.name;
    each["without_flow"] = way.without_flow;
    ways.push_back(each);
  }
  out["causes"] = json_of(account.causes);
  out["lost"] = account.lost;
  out["unexplained"] = account.unexplained;
  out["of_others"] = account.others;
  auto& flows = out["flows"] = ordered_json::array();
  for (const FlowFate& flow : account.flows) {
    ordered_json each = {{"way", flow.way}, {"from", flow.flow.from}, {"to", flow.flow.to}};
    each.update(json_of(flow.fate));
    each["lost_by"] = json_of(flow.causes);
    each["lost_otherwise"] = flow.other;
    flows.push_back(each);
  }
  auto& loads = out["loads"] = ordered_json::object();
  for (const LoadOutcome& each : result.loads) {
    loads[each.name] = {
        {"exit_code", each.code},
        {"error", each.error},
        {"result", each.json.empty() ? ordered_json(nullptr) : ordered_json::parse(each.json)}};
  }
  out["server"] =
      result.server_json.empty() ? ordered_json(nullptr) : ordered_json::parse(result.server_json);
  return json_text(out);
}

}  // namespace lockstep::tools
