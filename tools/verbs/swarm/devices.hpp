// `lockstep swarm --devices`: random worlds of two devices, an interoperability swarm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/interop/interop.hpp"
#include "tools/verbs/swarm/isolated.hpp"

namespace lockstep::tools {

struct DeviceSwarmOptions {
  std::vector<std::string> devices;  ///< names or paths
  SeedRange seeds;
  std::uint32_t jobs = 1;
  std::string json;    ///< file for the results; empty: none
  std::string pcapng;  ///< folder for a capture of each world with a finding; empty: none
};

/// The same fault in several worlds.
struct DeviceFault {
  std::string kind, device, what;
  std::uint64_t worlds = 0;
  std::uint64_t first_seed = 0;
  std::string first_pair, detail;
  std::uint64_t at_ns = 0;  ///< in the first world
};

/// What one pair did.
struct PairTally {
  std::string pair;
  std::uint64_t worlds = 0, left_out = 0, with_findings = 0, octets = 0, frames = 0;
};

struct DeviceSwarmResult {
  std::vector<PairTally> pairs;
  std::vector<DeviceFault> faults;                              ///< most frequent first
  std::vector<std::pair<std::string, std::uint64_t>> left_out;  ///< reasons and worlds
  std::uint64_t fingerprint = 0;
};

/// Every pair of the devices, with itself too; seed N runs pair N modulo their number. The result
/// is the same for any number of jobs. Throws Failure.
DeviceSwarmResult run_device_swarm(const DeviceSwarmOptions& options);

/// Runs it, prints the table and the findings; returns the exit code.
int run_device_swarm_verb(const DeviceSwarmOptions& options);

}  // namespace lockstep::tools
