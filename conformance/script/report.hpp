// Runs many scripts and tells of them: a table, TAP 14, JUnit XML, JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "conformance/script/run.hpp"

namespace lockstep::conformance::script {

struct Report {
  std::vector<Ran> scripts;  ///< in the order of their names
  double seconds = 0;        ///< of the machine's clock; decides nothing

  std::size_t count(Verdict verdict) const;
  /// 0, 1 or 2; 3 where a file cannot be read.
  int exit_code() const;
  std::uint64_t per_second() const;
};

/// The .pkt files among and below these, by name, each once. Throws Failure: bad_input for
/// a folder without one, environment for what is not there or cannot be looked through. A name that
/// leads nowhere is among them: its run says so.
std::vector<std::string> find_scripts(const std::vector<std::string>& paths);

struct Batch {
  Defines defines;
  Overrides overrides;
  std::uint32_t jobs = 1;  ///< threads; they change nothing in the report
};

Report run_all(const std::vector<std::string>& files, const Batch& batch);

/// A row a script, or only of those that did not pass; findings; a line of totals.
std::string table_text(const Report& report, bool only_failed, std::size_t width);
std::string tap_text(const Report& report);
std::string junit_text(const Report& report);
/// Everything but what the machine's clock says.
std::string json_text(const Report& report);

/// Gives each run that has a capture a path for it: FOLDER/NAME.pcapng, each another one.
void name_captures(Report& report, const std::filesystem::path& folder);
/// Writes those that have a path.
void save_captures(const Report& report);

}  // namespace lockstep::conformance::script
