// The verb `lockstep ns3`: runs the program lockstep_ns3, which is built if ns-3 is installed.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/base/process/exec.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

[[noreturn]] void exec_ns3(const std::vector<std::string>& words) {
  auto const program = program_folder() / "lockstep_ns3";
  if (!std::filesystem::exists(program)) {
    throw Failure(ExitCode::environment,
                  program.string() +
                      " is missing: run tools/setup --with ns3, then build the "
                      "target program_lockstep_ns3");
  }
  std::vector<std::string> kept{"lockstep ns3"};
  kept.insert(kept.end(), words.begin(), words.end());
  exec_program(program, kept);
}

}  // namespace

void register_ns3(CLI::App& app, int&) {
  CLI::App* const verb = app.add_subcommand(
      "ns3", "Runs ready-made ns-3 topologies with flows of our TCP and of ns-3's");
  verb->prefix_command();
  verb->footer(
      "All arguments are passed to the program lockstep_ns3, which has the verbs run,\n"
      "conformance and matrix: see lockstep ns3 run --help\n"
      "Example: lockstep ns3 run dumbbell --flows ours,newreno --seed 7 --out run");
  verb->callback([verb] { exec_ns3(verb->remaining()); });
}

}  // namespace lockstep::tools
