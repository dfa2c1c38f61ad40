// The verb `lockstep ns3`: becomes the program lockstep_ns3, which is there if ns-3 was.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/cli/failure.hpp"
#include "tools/cli/verbs.hpp"

namespace lockstep::tools {
namespace {

/// Beside this program, where the build and the installation put it.
std::filesystem::path program_beside() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "lockstep_ns3";
}

[[noreturn]] void become(const std::vector<std::string>& words) {
  auto const program = program_beside();
  if (!std::filesystem::exists(program)) {
    throw Failure(ExitCode::environment,
                  "ns-3 is not here: tools/setup --with ns3, then build again");
  }
  std::vector<std::string> kept{"lockstep ns3"};
  kept.insert(kept.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (auto& word : kept) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  throw Failure(ExitCode::environment,
                fmt::format("{} does not start: {}", program.string(), std::strerror(errno)));
}

}  // namespace

void register_ns3(CLI::App& app, int&) {
  CLI::App* const verb = app.add_subcommand(
      "ns3", "Ready topologies of ns-3, with flows of our TCP and of ns-3's own");
  verb->prefix_command();
  verb->footer("What follows goes to the program lockstep_ns3: lockstep ns3 run --help\n"
               "Example: lockstep ns3 run dumbbell --flows ours,newreno --seed 7 --out run");
  verb->callback([verb] { become(verb->remaining()); });
}

}  // namespace lockstep::tools
