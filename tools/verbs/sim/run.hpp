// Runs one world file once and writes the requested files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::tools {

struct SimRunOptions {
  std::string file;
  std::string seed = "1";
  std::string pcapng_folder;               // empty: none
  std::string json_file;                   // empty: none
  std::string series_file;                 // empty: none
  std::string until;                       // empty: the world's limit
  std::string checks = "all";              // or "sampled", or "off"
  std::vector<std::string> settings{};     // "NAME.FIELD=VALUE", in this order
  std::string out_folder{};                // empty: none
  bool force = false;                      // the folder may have files
  std::vector<std::string> controllers{};  // shared objects with congestion controllers
};

/// Prints the report. Returns the exit code: 1 if the run did not complete or bytes were wrong.
/// Throws Failure before anything is written.
int run_simulation(const SimRunOptions& options);

}  // namespace lockstep::tools
