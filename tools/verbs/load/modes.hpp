// Which options belong together.
#pragma once

#include "tools/lib/load/plan.hpp"
#include "tools/verbs/load/options.hpp"

namespace lockstep::tools {

/// Throws Failure (bad input) for an option that would change nothing: of another place than the
/// load runs in, of another protocol, of another kind of load.
void refuse_unheard(const LoadOptions& options, const load::LoadPlan& plan);

}  // namespace lockstep::tools
