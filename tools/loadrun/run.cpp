// Chooses where the load runs.
#include "tools/loadrun/options.hpp"
#include "tools/loadrun/plan.hpp"
#include "tools/loadrun/simulate.hpp"

namespace lockstep::tools {

int run_load(const LoadOptions& options) {
  return simulate_load(options, load_plan_of(options));
}

}  // namespace lockstep::tools
