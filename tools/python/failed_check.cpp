// Prints a failed CHECK in a Python process, which a trap would otherwise end without a message.
#include "tools/python/failed_check.hpp"

#include <fmt/core.h>

#include <cstdio>

#include "sim/kernel/kernel.hpp"
#include "tools/lib/world_file/failed_check.hpp"

namespace lockstep::tools::python {
namespace {

struct Used {
  bool any = false;
  std::uint64_t seed = 0;
  Instant at;
};
Used last;  // only used in the message

}  // namespace

void note_stack(std::uint64_t seed, Instant at) { last = {true, seed, at}; }

void tell_failed_check(const CheckSite& site) {
  if (last.any) {
    fmt::print(
        stderr,
        "lockstep: internal error: CHECK({}) failed at {}:{}, the single stack that was used "
        "last: seed {}, instant {} ns; please report it with the calls that led there\n",
        site.condition, site.file, site.line, last.seed, last.at.ns);
  }
  if (sim::current_run().running || !last.any) {
    print_failed_check(site);
  }
  (void)std::fflush(stderr);
}

}  // namespace lockstep::tools::python
