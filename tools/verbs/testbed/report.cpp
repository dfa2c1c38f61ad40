// Tables of loads, directions, causes and the flows with most losses; JSON of all flows.
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
    ordered_json const load = parse_json(each.json);
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

std::string direction_table(const Reconciled& account, std::size_t width) {
  TextTable table({{"frames", Align::left}, {"offered"}, {"injected"}, {"delivered"}, {"lost"}});
  for (const Reconciled::Direction& direction : account.directions) {
    table.add({direction.name, grouped(direction.frames.offered),
               grouped(direction.frames.injected), grouped(direction.frames.delivered),
               grouped(direction.frames.lost)});
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
  std::vector<const FlowBalance*> worst;
  for (const FlowBalance& each : account.flows) {
    if (each.frames.lost + each.frames.injected != 0) {
      worst.push_back(&each);
    }
  }
  std::string out = fmt::format("{} flows, of which {} have lost or injected frames\n",
                                grouped(account.flows.size()), grouped(worst.size()));
  if (worst.empty()) {
    return out;
  }
  std::sort(worst.begin(), worst.end(), [](const FlowBalance* left, const FlowBalance* right) {
    bool const alike = left->frames.lost == right->frames.lost;
    return alike ? left->flow < right->flow : left->frames.lost > right->frames.lost;
  });
  TextTable table({{"offered"}, {"injected"}, {"delivered"}, {"lost"}, {"flow", Align::left}});
  for (std::size_t i = 0; i < std::min(worst.size(), flows_shown); ++i) {
    const FrameBalance& balance = worst[i]->frames;
    table.add({grouped(balance.offered), grouped(balance.injected), grouped(balance.delivered),
               grouped(balance.lost),
               fmt::format("{} to {}", worst[i]->flow.from, worst[i]->flow.to)});
  }
  return out + table.text(width);
}

std::string verdict(const Reconciled& account) {
  if (account.has_strays()) {
    return "not reconciled: more flows than the counter tables hold: choose fewer --connections\n";
  }
  if (account.contradicted) {
    return "not reconciled: a drop counter exceeds the frames that the flow lost\n";
  }
  if (account.unexplained != 0) {
    return fmt::format(
        "not reconciled: {} lost frames are in no drop counter: add a counter to each "
        "rule that drops\n",
        grouped(account.unexplained));
  }
  std::string out =
      "reconciled: offered + injected = delivered + lost, and every loss has a cause\n";
  if (account.others != 0) {
    out += fmt::format("(drop counters also hold {} frames that belong to none of these flows)\n",
                       grouped(account.others));
  }
  return out;
}

ordered_json json_of(const FrameBalance& balance) {
  return {{"offered", balance.offered},
          {"injected", balance.injected},
          {"delivered", balance.delivered},
          {"lost", balance.lost}};
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
         direction_table(result.account, width) + "\n" + cause_table(result.account, width) +
         flow_table(result.account, width) + verdict(result.account);
}

std::string testbed_json(const TestbedOptions& options, const TestbedResult& result) {
  const Reconciled& account = result.account;
  ordered_json out;
  out["box"] = options.box;
  out["reconciled"] = account.holds();
  auto& directions = out["directions"] = ordered_json::array();
  for (const Reconciled::Direction& direction : account.directions) {
    ordered_json each = json_of(direction.frames);
    each["direction"] = direction.name;
    each["without_flow"] = direction.without_flow;
    directions.push_back(each);
  }
  out["causes"] = json_of(account.causes);
  out["lost"] = account.lost;
  out["unexplained"] = account.unexplained;
  out["of_others"] = account.others;
  auto& flows = out["flows"] = ordered_json::array();
  for (const FlowBalance& flow : account.flows) {
    ordered_json each = {
        {"direction", flow.direction}, {"from", flow.flow.from}, {"to", flow.flow.to}};
    each.update(json_of(flow.frames));
    each["lost_by"] = json_of(flow.causes);
    each["lost_otherwise"] = flow.other;
    flows.push_back(each);
  }
  auto& loads = out["loads"] = ordered_json::object();
  for (const LoadOutcome& each : result.loads) {
    loads[each.name] = {
        {"exit_code", each.code},
        {"error", each.error},
        {"result", each.json.empty() ? ordered_json(nullptr) : parse_json(each.json)}};
  }
  out["server"] =
      result.server_json.empty() ? ordered_json(nullptr) : parse_json(result.server_json);
  return json_text(out);
}

}  // namespace lockstep::tools
