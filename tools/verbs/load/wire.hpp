// The load on a Linux interface.
#pragma once

#include "tools/lib/load/plan.hpp"
#include "tools/verbs/load/options.hpp"

namespace lockstep::tools {

/// Loads until the plan, SIGINT or SIGTERM ends it, then reports. Throws Failure.
int load_on_the_wire(const LoadOptions& options, load::LoadPlan plan);

}  // namespace lockstep::tools
