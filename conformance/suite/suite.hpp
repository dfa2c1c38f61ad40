// Replays all scenarios of pcaps/ with their twins, and reports on them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "conformance/replay/replay.hpp"

namespace lockstep::conformance {

struct SuiteCase {
  std::string name;  ///< of the folder
  std::unique_ptr<ScenarioResult> result;
};

struct SuiteReport {
  std::vector<SuiteCase> cases;  ///< sorted by name

  std::size_t twins() const;
  std::size_t failed_scenarios() const;  ///< those that neither agree nor differ as allowed
  std::size_t failed_twins() const;
  bool passes() const { return failed_scenarios() == 0 && failed_twins() == 0; }
};

/// The folders in `room` that contain a scenario.toml and whose names contain one of `filters` (all
/// if there are none), sorted by name. Throws Failure if a filter matches none.
std::vector<std::filesystem::path> find_cases(const std::filesystem::path& room,
                                              const std::vector<std::string>& filters);

SuiteReport run_suite(const std::vector<std::filesystem::path>& folders);

/// The table: case, clause, virtual time, packets, verdict; twins if requested or failed; the
/// differences of failed cases; totals. `width` is that of the terminal, 0 if there is none.
std::string table_text(const SuiteReport& report, bool with_twins, std::size_t width);
std::string suite_json(const SuiteReport& report);
std::string suite_junit(const SuiteReport& report);

}  // namespace lockstep::conformance
