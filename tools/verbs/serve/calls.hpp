// The verb `lockstep serve calls`: our stack on a TAP, driven by calls from another program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::tools {

/// The options of the command line.
struct CallsOptions {
  std::string tap;
  std::vector<std::string> addresses;   ///< our addresses with prefixes
  std::vector<std::string> neighbours;  ///< "10.0.0.2=02:00:00:00:00:02": static neighbours
  std::vector<std::string>
      fields;  ///< "time_wait=10s": fields of Config, as `lockstep profiles` lists them
  std::string profile = "rfc";
  std::string mac = "02:00:00:00:00:01";
  std::uint64_t seed = 1;
  std::uint32_t mtu = 1500;
};

/// Reads calls from standard input until it ends, and answers each on standard output after all
/// frames that arrived before it have been processed. Throws Failure before it starts.
int run_serve_calls(const CallsOptions& options);

}  // namespace lockstep::tools
