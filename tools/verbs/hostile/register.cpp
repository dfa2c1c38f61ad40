// Registers the verb `hostile`.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/verbs/hostile/devices.hpp"
#include "tools/verbs/hostile/hostile.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_hostile(CLI::App& app, int& exit_code) {
  CLI::App* const verb = app.add_subcommand(
      "hostile", "Attacks a stack with forged frames, and checks what each attack costs");
  const auto options = std::make_shared<HostileOptions>();
  verb->add_option("--attack", options->attack, "only this attack (default: all)");
  verb->add_option(
      "--profile", options->profile,
      "the attacked stack's profile: default, rfc, linux or freebsd; for profiles other "
      "than default only memory, invariants and liveness are checked");
  verb->add_option("--frames", options->frames,
                   "frames that each attack sends (default: depends on the attack)");
  verb->add_option("--seed", options->seed, "the seed: any 64-bit number (default: 1)");
  verb->add_option("--json", options->json, "also write the results to this file");
  CLI::Option* const device = verb->add_option(
      "--device", options->device,
      "attack another TCP: a name that `lockstep devices` lists, or a path; checked is that it "
      "lives on and that its honest clients are served");
  verb->add_option("--pcapng", options->pcapng,
                   "with --device: write a capture of each attack that broke something here")
      ->needs(device);
  device->excludes(verb->get_option("--profile"));
  verb->footer(
      "Exit code 1: a bound was exceeded; with --device: the device broke its interface or ended,\n"
      "or an honest client was not served.\n"
      "Example: lockstep hostile --attack syn_flood --json flood.json\n"
      "Example: lockstep hostile --device lwip --pcapng captures");
  verb->callback([options, &exit_code] {
    exit_code = options->device.empty() ? run_hostile_verb(*options) : run_siege_verb(*options);
  });
}

}  // namespace lockstep::tools
