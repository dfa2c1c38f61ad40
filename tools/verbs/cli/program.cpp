// Parses the command line, runs the chosen verb, and turns every error into one line.
#include "tools/verbs/cli/program.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "core/units/check.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/process/version.hpp"
#include "tools/verbs/cli/manual.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

/// Names the deepest subcommand that was given before the error, because its --help explains most.
std::string help_hint(const CLI::App& app) {
  std::string name = "lockstep";
  const CLI::App* deepest = &app;
  while (!deepest->get_subcommands().empty()) {
    deepest = deepest->get_subcommands().front();
    name += " " + deepest->get_name();
  }
  return fmt::format("see '{} --help'", name);
}

/// The first word given where a verb is expected; empty if there is none.
std::string verb_given(const CLI::App& app, int count, const char* const* arguments) {
  std::string const deepest =
      app.get_subcommands().empty() ? "" : app.get_subcommands().front()->get_name();
  for (int i = 1; i < count; ++i) {
    if (arguments[i][0] != '-' && arguments[i] != deepest) {
      return arguments[i];
    }
  }
  return {};
}

/// CLI11 reports only that a subcommand is missing; this message also names a mistyped verb.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error, int count,
                          const char* const* arguments) {
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::string const verb = verb_given(app, count, arguments);
  bool const missing = message == "A subcommand is required";
  if (!verb.empty() && (missing || app.get_subcommands().empty())) {
    message = fmt::format("there is no verb '{}'", verb);
  } else if (missing) {
    message = "a verb is missing";
  }
  return fmt::format("lockstep: {}; {}", message, help_hint(app));
}

/// Messages can contain text from files: control characters, which could move the terminal's cursor
/// or end the line, are replaced.
std::string one_line(std::string text) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  std::replace_if(text.begin(), text.end(), is_control, '?');
  return text;
}

/// Flushes standard output: if that fails, success must not be reported.
int flushed(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    return exit_code;
  }
  fmt::print(stderr,
             "lockstep: standard output cannot be written (disk full or closed pipe?): redirect it "
             "elsewhere\n");
  return static_cast<int>(ExitCode::environment);
}

int parse_and_run(CLI::App& app, int count, const char* const* arguments, int& exit_code) {
  try {
    app.parse(count, arguments);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help and --version
    }
    fmt::print(stderr, "{}\n", one_line(usage_message(app, error, count, arguments)));
    return static_cast<int>(ExitCode::bad_input);
  } catch (const Failure& failure) {
    fmt::print(stderr, "lockstep: {}\n", one_line(failure.what()));
    return static_cast<int>(failure.code());
  } catch (const std::exception& error) {
    if (std::ferror(stdout) == 0) {  // flushed() reports the error
      fmt::print(stderr, "lockstep: {}\n", one_line(error.what()));
    }
    return static_cast<int>(ExitCode::environment);
  }
}

/// The manual page and completions that are installed with the program. Hidden: only the build uses
/// them.
void add_manuals(CLI::App& app) {
  const auto print = [&app](const std::string& kind) {
    fmt::print("{}", kind == "man"    ? manual_page(app, version)
                     : kind == "bash" ? bash_completion(app)
                     : kind == "zsh"  ? zsh_completion(app)
                                      : fish_completion(app));
    throw CLI::Success();
  };
  app.add_option_function<std::string>("--print-for", print, "man, bash, zsh or fish")
      ->check(CLI::IsMember({"man", "bash", "zsh", "fish"}))
      ->trigger_on_parse()
      ->group("");
}

/// The default message, until a verb can add the world, seed or journal.
void say_failed_check(const CheckSite& site) {
  fmt::print(stderr, "lockstep: internal error: CHECK({}) failed at {}:{}; please report it\n",
             site.condition, site.file, site.line);
}

}  // namespace

int run_program(int count, const char* const* arguments) {
  CLI::App app{"Lockstep: a TCP/IP stack that is simulated first and deployed second", "lockstep"};
  app.set_version_flag("--version", fmt::format("lockstep {}", version));
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success, 1 a finding, 2 wrong usage or bad input, 3 environment.\n"
      "Each verb has its own --help with an example.");
  int exit_code = static_cast<int>(ExitCode::fine);
  set_check_handler(say_failed_check);
  for (const RegisterVerb add : verbs) {
    add(app, exit_code);
  }
  add_manuals(app);
  return flushed(parse_and_run(app, count, arguments, exit_code));
}

}  // namespace lockstep::tools
