// The options of the verb `lockstep load`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::tools {

/// Options that are not given keep the defaults of the workload or of load::LoadPlan.
struct LoadOptions {
  std::vector<std::string> urls;
  std::string workload;
  std::optional<std::uint32_t> connections;
  std::optional<std::uint32_t> requests_a_connection;
  std::optional<std::uint32_t> pipeline;
  std::optional<std::uint64_t> rate;
  bool poisson = false;
  std::optional<std::uint64_t> connects_a_second;
  std::optional<std::uint32_t> idle_share;
  std::optional<std::uint32_t> message;
  std::optional<std::uint32_t> updates;
  std::optional<std::uint64_t> upload;
  std::string close_mode;
  std::string think;
  std::uint64_t requests = 0;
  std::string duration;
  std::string warm_up;
  std::string timeout;
  std::vector<std::string> fail_if;
  std::string seed = "1";
  std::string json;
  std::string time_wait;
  std::string tap;                     ///< a TAP, created if it does not exist; or
  std::string interface;               ///< an existing interface, used through `driver`; or `sim`
  std::string driver = "packet";       ///< packet, xdp, xdp-native, -generic or -zero-copy
  std::vector<std::string> addresses;  ///< our addresses with prefixes, used in turn
  std::vector<std::string> hosts;      ///< addresses for the kernel's end of a TAP, with prefixes
  std::string gateway;
  std::string profile = "default";
  std::string controller;    ///< a shared object with a congestion controller; empty: none
  std::uint32_t window = 0;  ///< receive window; 0: the profile's
  std::uint32_t mtu = 0;     ///< 0: 1500 on a TAP, else the interface's MTU
  std::uint32_t shards = 1;
  std::string cpus;          ///< processors of the shards, in their order; empty: not pinned
  std::string metrics;       ///< address and port of the metrics; empty: none
  std::string log = "text";  ///< events on stderr: text or json
  std::string control;       ///< path of the control socket; empty: the default; "none": none
  std::string record;        ///< file for the journal
  bool force = false;        ///< overwrite an existing journal
  std::string sim;           ///< the world's file
  std::string from;          ///< the client host
  std::vector<std::string> settings;  ///< --set, for the world's hosts
  std::string pcapng_folder;          ///< on an interface the name of the capture's files
  std::string make_site;              ///< folder; if given, only files are written
};

/// Runs the load and prints the result. Throws Failure before it has begun.
int run_load(const LoadOptions& options);

}  // namespace lockstep::tools
