// The verb `lockstep plot`: runs the Python program beside it.
#include <CLI/CLI.hpp>

#include "tools/base/process/exec.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_plot(CLI::App& app, int&) {
  CLI::App* const verb = app.add_subcommand(
      "plot",
      "Plots what `sim run --out` or `ns3 run --out` wrote: cwnd, RTT, queues, goodput, fairness");
  verb->prefix_command();
  verb->set_help_flag();  // the Python program has its own --help
  verb->callback([verb] { exec_python("verbs/plot/__main__.py", verb->remaining()); });
}

}  // namespace lockstep::tools
