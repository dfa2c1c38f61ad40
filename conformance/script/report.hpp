// Runs many scripts and reports on them: a table, TAP 14, JUnit XML, JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "conformance/script/run.hpp"

namespace lockstep::conformance::script {

struct Report {
  std::vector<Ran> scripts;  ///< sorted by name
  std::string device;        ///< that ran them; empty: our stack
  double seconds = 0;        ///< wall clock; affects no result

  std::size_t count(Verdict verdict) const;
  /// 0, 1 or 2; 3 if a file cannot be read.
  int exit_code() const;
  std::uint64_t per_second() const;
};

/// The .pkt files that `paths` name or contain, sorted by name, without duplicates. Throws Failure:
/// bad_input for a folder without scripts, environment for a path that does not exist or cannot be
/// searched. A dangling link is included: its run reports it.
std::vector<std::string> find_scripts(const std::vector<std::string>& paths);

struct Batch {
  Defines defines;
  Overrides overrides;
  std::uint32_t jobs = 1;  ///< threads; they do not affect the report
};

Report run_all(const std::vector<std::string>& files, const Batch& batch);

/// One row per script, or only those that did not pass; findings; a line of totals.
std::string table_text(const Report& report, bool only_failed, std::size_t width);
std::string tap_text(const Report& report);
std::string junit_text(const Report& report);
/// Everything except times of the wall clock.
std::string json_text(const Report& report);

/// Assigns each run with a capture its own path: FOLDER/NAME.pcapng.
void name_captures(Report& report, const std::filesystem::path& folder);
/// Writes the captures that have a path.
void save_captures(const Report& report);

}  // namespace lockstep::conformance::script
