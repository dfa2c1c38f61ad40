// `lockstep compare`: finds where devices break a rule, and writes a script for each finding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/compare/compare.hpp"
#include "core/units/time.hpp"

namespace lockstep::tools {

struct CompareVerbOptions {
  std::vector<std::string> devices;  ///< names or paths
  std::string seeds;                 ///< "A..B", both included, or one; empty: as long as `time`
  std::string time;                  ///< "10m"; empty: all seeds
  std::string out;                   ///< a folder for scripts and captures; empty: none
  std::string json, markdown;        ///< files for the results; empty: none
};

/// "10m", "30s" or what parse_duration() takes. Throws Failure (bad_input).
Duration compare_time(const std::string& text);

/// The table of findings in Markdown.
std::string compare_markdown(const CompareVerbOptions& options,
                             const conformance::compare::CompareResult& result);

/// Runs it, prints the findings and a table, and writes files; returns the exit code.
int run_compare_verb(const CompareVerbOptions& options);

}  // namespace lockstep::tools
