// The load and its server as applications on two hosts of a simulated world.
#pragma once

#include "sim/kernel/kernel.hpp"
#include "tools/lib/load/plan.hpp"
#include "tools/verbs/load/options.hpp"
#include "tools/verbs/load/report.hpp"

namespace lockstep::tools {

/// What came of it, and of the world.
struct SimulatedLoad {
  LoadResult result;
  sim::Ending ending = sim::Ending::completed;
  Duration lasted;  ///< of virtual time
  std::uint64_t frames_sent = 0;
  std::uint64_t fingerprint = 0;
  bool is_lawful = true;  ///< the referee has found nothing; else it is printed
};

/// The target's address says which host serves. Throws Failure before it has begun.
SimulatedLoad simulate(const LoadOptions& options, const load::LoadPlan& plan);

/// The same, and then its report.
int simulate_load(const LoadOptions& options, const load::LoadPlan& plan);

}  // namespace lockstep::tools
