// The verb `lockstep profiles`: its options, and what it prints.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/profiles/profiles.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_profiles(CLI::App& app, int& exit_code) {
  struct Options {
    bool differing = false;
    bool json = false;
    std::vector<std::string> diff;
  };
  CLI::App* verb = app.add_subcommand(
      "profiles", "Lists each field of Config in the profiles default, rfc, linux and freebsd");
  const auto options = std::make_shared<Options>();
  verb->add_flag("--differing", options->differing, "only fields in which profiles differ");
  verb->add_option("--diff", options->diff,
                   "two profiles side by side: where they differ, and the source of each value")
      ->expected(2)
      ->check(CLI::IsMember(std::vector<std::string>(profile_names.begin(), profile_names.end())))
      ->type_name("PROFILE");
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(
      "core/stack/README.md gives the reason for each default.\n"
      "Example: lockstep profiles --diff linux freebsd");
  verb->callback([options, &exit_code] {
    const std::vector<ProfileRow> rows = profile_rows();
    if (!options->diff.empty()) {
      const auto place = [&](std::size_t which) {
        return static_cast<std::size_t>(std::ranges::find(profile_names, options->diff[which]) -
                                        profile_names.begin());
      };
      fmt::print("{}", options->json ? profiles_diff_json(rows, place(0), place(1))
                                     : profiles_diff_text(rows, place(0), place(1)));
      exit_code = static_cast<int>(ExitCode::fine);
      return;
    }
    fmt::print("{}", options->json ? profiles_json(rows, options->differing)
                                   : profiles_text(rows, options->differing, terminal_columns()));
    exit_code = static_cast<int>(ExitCode::fine);
  });
}

}  // namespace lockstep::tools
