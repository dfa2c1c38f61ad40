// The load on a Linux interface.
#pragma once

#include "tools/lib/load/plan.hpp"
#include "tools/verbs/load/options.hpp"

namespace lockstep::tools {

/// Runs until the plan is done, or SIGINT, SIGTERM or SIGHUP arrives; then reports. Throws Failure.
int load_on_the_wire(const LoadOptions& options, load::LoadPlan plan);

}  // namespace lockstep::tools
