// The verb `lockstep ss`: the connections of running servers and loads.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/lib/control/client.hpp"
#include "tools/verbs/ss/filter.hpp"

namespace lockstep::tools {

struct SsOptions {
  std::string control;              ///< path of the socket; empty: all in the default folder
  std::vector<std::string> filter;  ///< words
  bool json = false;
};

/// One program, with those of its connections that pass.
struct Listed {
  nlohmann::ordered_json head;
  std::vector<nlohmann::ordered_json> connections;
};

/// Throws Failure (environment) if a line is not what a control socket sends.
Listed listed_of(const std::string& path, const control::Answer& answer, const Filter& filter);
/// A table for each program, folded to `width` columns; 0: not folded.
std::string ss_text(const std::vector<Listed>& programs, std::size_t width);
std::string ss_json(const std::vector<Listed>& programs);

/// Prints the list; returns the exit code. Throws Failure.
int run_ss(const SsOptions& options);

}  // namespace lockstep::tools
