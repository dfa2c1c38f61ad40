// Registers the verb `compare`.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/verbs/compare/compare.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_compare(CLI::App& app, int& exit_code) {
  auto const options = std::make_shared<CompareVerbOptions>();
  CLI::App* const verb = app.add_subcommand(
      "compare", "Finds where devices break a rule of an RFC, with random segments and calls");
  verb->add_option("--devices", options->devices,
                   "names that `lockstep devices` lists, or paths, separated by commas")
      ->delimiter(',')
      ->required();
  CLI::Option_group* const amount = verb->add_option_group("amount");
  amount->add_option("--seeds", options->seeds, "A..B, both included, or one: the same every time");
  amount->add_option("--time", options->time, "plays seeds from 0 on for so long, as 30s or 10m");
  amount->require_option(1);
  verb->add_option("--out", options->out,
                   "write a script and a capture of each finding to this folder");
  verb->add_option("--json", options->json, "also write the results to this file");
  verb->add_option("--markdown", options->markdown, "also write the table to this file");
  verb->footer(
      "Each seed makes a short exchange of segments and calls, which is played on every device.\n"
      "A device that breaks a clause, crashes, hangs or breaks its interface is a finding; a mere\n"
      "difference is only counted. conformance/compare/README.md explains the rules.\n"
      "Example: lockstep compare --devices lockstep,lwip,smoltcp --time 10m --out findings");
  verb->callback([options, &exit_code] { exit_code = run_compare_verb(*options); });
}

}  // namespace lockstep::tools
