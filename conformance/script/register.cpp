// The verb `lockstep pkt`: its options, and what it prints.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "conformance/script/files.hpp"
#include "conformance/script/format.hpp"
#include "tools/cli/failure.hpp"
#include "tools/cli/verbs.hpp"

namespace lockstep::tools {
namespace {

struct PktOptions {
  std::vector<std::string> scripts;
  bool rewrite = false;
};

int run_check(const PktOptions& options) {
  std::size_t events = 0;
  std::size_t faults = 0;
  auto const scripts = script::find_scripts(options.scripts);
  for (auto const& path : scripts) {
    script::ReadScript const read = script::read_script(path);
    if (!read.script) {
      fmt::print(stderr, "lockstep: {}\n", read.fault);
      ++faults;
      continue;
    }
    events += read.script->events.size();
    if (options.rewrite) {
      fmt::print("{}", script::format(*read.script));
    }
  }
  if (!options.rewrite) {
    fmt::print("{} scripts, {} events, {} scripts with an error\n", scripts.size(), events, faults);
  }
  return static_cast<int>(faults == 0 ? ExitCode::fine : ExitCode::bad_input);
}

}  // namespace

void register_pkt(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("pkt", "Reads .pkt scripts, packetdrill's language");
  verb->require_subcommand(1);
  CLI::App* check = verb->add_subcommand(
      "check", "Reads scripts and names what is not in the language: FILE:LINE:COLUMN");
  auto const options = std::make_shared<PktOptions>();
  check->add_option("scripts", options->scripts, "scripts, or folders of *.pkt")->required();
  check->add_flag("--print", options->rewrite, "print each script as it was understood");
  check->footer("conformance/script/README.md has the language.\n"
                "Example: lockstep pkt check handshake.pkt");
  check->callback([options, &exit_code] { exit_code = run_check(*options); });
}

}  // namespace lockstep::tools
