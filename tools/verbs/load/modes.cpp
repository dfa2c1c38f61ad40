// Checks each option against the place and the protocol of the load.
#include "tools/verbs/load/modes.hpp"

#include <fmt/core.h>

#include <initializer_list>
#include <string_view>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

struct Given {
  std::string_view option;
  bool is_given;
};

void refuse_each(std::initializer_list<Given> options, std::string_view why) {
  for (const Given& each : options) {
    if (each.is_given) {
      throw Failure(ExitCode::bad_input, fmt::format("{}: {}: leave it out", each.option, why));
    }
  }
}

void refuse_of_an_interface(const LoadOptions& options, std::string_view why) {
  LoadOptions const untouched;
  refuse_each({{"--driver", options.driver != untouched.driver},
               {"--host", !options.hosts.empty()},
               {"--gateway", !options.gateway.empty()},
               {"--profile", options.profile != untouched.profile},
               {"--window", options.window != untouched.window},
               {"--control", !options.control.empty()},
               {"--log", options.log != untouched.log},
               {"--force", options.force}},
              why);
}

void refuse_of_a_world(const LoadOptions& options) {
  refuse_each({{"--from", !options.from.empty()}, {"--set", !options.settings.empty()}},
              "it applies to a load in a world (--sim) only");
}

/// For --make-site, which measures nothing.
void refuse_of_a_run(const LoadOptions& options) {
  refuse_each({{"--address", !options.addresses.empty()},
               {"--mtu", options.mtu != 0},
               {"--controller", !options.controller.empty()},
               {"--time-wait", !options.time_wait.empty()},
               {"--fail-if", !options.fail_if.empty()},
               {"--json", !options.json.empty()},
               {"--pcapng", !options.pcapng_folder.empty()},
               {"--shards", options.shards != 1},
               {"--cpus", !options.cpus.empty()},
               {"--metrics", !options.metrics.empty()},
               {"--record", !options.record.empty()}},
              "--make-site only writes files");
}

void refuse_of_another_load(const LoadOptions& options, const load::LoadPlan& plan) {
  refuse_each({{"--updates", options.updates && plan.protocol != load::Protocol::memcached}},
              "it applies to memcached:// only");
  refuse_each({{"--message", options.message && plan.protocol == load::Protocol::http}},
              "it applies to echo:// and memcached:// only");
  refuse_each({{"--poisson", options.poisson && plan.rate == 0}},
              "it applies to a schedule (--rate) only");
  refuse_each({{"--think", !options.think.empty() && plan.rate != 0}},
              "requests on a schedule (--rate) have no pauses");
  refuse_each({{"--time-wait 0", !options.time_wait.empty() && plan.time_wait.ns == 0}},
              "to reuse ports at once choose --close reset");
}

}  // namespace

void refuse_unheard(const LoadOptions& options, const load::LoadPlan& plan) {
  if (!options.sim.empty()) {
    refuse_of_an_interface(options,
                           "it applies to a load on an interface only (in a world use --set)");
  } else {
    refuse_of_a_world(options);
  }
  if (!options.make_site.empty()) {
    refuse_of_an_interface(options, "--make-site only writes files");
    refuse_of_a_run(options);
  }
  refuse_of_another_load(options, plan);
}

}  // namespace lockstep::tools
