// The options of `lockstep ns3 run`: from the command line, and from a TOML file beneath it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/verbs/ns3_program/experiment.hpp"

namespace lockstep::tools {

/// What was said, before it is settings.
struct RunOptions {
  ExperimentSettings settings;
  std::vector<std::string> sets;
  std::vector<std::string> defaults;
  std::string config;
  bool json = false;
};

void add_run_options(CLI::App& run, RunOptions& options);

/// After the command line was parsed: what the file of --config says of options that the command
/// line did not name, then the pairs of --set and --default. Throws Failure with the file and the
/// line of what is wrong there.
ExperimentSettings settings_of(CLI::App& run, RunOptions& options);

}  // namespace lockstep::tools
