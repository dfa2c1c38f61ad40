// The verb `lockstep clause`: its options and how they are applied.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tools/base/process/failure.hpp"
#include "tools/verbs/clause/clause.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

struct ClauseOptions {
  std::vector<std::string> words;
  bool json = false;
  std::string root;
};

int print_clauses(const ClauseOptions& options) {
  const std::filesystem::path root = clause_root(options.root);
  const Catalogue catalogue = load_catalogue(root);
  const Citations citations = scan_tree(root, catalogue);
  const CoverageReport report = make_report(catalogue, citations, default_scope());
  const LiveResults live = load_live_results(root);
  const std::vector<const CoverageRow*> rows = clauses_named(options.words, report);
  fmt::print("{}", options.json ? rows_json(rows, live) : clauses_text(rows, live));
  return static_cast<int>(ExitCode::fine);
}

}  // namespace

void register_clause(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "clause", "Prints what a clause of an RFC says, and where it is implemented and tested");
  const auto options = std::make_shared<ClauseOptions>();
  verb->add_option("id", options->words,
                   "clauses, as verdicts name them: 9293:MUST-40; or RFCs, for all their clauses")
      ->required();
  verb->add_flag("--json", options->json, "print JSON");
  verb->add_option("--root", options->root,
                   "the repository (default: found in this folder or above, or that of the "
                   "program)");
  verb->footer(
      "The sentences are summaries in our own words. code: where our stack implements it.\n"
      "passes: how many of its tests in conformance/scapy another TCP passes.\n"
      "Example: lockstep clause 9293:MUST-40");
  verb->callback([options, &exit_code] { exit_code = print_clauses(*options); });
}

}  // namespace lockstep::tools
