// Registers the verb `swarm`.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/base/process/exec.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/swarm/devices.hpp"
#include "tools/verbs/swarm/swarm.hpp"
#include "tools/verbs/swarm/world_text.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

// Passes the seeds on to the Python program, which runs this one on the workers.
[[noreturn]] void run_on_cluster(const SwarmOptions& options, const std::string& address) {
  std::vector<std::string> words{"--dask", address};
  if (!options.json.empty()) {
    words.insert(words.end(), {"--json", options.json});
  }
  words.insert(words.end(), {"--", own_program().string(), std::to_string(options.seeds.first),
                             std::to_string(options.seeds.last)});
  if (options.driver != "plain") {
    words.insert(words.end(), {"--driver", options.driver});
  }
  if (options.workers != 1) {
    words.insert(words.end(), {"--workers", std::to_string(options.workers)});
  }
  exec_python("verbs/sweep/swarm.py", words);
}

struct SwarmArguments {
  std::string seeds;
  SwarmOptions options;
  std::vector<std::string> devices;
  std::string dask;
};

int run_swarm_arguments(SwarmArguments& arguments) {
  SwarmOptions& options = arguments.options;
  if (!arguments.devices.empty()) {
    return run_device_swarm_verb({arguments.devices, parse_seeds(arguments.seeds), options.jobs,
                                  options.json, options.pcapng});
  }
  if (options.world.empty()) {
    options.seeds = parse_seeds(arguments.seeds);
    if (!arguments.dask.empty()) {
      run_on_cluster(options, arguments.dask);
    }
  } else {
    std::uint64_t const seed = load_saved_world(options.world).seed;
    options.seeds = {seed, seed};
  }
  return run_swarm_verb(options);
}

}  // namespace

void register_swarm(CLI::App& app, int& exit_code) {
  auto const arguments = std::make_shared<SwarmArguments>();
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
  CLI::Option* const dask =
      verb->add_option("--dask", arguments->dask,
                       "run the seeds on the workers of this Dask scheduler, like "
                       "tcp://10.0.0.7:8786; nothing is shrunk");
  for (const char* const other :
       {"--world", "--jobs", "--shrink", "--save", "--pcapng", "--devices"}) {
    dask->excludes(verb->get_option(other));
  }
  verb->footer(
      "Example: lockstep swarm --seeds 0..9999 --jobs 2\n"
      "Example: lockstep swarm --seeds 0..999 --devices lockstep,lwip,smoltcp\n"
      "A failing seed is printed with the command that replays it.");
  verb->callback([arguments, &exit_code] { exit_code = run_swarm_arguments(*arguments); });
}

}  // namespace lockstep::tools
