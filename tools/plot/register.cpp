// The verb `lockstep plot`: becomes the Python program tools/plot beside it.
#include <CLI/CLI.hpp>

#include "tools/become/become.hpp"
#include "tools/cli/verbs.hpp"

namespace lockstep::tools {

void register_plot(CLI::App& app, int&) {
  CLI::App* const verb = app.add_subcommand(
      "plot", "Figures of `lockstep ns3 run --out`: cwnd, RTT, queue, throughput, fairness");
  verb->prefix_command();
  verb->set_help_flag();  // its own program has one
  verb->callback([verb] { become_python("plot/__main__.py", verb->remaining()); });
}

}  // namespace lockstep::tools
