// Prints a failed CHECK with the world that was running.
#include "tools/lib/world_file/failed_check.hpp"

#include <fmt/core.h>

#include "sim/kernel/kernel.hpp"

namespace lockstep::tools {

void print_failed_check(const CheckSite& site) {
  const sim::RunNote run = sim::current_run();
  fmt::print(stderr,
             "lockstep: internal error: CHECK({}) failed at {}:{}, world {}, seed {}, "
             "instant {} ns, host {}; please report it with the world's file\n",
             site.condition, site.file, site.line, run.world.view(), run.seed, run.at.ns,
             run.host.view());
}

}  // namespace lockstep::tools
