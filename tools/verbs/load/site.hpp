// Writes the files that a workload requests, for other servers.
#pragma once

#include <string>

#include "tools/lib/load/plan.hpp"

namespace lockstep::tools {

/// Writes each generated body of the plan's catalogue into `folder`, at its path. Throws Failure
/// (environment).
void make_site(const load::LoadPlan& plan, const std::string& folder);

}  // namespace lockstep::tools
