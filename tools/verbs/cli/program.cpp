// Parses the command line, runs the chosen verb, and turns every error into one line.
#include "tools/verbs/cli/program.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units/check.hpp"
#include "tools/base/options/config_file.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/process/version.hpp"
#include "tools/base/text/suggestion.hpp"
#include "tools/verbs/cli/manual.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

/// The deepest verb that was given before an error, and its name with those above it.
std::pair<const CLI::App*, std::string> deepest_of(const CLI::App& app) {
  std::pair<const CLI::App*, std::string> out{&app, "lockstep"};
  while (!out.first->get_subcommands().empty()) {
    out.first = out.first->get_subcommands().front();
    out.second += " " + out.first->get_name();
  }
  return out;
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* const each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!each->get_name().empty()) {  // otherwise a group of options
      out.push_back(each->get_name());
    }
  }
  return out;
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

/// The first option that was given and that the verb does not have; empty if there is none.
std::string unknown_option(const CLI::App& app) {
  for (std::string const& each : app.remaining(true)) {
    if (each.starts_with("--")) {
      return each.substr(0, each.find('='));
    }
  }
  return {};
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* const each : app.get_options()) {
    for (std::string const& name : each->get_lnames()) {
      out.push_back("--" + name);
    }
  }
  for (const CLI::App* const each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_name().empty()) {
      std::vector<std::string> const more = option_names(*each);
      out.insert(out.end(), more.begin(), more.end());
    }
  }
  return out;
}

std::string no_verb(const CLI::App& app, const std::string& name) {
  return fmt::format("there is no verb '{}'{}", name, suggestion(name, verb_names(app)));
}

/// CLI11 reports only that a subcommand is missing, or what is too much. This message also names a
/// mistyped verb or option, and what may have been meant.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error, int count,
                          const char* const* arguments) {
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  auto const [deepest, name] = deepest_of(app);
  std::string const verb = verb_given(app, count, arguments);
  std::string const option = unknown_option(app);
  bool const missing = message == "A subcommand is required";
  if (!verb.empty() && (missing || app.get_subcommands().empty())) {
    message = no_verb(*deepest, verb);
  } else if (missing) {
    message = fmt::format("a verb is missing: choose {}", fmt::join(verb_names(*deepest), ", "));
  } else if (!option.empty()) {
    message =
        fmt::format("there is no option {}{}", option, suggestion(option, option_names(*deepest)));
  } else if (std::vector<std::string> const extra = app.remaining(true);
             !extra.empty() && !verb_names(*deepest).empty()) {
    message = no_verb(*deepest, extra.front());
  }
  return fmt::format("{}; see '{} --help'", message, name);
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

/// Only for the list of verbs: run_program() reads `help` itself.
void add_help(CLI::App& app) {
  CLI::App* const verb = app.add_subcommand("help", "Prints the help of a verb");
  verb->add_option("verb", "the verb, as in: lockstep help sim run");
  verb->footer("Example: lockstep help lint");
}

/// `help VERB...` as `VERB... --help`. Throws Failure (bad_input) if there is no such verb.
std::vector<const char*> with_help_last(const CLI::App& app, int count,
                                        const char* const* arguments) {
  std::vector<const char*> out(arguments, arguments + count);
  if (count < 2 || std::string_view(arguments[1]) != "help" ||
      (count > 2 && arguments[2][0] == '-')) {
    return out;
  }
  out.erase(out.begin() + 1);
  const CLI::App* at = &app;
  std::string name = "lockstep";
  for (auto word = out.begin() + 1; word != out.end(); ++word) {
    std::vector<std::string> const known = verb_names(*at);
    if (std::find(known.begin(), known.end(), *word) == known.end()) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("{}; see '{} --help'", no_verb(*at, *word), name));
    }
    at = at->get_subcommand(*word);
    name += fmt::format(" {}", *word);
  }
  out.push_back("--help");
  return out;
}

int parse_and_run(CLI::App& app, int count, const char* const* arguments, int& exit_code) {
  std::optional<ConfiguredWords> configured;
  auto const place_of = [&](const std::string& message) {
    return configured ? configured->place_of(message) : std::string();
  };
  try {
    configured.emplace(app, with_help_last(app, count, arguments));
    std::vector<const char*> const& words = configured->words();
    app.parse(static_cast<int>(words.size()), words.data());
    return exit_code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help and --version
    }
    fmt::print(stderr, "lockstep: {}{}\n", one_line(place_of(error.what())),
               one_line(usage_message(app, error, count, arguments)));
    return static_cast<int>(ExitCode::bad_input);
  } catch (const Failure& failure) {
    fmt::print(stderr, "lockstep: {}{}\n", one_line(place_of(failure.what())),
               one_line(failure.what()));
    return static_cast<int>(failure.code());
  } catch (const std::exception& error) {
    if (std::ferror(stdout) == 0) {  // flushed() reports the error
      fmt::print(stderr, "lockstep: {}\n", one_line(error.what()));
    }
    return static_cast<int>(ExitCode::environment);
  }
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
  add_help(app);
  add_manuals(app);
  if (count == 1) {
    fmt::print("{}", app.help());
    return flushed(exit_code);
  }
  return flushed(parse_and_run(app, count, arguments, exit_code));
}

}  // namespace lockstep::tools
