// The verb `lockstep profiles`: its options, and what it prints.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/profiles/profiles.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_profiles(CLI::App& app, int& exit_code) {
  struct Options {
    bool differing = false;
    bool json = false;
  };
  CLI::App* verb = app.add_subcommand(
      "profiles", "Lists each field of Config in the profiles default, rfc, linux and freebsd");
  const auto options = std::make_shared<Options>();
  verb->add_flag("--differing", options->differing, "only fields in which profiles differ");
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(
      "core/stack/README.md gives the reason for each default.\n"
      "Example: lockstep profiles --differing");
  verb->callback([options, &exit_code] {
    const std::vector<ProfileRow> rows = profile_rows();
    fmt::print("{}", options->json ? profiles_json(rows, options->differing)
                                   : profiles_text(rows, options->differing, terminal_columns()));
    exit_code = static_cast<int>(ExitCode::fine);
  });
}

}  // namespace lockstep::tools
