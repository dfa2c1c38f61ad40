// The verb `lockstep serve calls`: our stack on a TAP, whose calls somebody else makes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::tools {

/// As the command line gives them.
struct CallsOptions {
  std::string tap;
  std::vector<std::string> addresses;   ///< ours, with their prefixes
  std::vector<std::string> neighbours;  ///< "10.0.0.2=02:00:00:00:00:02": never asked for
  std::vector<std::string> fields;      ///< "time_wait=10s": of Config, as `lockstep profiles` says
  std::string profile = "rfc";
  std::string mac = "02:00:00:00:00:01";
  std::uint64_t seed = 1;
  std::uint32_t mtu = 1500;
};

/// Reads calls from standard input until it ends and answers each on standard output, after all
/// frames that came before it have been taken. Throws Failure before it has begun.
int run_serve_calls(const CallsOptions& options);

}  // namespace lockstep::tools
