// Runs the load and its server as applications on two hosts of a simulated world.
#pragma once

#include <string>

#include "sim/kernel/kernel.hpp"
#include "tools/lib/load/plan.hpp"
#include "tools/verbs/load/options.hpp"
#include "tools/verbs/load/report.hpp"

namespace lockstep::tools {

/// The result of the load and of the world.
struct SimulatedLoad {
  LoadResult result;
  sim::Ending ending = sim::Ending::completed;
  Duration lasted;  ///< virtual time
  std::uint64_t frames_sent = 0;
  std::uint64_t fingerprint = 0;
  bool is_lawful = true;  ///< the referee found no violation; otherwise the findings are printed
  std::string fault;      ///< what a controller did that it must not do; empty: nothing
};

/// The target's address determines the server host. Throws Failure before the run begins.
SimulatedLoad simulate(const LoadOptions& options, const load::LoadPlan& plan);

/// Runs it and prints its report.
int simulate_load(const LoadOptions& options, const load::LoadPlan& plan);

}  // namespace lockstep::tools
