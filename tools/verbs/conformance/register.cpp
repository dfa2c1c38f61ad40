// The verb `lockstep conformance`: its options, and where its reports are written.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "conformance/replay/live.hpp"
#include "conformance/suite/page.hpp"
#include "conformance/suite/suite.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/lib/sim_nic/port_kinds.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

struct ConformanceOptions {
  std::vector<std::string> suites;
  std::string pcaps, json, junit, html;
  bool twins = false;
  std::string driver = std::string(usual_port());
};

/// The nearest folder that contains pcaps/, from this one upwards.
std::filesystem::path find_home() {
  std::filesystem::path folder = std::filesystem::current_path();
  while (!std::filesystem::exists(folder / "pcaps" / "README.md")) {
    if (folder == folder.root_path()) {
      throw Failure(ExitCode::bad_input,
                    "no pcaps/ in this folder or above it: change into the repository, or name the "
                    "scenarios' folder with --pcaps");
    }
    folder = folder.parent_path();
  }
  return folder;
}

/// Runs the scripts, finds which test shows each requirement, and writes the page. True if every
/// script passes.
bool write_page(const conformance::SuiteReport& suite, const std::string& path) {
  std::filesystem::path const root = find_root(std::filesystem::current_path());
  Catalogue const catalogue = load_catalogue(root);
  Citations const citations = scan_tree(root, catalogue);
  CoverageReport const coverage = make_report(catalogue, citations, default_scope());
  auto const files = conformance::script::find_scripts({(root / "conformance/script").string()});
  conformance::script::Report scripts = conformance::script::run_all(files, {});
  for (conformance::script::Ran& ran : scripts.scripts) {
    ran.file = std::filesystem::path(ran.file).lexically_relative(root).generic_string();
  }
  LiveResults const live = load_live_results(root);
  save_file(path, conformance::suite_html({suite, scripts, catalogue, coverage, live}));
  std::size_t const passed = scripts.count(conformance::script::Verdict::passed);
  fmt::print("page: {} ({} scripts, {} pass)\n", path, scripts.scripts.size(), passed);
  return passed == scripts.scripts.size();
}

int run_conformance(const ConformanceOptions& options) {
  bool const elsewhere = !options.pcaps.empty();
  std::filesystem::path const home = elsewhere ? std::filesystem::current_path() : find_home();
  std::filesystem::path const room =
      elsewhere ? std::filesystem::path(options.pcaps) : home / "pcaps";
  std::filesystem::path const reports = home / "build" / "report";
  std::string const json =
      options.json.empty() ? (reports / "conformance.json").string() : options.json;
  std::string const junit =
      options.junit.empty() ? (reports / "conformance.xml").string() : options.junit;
  auto const cases = conformance::find_cases(room, options.suites);
  conformance::set_replay_bench(port_kind(options.driver).bench);
  AtomicFile json_file(json);
  AtomicFile junit_file(junit);
  conformance::SuiteReport const report = conformance::run_suite(cases);
  json_file.put(conformance::suite_json(report));
  junit_file.put(conformance::suite_junit(report));
  json_file.keep();
  junit_file.keep();
  fmt::print("{}", conformance::table_text(report, options.twins, terminal_columns()));
  fmt::print("reports: {}\n         {}\n", json, junit);
  bool const passes = options.html.empty() || write_page(report, options.html);
  return static_cast<int>(report.passes() && passes ? ExitCode::fine : ExitCode::finding);
}

}  // namespace

void register_conformance(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "conformance",
      "Replays the scenarios of pcaps/ and their mutated twins, and prints the verdicts");
  auto const options = std::make_shared<ConformanceOptions>();
  verb->add_option("suite", options->suites,
                   "only scenarios whose names contain this, such as rfc5681 (default: all)");
  verb->add_flag("--twins", options->twins, "also print a row for each twin");
  verb->add_option("--pcaps", options->pcaps,
                   "the folder of the scenarios (default: pcaps/ in this folder or above it)");
  verb->add_option(
      "--json", options->json,
      "write the report as JSON to this file (default: build/report/conformance.json)");
  verb->add_option(
      "--junit", options->junit,
      "write the report as JUnit XML to this file (default: build/report/conformance.xml)");
  verb->add_option("--html", options->html,
                   "also run conformance/script, and write a page of all verdicts to this file");
  verb->add_option(
          "--driver", options->driver,
          "the driver below the device's stack: the plain port, the mPIPE driver on a model "
          "of its hardware, or (in lockstep ns3) a device of ns-3")
      ->check(CLI::IsMember(port_names()))
      ->capture_default_str();
  verb->footer(
      "Exit code 1: a scenario does not agree, a twin does not violate its clause, or (with\n"
      "--html) a script fails.\n"
      "Example: lockstep conformance rfc5681 rfc6582 --twins\n"
      "Example: lockstep ns3 conformance rfc5681");
  verb->callback([options, &exit_code] { exit_code = run_conformance(*options); });
}

}  // namespace lockstep::tools
