// The verb `lockstep coverage`: its options and how they are applied.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "conformance/requirements/coverage.hpp"
#include "conformance/requirements/live.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

struct CoverageOptions {
  std::vector<int> rfcs;
  bool json = false;
  bool bare = false;
  bool places = false;
  std::string html;
  std::string root;
};

int run_coverage(const CoverageOptions& options) {
  const std::filesystem::path root = options.root.empty()
                                         ? find_root(std::filesystem::current_path())
                                         : std::filesystem::path(options.root);
  const Catalogue catalogue = load_catalogue(root);
  for (const int rfc : options.rfcs) {
    if (!catalogue.titles.contains(rfc)) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--rfc {}: no such RFC: conformance/requirements has one file for "
                                "each RFC that can be given",
                                rfc));
    }
  }
  const Citations citations = scan_tree(root, catalogue);
  CoverageScope scope = default_scope();
  if (!options.rfcs.empty()) {
    scope.rfcs = options.rfcs;
  }
  const CoverageReport report = make_report(catalogue, citations, scope);
  const LiveResults live = load_live_results(root);
  const CoveragePrint print{options.rfcs, options.bare, options.places, terminal_columns(), &live};
  if (!options.html.empty()) {
    save_file(options.html, coverage_html(report, catalogue, print));
  }
  const std::string text = options.json ? coverage_json(report, catalogue, print)
                                        : coverage_text(report, catalogue, print);
  fmt::print("{}", text);
  return static_cast<int>(report.has_finding() ? ExitCode::finding : ExitCode::fine);
}

}  // namespace

void register_coverage(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "coverage", "Lists where code and tests cite each RFC requirement, or why it is declined");
  const auto options = std::make_shared<CoverageOptions>();
  verb->add_option("--rfc", options->rfcs,
                   "only this RFC, which then decides the exit code (default: all that are "
                   "implemented)")
      ->allow_extra_args(false);
  verb->add_flag("--json", options->json, "print JSON");
  verb->add_flag("--bare", options->bare,
                 "print only required rows that are neither tested nor declined");
  verb->add_flag("--places", options->places,
                 "print every citation of each row, not one line per row");
  verb->add_option("--html", options->html, "also write an HTML page with filters to this file");
  verb->add_option("--root", options->root,
                   "the repository (default: found in this folder or above)");
  verb->footer(
      "A row is bare if it is required and neither tested nor declined.\n"
      "Exit code 1: a MUST, MUST NOT or text row is bare (of RFCs 2018, 5681, 5961,\n"
      "6298, 7323 and 9293 also a SHOULD, SHOULD NOT or RECOMMENDED row), or a citation\n"
      "is wrong.\n"
      "Example: lockstep coverage --rfc 6298 --html coverage.html");
  verb->callback([options, &exit_code] { exit_code = run_coverage(*options); });
}

}  // namespace lockstep::tools
