// The verb `lockstep pkt`: its options, and what it prints.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "conformance/script/cursor.hpp"
#include "conformance/script/files.hpp"
#include "conformance/script/format.hpp"
#include "conformance/script/run.hpp"
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

struct RunOptions {
  std::vector<std::string> scripts;
  std::string profile = "default";
  bool strict = false;
};

Config profile_named(const std::string& name) {
  if (name == "rfc") {
    return profile_rfc();
  }
  if (name == "linux") {
    return profile_linux();
  }
  return name == "freebsd" ? profile_freebsd() : Config{};
}

/// Passed, failed, or an error in the script; prints what is not as it should be.
ExitCode run_one(const std::filesystem::path& path, const script::RunSettings& settings) {
  script::ReadScript const read = script::read_script(path);
  if (!read.script) {
    fmt::print(stderr, "lockstep: {}\n", read.fault);
    return ExitCode::bad_input;
  }
  try {
    script::RunResult const result = script::run(*read.script, settings);
    if (result.verdict == script::Verdict::passed) {
      return ExitCode::fine;
    }
    fmt::print("{}:{}:{}: failed\n  expected: {}\n", path.string(), result.place.line,
               result.place.column, result.expected);
    if (!result.actual.empty()) {
      fmt::print("  actual:   {}\n", result.actual);
    }
    return ExitCode::finding;
  } catch (const script::SyntaxError& error) {
    fmt::print(stderr, "lockstep: {}:{}:{}: {}\n", path.string(), error.place().line,
               error.place().column, error.what());
    return ExitCode::bad_input;
  }
}

int run_scripts(const RunOptions& options) {
  script::RunSettings settings;
  settings.config = profile_named(options.profile);
  settings.strict_segments = options.strict;
  auto const scripts = script::find_scripts(options.scripts);
  std::size_t failed = 0;
  std::size_t wrong = 0;
  for (auto const& path : scripts) {
    ExitCode const code = run_one(path, settings);
    failed += code == ExitCode::finding ? 1 : 0;
    wrong += code == ExitCode::bad_input ? 1 : 0;
  }
  fmt::print("{} scripts, {} passed, {} failed, {} with an error\n", scripts.size(),
             scripts.size() - failed - wrong, failed, wrong);
  return static_cast<int>(wrong != 0    ? ExitCode::bad_input
                          : failed != 0 ? ExitCode::finding
                                        : ExitCode::fine);
}

void register_run(CLI::App& verb, int& exit_code) {
  CLI::App* run = verb.add_subcommand(
      "run", "Runs scripts against a stack in virtual time, with no tolerance");
  auto const options = std::make_shared<RunOptions>();
  run->add_option("scripts", options->scripts, "scripts, or folders of *.pkt")->required();
  run->add_option("--profile", options->profile, "how the stack is configured")
      ->check(CLI::IsMember({"default", "rfc", "linux", "freebsd"}))
      ->capture_default_str();
  run->add_flag("--strict-segments", options->strict,
                "one packet of the script is one packet on the wire");
  run->footer("conformance/script/README.md has the language, and what of it is run.\n"
              "Example: lockstep pkt run conformance/script");
  run->callback([options, &exit_code] { exit_code = run_scripts(*options); });
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
  register_run(*verb, exit_code);
  check->callback([options, &exit_code] { exit_code = run_check(*options); });
}

}  // namespace lockstep::tools
