// Verbs that the build has left out: refused by name, and not listed.
#include "tools/verbs/cli/left_out.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {

void leave_out(CLI::App& app, const char* verb) {
  CLI::App* const out = app.add_subcommand(verb, "Not in this program");
  out->group("");
  out->prefix_command();
  out->set_help_flag();
  out->callback([verb] {
    throw Failure(ExitCode::environment,
                  fmt::format("'{}' is not in this program, which was built with a part of the "
                              "verbs: run tools/quickstart, which builds all",
                              verb));
  });
}

}  // namespace lockstep::tools
