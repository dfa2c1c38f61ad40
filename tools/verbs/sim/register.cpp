// The verb `lockstep sim run`: its options.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/verbs/sim/run.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_sim(CLI::App& app, int& exit_code) {
  CLI::App* sim = app.add_subcommand(
      "sim", "Simulates networks of hosts, links and faults (worlds) from one seed");
  sim->require_subcommand(1);
  CLI::App* verb =
      sim->add_subcommand("run", "Runs the world that a TOML file describes, in virtual time");
  const auto options = std::make_shared<SimRunOptions>();
  verb->add_option("FILE", options->file, "the world's file; sim/README.md describes the format")
      ->required();
  verb->add_option("--seed", options->seed, "the seed of the run: any 64-bit number (default: 1)");
  verb->add_option("--set", options->settings,
                   "NAME.FIELD=VALUE: set a field of a host's Config (* for all hosts), of a link, "
                   "app or fault; may be repeated")
      ->allow_extra_args(false);
  verb->add_option("--controller", options->controllers,
                   "a shared object with a congestion controller, which congestion = \"NAME\" of a "
                   "host's Config then names; may be repeated. sim/examples/controllers/README.md")
      ->allow_extra_args(false);
  verb->add_option("--pcapng", options->pcapng_folder,
                   "write a capture of each host to this folder");
  verb->add_option("--json", options->json_file, "also write the report as JSON to this file");
  verb->add_option("--out", options->out_folder,
                   "write a summary, connections and time series to this new folder, which "
                   "lockstep plot draws");
  verb->add_flag("--force", options->force, "--out may replace files of an earlier run");
  verb->add_option("--series", options->series_file,
                   "write time series of cwnd, RTT, queue lengths and more to this CSV file");
  verb->add_option("--checks", options->checks,
                   "what is checked against the RFCs: all segments (all), those of one connection "
                   "in eight (sampled), or none (off), which takes two thirds of the time")
      ->capture_default_str();
  verb->add_option("--until", options->until, "stop at this virtual time, like 10s");
  verb->footer(
      "Exit code 1: the run did not complete, bytes arrived that were not sent, or a segment\n"
      "certainly violates an RFC.\n"
      "Example: lockstep sim run sim/examples/lossy_path.toml --seed 7 --out run");
  verb->callback([options, &exit_code] { exit_code = run_simulation(*options); });
}

}  // namespace lockstep::tools
