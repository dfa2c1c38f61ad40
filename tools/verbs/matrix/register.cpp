// Registers the verb `matrix`.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/verbs/matrix/matrix.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_matrix(CLI::App& app, int& exit_code) {
  CLI::App* const verb = app.add_subcommand(
      "matrix",
      "Measures throughput by loss, reordering, RTT, rate and controller, RACK on and off");
  const auto options = std::make_shared<MatrixOptions>();
  verb->add_option("--table", options->table, "the table to compare with, or to write")
      ->capture_default_str();
  verb->add_flag("--sixth", options->sixth,
                 "only the fixed sixth of the cells that tools/test --all runs");
  verb->add_option("--slice", options->slice,
                   "only the cells of one controller, rate and RTT, by number")
      ->check(CLI::Range(0, 1'000));
  verb->add_flag("--lossless", options->lossless, "only the cells without loss");
  verb->add_option(
          "--driver", options->driver,
          "the driver below both stacks: the plain port, the mPIPE driver on a model of its "
          "hardware, or (in lockstep ns3) a device of ns-3")
      ->check(CLI::IsMember(port_names()))
      ->capture_default_str();
  verb->add_flag("--slices", options->slices, "only print how many slices there are");
  verb->add_flag("--write", options->write, "write the results into the table");
  verb->add_option("--json", options->json, "also write the results to this file");
  verb->add_option("--jobs", options->jobs, "worker processes")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  verb->footer(
      "Exit code 1: a limit was missed, or a result differs from the table.\n"
      "Example: lockstep matrix --sixth --jobs 2\n"
      "Example: lockstep ns3 matrix --lossless --jobs 2");
  verb->callback([options, &exit_code] { exit_code = run_matrix_verb(*options); });
}

}  // namespace lockstep::tools
