// Registers the verb `hostile`.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/verbs/hostile/hostile.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_hostile(CLI::App& app, int& exit_code) {
  CLI::App* const verb = app.add_subcommand(
      "hostile", "Attacks a stack with forged frames (lies), and checks what each attack costs");
  const auto options = std::make_shared<HostileOptions>();
  verb->add_option("--lie", options->lie, "only this attack (default: all)");
  verb->add_option(
      "--profile", options->profile,
      "the attacked stack's profile: default, rfc, linux or freebsd; for profiles other "
      "than default only memory, invariants and liveness are checked");
  verb->add_option("--frames", options->frames,
                   "frames that each attack sends (default: depends on the attack)");
  verb->add_option("--seed", options->seed, "the seed: any 64-bit number (default: 1)");
  verb->add_option("--json", options->json, "also write the results to this file");
  verb->footer(
      "Exit code 1: a bound was exceeded.\n"
      "Example: lockstep hostile --lie syn_flood --json flood.json");
  verb->callback([options, &exit_code] { exit_code = run_hostile_verb(*options); });
}

}  // namespace lockstep::tools
