// Parses the command line, runs the chosen verb, and turns every error into one line.
#include "tools/cli/program.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <string>

#include "tools/cli/failure.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/cli/version.hpp"

namespace lockstep::tools {
namespace {

/// The deepest subcommand that was named before the error: its help is the one that helps.
std::string help_hint(const CLI::App& app) {
  std::string name = "lockstep";
  const CLI::App* deepest = &app;
  while (!deepest->get_subcommands().empty()) {
    deepest = deepest->get_subcommands().front();
    name += " " + deepest->get_name();
  }
  return fmt::format("see '{} --help'", name);
}

/// CLI11 says only that a subcommand is missing; a mistyped verb deserves its name.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error, const char* first) {
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  if (app.get_subcommands().empty() && first != nullptr && first[0] != '-') {
    message = fmt::format("there is no verb '{}'", first);
  }
  return fmt::format("lockstep: {}; {}", message, help_hint(app));
}

int parse_and_run(CLI::App& app, int count, const char* const* arguments, int& exit_code) {
  try {
    app.parse(count, arguments);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help and --version
    }
    fmt::print(stderr, "{}\n", usage_message(app, error, count > 1 ? arguments[1] : nullptr));
    return static_cast<int>(ExitCode::bad_input);
  } catch (const Failure& failure) {
    fmt::print(stderr, "lockstep: {}\n", failure.what());
    return static_cast<int>(failure.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "lockstep: {}\n", error.what());
    return static_cast<int>(ExitCode::environment);
  }
}

}  // namespace

int run_program(int count, const char* const* arguments) {
  CLI::App app{"Lockstep: a TCP/IP stack that is simulated first and deployed second", "lockstep"};
  app.set_version_flag("--version", fmt::format("lockstep {}", version));
  app.require_subcommand(1);
  app.footer("Exit codes: 0 fine, 1 finding, 2 wrong usage or bad input, 3 environment.\n"
             "Each verb has its own --help with an example.");
  int exit_code = static_cast<int>(ExitCode::fine);
  for (const RegisterVerb add : verbs) {
    add(app, exit_code);
  }
  return parse_and_run(app, count, arguments, exit_code);
}

}  // namespace lockstep::tools
