// Which options can be used together.
#pragma once

#include "tools/lib/load/plan.hpp"
#include "tools/verbs/load/options.hpp"

namespace lockstep::tools {

/// Throws Failure (bad input) for an option that would have no effect, because it applies to
/// another place, another protocol or another kind of load.
void refuse_unheard(const LoadOptions& options, const load::LoadPlan& plan);

}  // namespace lockstep::tools
