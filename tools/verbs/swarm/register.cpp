// Registers the verb `swarm`.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/base/process/failure.hpp"
#include "tools/verbs/swarm/devices.hpp"
#include "tools/verbs/swarm/swarm.hpp"
#include "tools/verbs/swarm/world_text.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_swarm(CLI::App& app, int& exit_code) {
  struct Arguments {
    std::string seeds;
    SwarmOptions options;
    std::vector<std::string> devices;
  };
  auto const arguments = std::make_shared<Arguments>();
  CLI::App* const verb =
      app.add_subcommand("swarm", "Runs random worlds, each drawn from a seed, under all checkers");
  CLI::Option_group* const which = verb->add_option_group("worlds");
  which->add_option("--seeds", arguments->seeds, "A..B, both included, or one seed");
  which->add_option("--world", arguments->options.world, "a world that --save wrote");
  which->require_option(1);
  verb->add_option("--jobs", arguments->options.jobs, "worker processes")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  verb->add_option("--json", arguments->options.json, "also write the results to this file");
  verb->add_option("--pcapng", arguments->options.pcapng,
                   "write a capture of each seed to this folder");
  verb->add_option("--shrink", arguments->options.shrink, "how many failing seeds to shrink")
      ->capture_default_str();
  verb->add_option("--save", arguments->options.save,
                   "write the world of each failing seed to this folder");
  verb->add_option(
          "--driver", arguments->options.driver,
          "the driver below hosts' stacks: the plain port, or the mPIPE driver on a model of "
          "its hardware, without errors or with errors drawn from the seed")
      ->check(CLI::IsMember({"plain", "mpipe", "mpipe-errs"}))
      ->capture_default_str();
  verb->add_option(
          "--workers", arguments->options.workers,
          "shards of each host that can have several, behind one port or as workers of one "
          "NIC")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  CLI::Option* const devices =
      verb->add_option("--devices", arguments->devices,
                       "worlds of two devices in place of our stacks: names that `lockstep "
                       "devices` lists, or paths, separated by commas; every pair is run")
          ->delimiter(',');
  for (const char* const other : {"--world", "--shrink", "--save", "--driver", "--workers"}) {
    devices->excludes(verb->get_option(other));
  }
  verb->footer(
      "Example: lockstep swarm --seeds 0..9999 --jobs 2\n"
      "Example: lockstep swarm --seeds 0..999 --devices lockstep,lwip,smoltcp\n"
      "A failing seed is printed with the command that replays it.");
  verb->callback([arguments, &exit_code] {
    if (!arguments->devices.empty()) {
      exit_code = run_device_swarm_verb({arguments->devices, parse_seeds(arguments->seeds),
                                         arguments->options.jobs, arguments->options.json,
                                         arguments->options.pcapng});
      return;
    }
    if (arguments->options.world.empty()) {
      arguments->options.seeds = parse_seeds(arguments->seeds);
    } else {
      std::uint64_t const seed = load_saved_world(arguments->options.world).seed;
      arguments->options.seeds = {seed, seed};
    }
    exit_code = run_swarm_verb(arguments->options);
  });
}

}  // namespace lockstep::tools
