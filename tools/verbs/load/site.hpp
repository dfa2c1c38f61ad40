// The files that a workload asks for, for servers of others.
#pragma once

#include <string>

#include "tools/lib/load/plan.hpp"

namespace lockstep::tools {

/// Writes each body of the plan's catalogue that is generated into `folder`, by its path. Throws
/// Failure (environment).
void make_site(const load::LoadPlan& plan, const std::string& folder);

}  // namespace lockstep::tools
