// The verb `lockstep serve http`: a web server on a Linux interface.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::tools {

/// The options of the command line.
struct ServeOptions {
  std::string role = "serve http";     ///< what the control socket calls the program
  std::string control;                 ///< as in ServePlan
  std::string tap;                     ///< a TAP, created if it does not exist; or
  std::string interface;               ///< an existing interface, used through `driver`
  std::string driver = "packet";       ///< packet, xdp, xdp-native, -generic or -zero-copy
  std::vector<std::string> addresses;  ///< our addresses with prefixes
  std::vector<std::string> hosts;      ///< addresses for the kernel's end of a TAP, with prefixes
  std::string gateway;                 ///< router to clients in other networks; empty: none
  std::uint32_t port = 80;
  std::string folder;  ///< empty: only /bytes/N
  std::string profile = "default";
  std::string controller;  ///< a shared object with our congestion controller; empty: the profile's
  std::uint32_t mtu = 0;   ///< 0: 1500 on a TAP, else the interface's MTU
  std::uint32_t window = 0;  ///< receive window; 0: the profile's
  std::string spin;          ///< polling time before the loop sleeps; empty: the default
  std::uint32_t connections = 4096;
  std::uint32_t per_client = 0;  ///< connections of one address; 0: no limit
  std::string idle;              ///< time without a request; empty: the default
  std::string grace;             ///< before a silent one may give way; empty: the default
  std::uint32_t shards = 1;
  std::string cpus;                ///< processors of the shards, in their order; empty: not pinned
  std::string seed;                ///< empty: random keys
  std::string json;                ///< file for the summary
  std::string pcapng;              ///< name of the capture's files; empty: none
  std::string pcapng_size;         ///< of each file; empty: the default
  std::uint32_t pcapng_files = 8;  ///< at most
  std::string user;                ///< to change to once all is open; empty: none
  std::string seccomp = "on";      ///< on or off
  std::string access_log;          ///< file; empty: none
  std::string access_format = "combined";  ///< common or combined
  std::string log = "text";                ///< events on stderr: text or json
  std::string metrics;                     ///< address and port of the metrics; empty: none
  std::string record;                      ///< file for the journal
  bool force = false;                      ///< overwrite existing journals
  bool embed = false;                      ///< put the site into the journal
  std::string record_on;                   ///< the events around which the journal is kept
};

/// Serves until SIGINT, SIGTERM or SIGHUP, then prints the summary. Throws Failure before it
/// starts.
int run_serve_http(const ServeOptions& options);

}  // namespace lockstep::tools
