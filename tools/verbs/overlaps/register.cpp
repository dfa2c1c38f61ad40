// Registers the verb `overlaps`.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/verbs/overlaps/overlaps.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_overlaps(CLI::App& app, int& exit_code) {
  auto const options = std::make_shared<OverlapOptions>();
  CLI::App* const verb = app.add_subcommand(
      "overlaps", "Shows which octets devices deliver when segments or fragments overlap");
  verb->add_option("--devices", options->devices,
                   "names that `lockstep devices` lists, or paths, separated by commas")
      ->delimiter(',')
      ->required();
  verb->add_option("--chunks", options->chunks, "the largest number of chunks")
      ->check(CLI::Range(2, static_cast<int>(conformance::arranged_max)))
      ->capture_default_str();
  verb->add_option("--json", options->json, "also write all results to this file");
  verb->add_option("--markdown", options->markdown, "also write the tables to this file");
  verb->footer(
      "Chunks with different octets arrive in every relative position and order: as TCP segments,\n"
      "as fragments of IPv4 and of IPv6. Two chunks have 13 arrangements, three 409, four 23,917.\n"
      "conformance/overlaps/README.md explains the tables.\n"
      "Example: lockstep overlaps --devices lockstep,lwip,smoltcp");
  verb->callback([options, &exit_code] { exit_code = run_overlaps_verb(*options); });
}

}  // namespace lockstep::tools
