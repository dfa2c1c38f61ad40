// Chooses whether the load runs on an interface or in a world.
#include "tools/base/process/failure.hpp"
#include "tools/verbs/load/modes.hpp"
#include "tools/verbs/load/options.hpp"
#include "tools/verbs/load/plan.hpp"
#include "tools/verbs/load/simulate.hpp"
#include "tools/verbs/load/site.hpp"
#include "tools/verbs/load/wire.hpp"

namespace lockstep::tools {

int run_load(const LoadOptions& options) {
  load::LoadPlan const plan = load_plan_of(options);
  refuse_unheard(options, plan);
  if (!options.make_site.empty()) {
    make_site(plan, options.make_site);
    return static_cast<int>(ExitCode::fine);
  }
  bool const simulated = !options.sim.empty();
  if (simulated != options.addresses.empty()) {
    throw Failure(ExitCode::bad_input,
                  simulated
                      ? "--address: the world's file gives each host its address: leave it out"
                      : "--address is missing: give the stack's address, like 10.9.0.2/24");
  }
  bool const of_a_wire = options.shards != 1 || !options.cpus.empty() || !options.metrics.empty() ||
                         !options.record.empty();
  if (simulated && of_a_wire) {
    throw Failure(ExitCode::bad_input,
                  "--shards, --cpus, --metrics, --record: they apply to a load on an interface "
                  "only (a world's file gives its hosts' shards): leave them out");
  }
  return simulated ? simulate_load(options, plan) : load_on_the_wire(options, plan);
}

}  // namespace lockstep::tools
