// `lockstep hostile --device`: attacks another TCP, and shows what that costs its honest clients.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/interop/siege.hpp"
#include "tools/verbs/hostile/hostile.hpp"

namespace lockstep::tools {

/// One attack on a device.
struct SiegeResult {
  sim::Attack attack{};
  conformance::SiegeReport report;
  std::uint64_t replies_per_mille = 0;
  std::uint64_t amplified_percent = 0;
  std::uint64_t honest_percent = 0;  ///< of the throughput without an attack
  std::string broken;                ///< a fault, or what the clients met; empty: nothing
};

/// Runs the attacks of `options` on its device, after a run without one. `frames` 0: a tenth of the
/// number that our own stack gets. Throws Failure.
std::vector<SiegeResult> besiege(const HostileOptions& options);

/// Runs them and prints the table; returns the exit code.
int run_siege_verb(const HostileOptions& options);

}  // namespace lockstep::tools
