// Finds scenarios, replays them, and writes the table, JSON and JUnit XML.
#include "conformance/suite/suite.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "conformance/replay/export.hpp"
#include "conformance/replay/report.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/output/xml.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance {
namespace {

using tools::xml_escaped;

bool agrees(const Replayed& replayed) {
  return replayed.verdict.judgement == Judgement::agrees ||
         replayed.verdict.judgement == Judgement::differs_allowed;
}

/// "9293:P-3WHS and 5 more".
std::string shown_text(const Scenario& scenario) {
  if (scenario.shows.empty()) {
    return "-";
  }
  std::size_t const more = scenario.shows.size() - 1;
  return more == 0 ? scenario.shows.front() : fmt::format("{} +{}", scenario.shows.front(), more);
}

void add_row(tools::TextTable& table, const std::string& name, const std::string& clause,
             const Replayed& replayed) {
  std::uint64_t const packets = replayed.run.packets_in + replayed.run.sent.size();
  table.add({name, clause, time_text(replayed.run.virtual_time), fmt::format("{}", packets),
             verdict_text(replayed.verdict)});
}

std::string twin_name(const SuiteCase& one, std::size_t index) {
  return fmt::format("{} twin {}", one.name, index + 1);
}

std::string junit_case(const std::string& suite, const std::string& name, const Replayed& replayed,
                       const std::string& failure) {
  std::uint64_t const us = replayed.run.virtual_time.ns / 1000;
  std::string out = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{}.{:06}\"",
                                suite, xml_escaped(name), us / 1'000'000, us % 1'000'000);
  if (failure.empty()) {
    return out + "/>\n";
  }
  return out + fmt::format(">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                           xml_escaped(failure), xml_escaped(divergence_text(replayed)));
}

std::string twin_failure(const TwinResult& twin) {
  return twin.passes() ? ""
                       : fmt::format("{} instead of violates {}",
                                     verdict_text(twin.replayed.verdict), twin.twin->clause);
}

}  // namespace

std::size_t SuiteReport::twins() const {
  std::size_t count = 0;
  for (const SuiteCase& one : cases) {
    count += one.result->twins.size();
  }
  return count;
}

std::size_t SuiteReport::failed_scenarios() const {
  return static_cast<std::size_t>(
      std::count_if(cases.begin(), cases.end(),
                    [](const SuiteCase& one) { return !agrees(one.result->replayed); }));
}

std::size_t SuiteReport::failed_twins() const {
  std::size_t count = 0;
  for (const SuiteCase& one : cases) {
    for (const TwinResult& twin : one.result->twins) {
      count += twin.passes() ? 0u : 1u;
    }
  }
  return count;
}

std::vector<std::filesystem::path> find_cases(const std::filesystem::path& room,
                                              const std::vector<std::string>& filters) {
  std::vector<std::filesystem::path> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(room, error)) {
    if (std::filesystem::exists(entry.path() / "scenario.toml")) {
      out.push_back(entry.path());
    }
  }
  if (out.empty()) {
    throw tools::Failure(tools::ExitCode::bad_input,
                         fmt::format("{}: no scenarios; expected folders with scenario.toml and "
                                     "capture.pcapng: name the folder with --pcaps",
                                     room.string()));
  }
  std::sort(out.begin(), out.end());
  auto const fits = [](const std::filesystem::path& path, const std::string& filter) {
    return path.filename().string().find(filter) != std::string::npos;
  };
  for (const std::string& filter : filters) {
    if (std::none_of(out.begin(), out.end(),
                     [&](const auto& path) { return fits(path, filter); })) {
      throw tools::Failure(tools::ExitCode::bad_input,
                           fmt::format("{}: no scenario name contains that; expected a part of a "
                                       "folder name in {}, such as rfc5681: list it for the names",
                                       filter, room.string()));
    }
  }
  std::erase_if(out, [&](const auto& path) {
    return !filters.empty() && std::none_of(filters.begin(), filters.end(),
                                            [&](const auto& filter) { return fits(path, filter); });
  });
  return out;
}

SuiteReport run_suite(const std::vector<std::filesystem::path>& folders) {
  SuiteReport out;
  for (const std::filesystem::path& folder : folders) {
    out.cases.push_back({folder.filename().string(), replay_scenario(folder.string())});
  }
  return out;
}

std::string table_text(const SuiteReport& report, bool with_twins, std::size_t width) {
  using Align = tools::TextTable::Align;
  tools::TextTable table({{"case", Align::left},
                          {"clause", Align::left},
                          {"virtual time", Align::right},
                          {"packets", Align::right},
                          {"verdict", Align::left}});
  std::string findings;
  for (const SuiteCase& one : report.cases) {
    add_row(table, one.name, shown_text(one.result->scenario), one.result->replayed);
    if (!agrees(one.result->replayed)) {
      findings += fmt::format("\n{}: {}\n{}", one.name, verdict_text(one.result->replayed.verdict),
                              divergence_text(one.result->replayed));
    }
    for (std::size_t i = 0; i < one.result->twins.size(); ++i) {
      const TwinResult& twin = one.result->twins[i];
      if (with_twins) {
        add_row(table, fmt::format("  twin {}", i + 1), twin.twin->clause, twin.replayed);
      }
      if (!twin.passes()) {
        findings += fmt::format("\n{} ({}): {}\n{}", twin_name(one, i), twin.twin->text,
                                twin_failure(twin), divergence_text(twin.replayed));
      }
    }
  }
  std::size_t const allowed = static_cast<std::size_t>(
      std::count_if(report.cases.begin(), report.cases.end(), [](const SuiteCase& one) {
        return one.result->replayed.verdict.judgement == Judgement::differs_allowed;
      }));
  std::size_t const good = report.cases.size() - report.failed_scenarios();
  return table.text(width) + findings +
         fmt::format(
             "\n{} of {} scenarios agree ({} of them with allowed differences);\n"
             "{} of {} twins violate the expected clause\n",
             good, report.cases.size(), allowed, report.twins() - report.failed_twins(),
             report.twins());
}

std::string suite_json(const SuiteReport& report) {
  nlohmann::ordered_json out;
  out["scenarios"] = report.cases.size();
  out["scenarios_failed"] = report.failed_scenarios();
  out["twins"] = report.twins();
  out["twins_failed"] = report.failed_twins();
  out["cases"] = nlohmann::ordered_json::array();
  for (const SuiteCase& one : report.cases) {
    nlohmann::ordered_json entry;
    entry["name"] = one.name;
    entry["title"] = one.result->scenario.title;
    entry["origin"] = one.result->scenario.origin;
    entry["shows"] = one.result->scenario.shows;
    entry["pass"] = agrees(one.result->replayed);
    entry["replay"] = to_json(one.result->replayed);
    entry["twins"] = nlohmann::ordered_json::array();
    for (const TwinResult& twin : one.result->twins) {
      nlohmann::ordered_json item;
      item["clause"] = twin.twin->clause;
      item["edit"] = twin.twin->text;
      item["pass"] = twin.passes();
      item["verdict"] = verdict_text(twin.replayed.verdict);
      entry["twins"].push_back(std::move(item));
    }
    out["cases"].push_back(std::move(entry));
  }
  return tools::json_text(out);
}

std::string suite_junit(const SuiteReport& report) {
  std::size_t const tests = report.cases.size() + report.twins();
  std::size_t const failures = report.failed_scenarios() + report.failed_twins();
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"conformance\" tests=\"{}\" failures=\"{}\">\n",
      tests, failures);
  for (const SuiteCase& one : report.cases) {
    std::string const suite = one.name.substr(0, one.name.find('-'));
    const Replayed& replayed = one.result->replayed;
    out += junit_case(suite, one.name, replayed,
                      agrees(replayed) ? "" : verdict_text(replayed.verdict));
    for (std::size_t i = 0; i < one.result->twins.size(); ++i) {
      const TwinResult& twin = one.result->twins[i];
      out += junit_case(suite, twin_name(one, i), twin.replayed, twin_failure(twin));
    }
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace lockstep::conformance
