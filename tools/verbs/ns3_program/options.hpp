// The options of `lockstep ns3 run`, from the command line and from a TOML file that it overrides.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/verbs/ns3_program/experiment.hpp"

namespace lockstep::tools {

/// The options as given, before they are converted to settings.
struct RunOptions {
  ExperimentSettings settings;
  std::vector<std::string> sets;
  std::vector<std::string> defaults;
  std::string config;
  bool json = false;
};

void add_run_options(CLI::App& run, RunOptions& options);

/// Call after parsing the command line: applies the options of the --config file that the command
/// line did not give, then the pairs of --set and --default. Throws Failure with file and line for
/// an error in the file.
ExperimentSettings settings_of(CLI::App& run, RunOptions& options);

}  // namespace lockstep::tools
