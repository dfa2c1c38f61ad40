// The verb `lockstep load`, as its command line gives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::tools {

/// What is not given is the workload's, or load::LoadPlan's.
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
  std::string tap;                     ///< either this, made if it is not there,
  std::string interface;               ///< or this, which is, through `driver`; or `sim`
  std::string driver = "packet";       ///< packet, xdp, xdp-native, -generic or -zero-copy
  std::vector<std::string> addresses;  ///< ours, with their prefixes: who asks, in turn
  std::vector<std::string> hosts;      ///< the kernel's end of a TAP, with their prefixes
  std::string gateway;
  std::string profile = "default";
  std::uint32_t window = 0;  ///< octets that a peer may have under way; 0: the profile's
  std::uint32_t mtu = 0;     ///< 0: the interface's own, 1500 of a TAP
  std::uint32_t shards = 1;
  std::string cpus;                   ///< where the shards run, in their order; empty: anywhere
  std::string metrics;                ///< where they are served over the stack; empty: nowhere
  std::string record;                 ///< a file for the journal
  std::string sim;                    ///< the world's file
  std::string from;                   ///< the host that asks
  std::vector<std::string> settings;  ///< of the world's hosts
  std::string pcapng_folder;
  std::string make_site;  ///< a folder: nothing else is done
};

/// Runs the load and prints what came of it. Throws Failure before it has begun.
int run_load(const LoadOptions& options);

}  // namespace lockstep::tools
