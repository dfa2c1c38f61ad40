// Loads conformance/scapy/targets.json and builds columns from it.
#include "conformance/requirements/live.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/base/output/json.hpp"
#include "tools/base/output/page.hpp"
#include "tools/base/output/xml.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* results_file = "conformance/scapy/targets.json";

void read_differences(const json& document, LiveResults& out) {
  const json& reasons = document.at("reasons");
  for (const json& row : document.at("differing")) {
    LiveDifference difference{
        row.at("test").get<std::string>(), row.at("words").get<std::string>(), {}};
    if (const auto number = row.at("reason").get<std::size_t>(); number != 0) {
      difference.reason = reasons.at(number - 1).get<std::string>();
    }
    out.differences[row.at("target").get<std::string>()][difference.test] = difference;
  }
}

void read_cells(const json& document, LiveResults& out) {
  for (const auto& [id, targets] : document.at("clauses").items()) {
    for (const auto& [target, cell] : targets.items()) {
      LiveCell& made = out.cells[target][id];
      made.passed = cell.at("passed").get<std::size_t>();
      for (const json& test : cell.at("failed")) {
        made.differing.push_back(&out.differences.at(target).at(test.get<std::string>()));
      }
    }
  }
}

std::string detail_of(const LiveCell& cell) {
  std::string out;
  const std::string* before = nullptr;
  for (const LiveDifference* difference : cell.differing) {
    // Consecutive tests with the same reason print it once.
    if (before == nullptr || *before != difference->reason) {
      out +=
          fmt::format("{}{}<br>", before == nullptr ? "" : "<br>", xml_escaped(difference->reason));
    }
    before = &difference->reason;
    out += fmt::format("<code title=\"{}\">{}</code><br>", xml_escaped(difference->words),
                       xml_escaped(difference->test));
  }
  return out;
}

}  // namespace

const LiveCell* LiveResults::cell(const std::string& target, const std::string& id) const {
  const auto of_target = cells.find(target);
  if (of_target == cells.end()) {
    return nullptr;
  }
  const auto found = of_target->second.find(id);
  return found == of_target->second.end() ? nullptr : &found->second;
}

LiveResults load_live_results(const std::filesystem::path& root) {
  LiveResults out;
  std::ifstream file(root / results_file);
  if (!file) {
    return out;
  }
  try {
    const json document = parse_json(file);
    out.kernel = document.at("kernel").get<std::string>();
    read_differences(document, out);
    read_cells(document, out);
  } catch (const std::exception& error) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: expected the output of conformance/scapy/targets.py: run "
                              "tools/evidence targets ({})",
                              results_file, error.what()));
  }
  return out;
}

VerdictColumn live_column(const LiveResults& results, const std::string& target,
                          const std::string& title, const std::string& key) {
  VerdictColumn out{title, key, {}};
  const auto cells = results.cells.find(target);
  if (cells == results.cells.end()) {
    return out;
  }
  for (const auto& [id, cell] : cells->second) {
    out.cells[id] = {cell.differing.empty() ? "good" : "bad",
                     fmt::format("{} of {}", cell.passed, cell.tests()), detail_of(cell)};
  }
  return out;
}

}  // namespace lockstep::tools
