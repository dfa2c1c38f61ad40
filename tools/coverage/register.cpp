// The verb `lockstep coverage`: its options, and what it does with them.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "tools/cli/failure.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/coverage/coverage.hpp"

namespace lockstep::tools {
namespace {

struct CoverageOptions {
  std::vector<int> rfcs;
  bool json = false;
  bool bare = false;
  std::string root;
};

/// The RFCs whose bare requirements are findings, unless --rfc names others.
const std::vector<int> default_scope = {791, 1191, 1337, 2018, 2883, 3042, 3168, 4443, 4821,
                                        4861, 4862, 4987, 5482, 5681, 5682, 5722, 5927, 5961, 6191,
                                        6298, 6528, 6582, 6675, 6937, 6946, 6980, 7323, 7413,
                                        8200, 8201, 8257, 8985, 9293, 9406, 9438};

int run_coverage(const CoverageOptions& options) {
  const std::filesystem::path root = options.root.empty()
                                         ? find_root(std::filesystem::current_path())
                                         : std::filesystem::path(options.root);
  const Catalogue catalogue = load_catalogue(root);
  for (const int rfc : options.rfcs) {
    if (!catalogue.titles.contains(rfc)) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--rfc {}: no such RFC in conformance/requirements; ls it for the "
                                "numbers",
                                rfc));
    }
  }
  const Citations citations = scan_tree(root, catalogue);
  const std::vector<int>& scope = options.rfcs.empty() ? default_scope : options.rfcs;
  const CoverageReport report = make_report(catalogue, citations, scope);
  const CoveragePrint print{options.rfcs, options.bare};
  const std::string text = options.json ? coverage_json(report, catalogue, print)
                                        : coverage_text(report, catalogue, print);
  fmt::print("{}", text);
  return static_cast<int>(report.has_finding() ? ExitCode::finding : ExitCode::fine);
}

}  // namespace

void register_coverage(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "coverage", "Where each RFC requirement is cited in code and tests, or why it is declined");
  const auto options = std::make_shared<CoverageOptions>();
  verb->add_option("--rfc", options->rfcs,
                   "only this RFC; its bare requirements decide the exit code (default: those of "
                   "all that are built)")
      ->allow_extra_args(false);
  verb->add_flag("--json", options->json, "print JSON");
  verb->add_flag("--bare", options->bare, "print only what is neither shown nor declined");
  verb->add_option("--root", options->root, "the repository (default: at or above this folder)");
  verb->footer("Exit code 1: a MUST, MUST NOT or text row is bare, or a citation is wrong.\n"
               "Example: lockstep coverage --rfc 6298 --bare");
  verb->callback([options, &exit_code] { exit_code = run_coverage(*options); });
}

}  // namespace lockstep::tools
