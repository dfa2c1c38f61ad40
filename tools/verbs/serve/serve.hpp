// The verb `lockstep serve http`: a web server on a Linux interface.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::tools {

/// As the command line gives them.
struct ServeOptions {
  std::string tap;                     ///< either this, made if it is not there,
  std::string interface;               ///< or this, which is, through `driver`
  std::string driver = "packet";       ///< packet, xdp, xdp-native, -generic or -zero-copy
  std::vector<std::string> addresses;  ///< ours, with their prefixes
  std::vector<std::string> hosts;      ///< the kernel's end, with their prefixes
  std::string gateway;                 ///< to clients of other networks; empty: none
  std::uint32_t port = 80;
  std::string folder;  ///< empty: only /bytes/N
  std::string profile = "default";
  std::uint32_t mtu = 0;     ///< 0: the interface's own, 1500 of a TAP
  std::uint32_t window = 0;  ///< octets that a peer may have under way; 0: the profile's
  std::string spin;          ///< before it sleeps; empty: the loop's own
  std::uint32_t connections = 4096;
  std::uint32_t shards = 1;
  std::string cpus;       ///< where the shards run, in their order; empty: anywhere
  std::string seed;       ///< empty: keys by chance
  std::string json;       ///< a file for the summary
  std::string metrics;    ///< where they are served over the stack; empty: nowhere
  std::string record;     ///< a file for the journal
  std::string record_on;  ///< the troubles around which alone it is kept
};

/// Serves until SIGINT or SIGTERM, then prints what it came to. Throws Failure before it has begun.
int run_serve_http(const ServeOptions& options);

}  // namespace lockstep::tools
