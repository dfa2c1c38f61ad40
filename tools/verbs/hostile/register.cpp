// Registers the verb `hostile`.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/verbs/hostile/hostile.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_hostile(CLI::App& app, int& exit_code) {
  CLI::App* const verb =
      app.add_subcommand("hostile", "Lies to a stack, and judges what each lie costs");
  const auto options = std::make_shared<HostileOptions>();
  verb->add_option("--lie", options->lie, "only this one (all)");
  verb->add_option("--profile", options->profile,
                   "whom they are told to: default, rfc, linux or freebsd (default); but for the "
                   "default, memory, invariants and liveness alone are judged");
  verb->add_option("--frames", options->frames, "how often each is told (each has its number)");
  verb->add_option("--seed", options->seed, "which run: any 64-bit number (1)");
  verb->add_option("--json", options->json, "write the results to this file too");
  verb->footer(
      "Exit code 1: a bound was broken.\n"
      "Example: lockstep hostile --lie syn_flood --json flood.json");
  verb->callback([options, &exit_code] { exit_code = run_hostile_verb(*options); });
}

}  // namespace lockstep::tools
