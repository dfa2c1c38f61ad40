// The verb `lockstep pkt`: its options, and where its reports go.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "conformance/script/assertion.hpp"
#include "conformance/script/explain.hpp"
#include "conformance/script/from_capture.hpp"
#include "conformance/script/report.hpp"
#include "conformance/script/sysctl.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

namespace script = conformance::script;

struct PktOptions {
  std::vector<std::string> paths, defines;
  std::string json, junit, pcapng = "pkt-failures", captures;
  script::Overrides overrides;
  std::uint32_t jobs = 1;
  bool tap = false, failed = false, no_referee = false;
};

script::Defines defines_of(const std::vector<std::string>& texts) {
  script::Defines out;
  for (std::string const& text : texts) {
    std::size_t const equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--define {}: expected NAME=VALUE: write it so", text));
    }
    out.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

void save_reports(const PktOptions& options, const script::Report& report) {
  script::save_captures(report);
  for (script::Ran const& ran : report.scripts) {
    if (!options.tap && options.captures.empty() && !ran.capture_path.empty()) {
      fmt::print("capture: {}\n", ran.capture_path);
    }
  }
  if (!options.json.empty()) {
    save_file(options.json, script::json_text(report));
  }
  if (!options.junit.empty()) {
    save_file(options.junit, script::junit_text(report));
  }
}

int run_scripts(const PktOptions& options) {
  script::Batch batch;
  batch.defines = defines_of(options.defines);
  batch.overrides = options.overrides;
  batch.overrides.keep_capture = !options.captures.empty();
  batch.overrides.referee = !options.no_referee;
  batch.jobs = options.jobs;
  auto const files = script::find_scripts(options.paths);
  for (std::string const& file : files) {
    refuse_overwrite(file, options.json);
    refuse_overwrite(file, options.junit);
  }
  set_check_handler(script::print_failed_check);
  script::Report report = script::run_all(files, batch);
  script::name_captures(report, options.captures.empty() ? options.pcapng : options.captures);
  // What was found is told first: a report that cannot be saved does not hide it.
  if (options.tap) {
    fmt::print("{}", script::tap_text(report));
  } else {
    fmt::print("{}", script::table_text(report, options.failed, terminal_columns()));
    fmt::print("{} scripts a second, {} at a time\n", report.per_second(), options.jobs);
  }
  std::fflush(stdout);
  save_reports(options, report);
  return report.exit_code();
}

/// Reads and runs nothing: what is not in the language, a line each.
int check_scripts(const PktOptions& options) {
  script::Defines const defines = defines_of(options.defines);
  auto const files = script::find_scripts(options.paths);
  for (std::string const& file : files) {
    refuse_overwrite(file, options.json);
  }
  std::size_t events = 0;
  std::vector<std::string> errors;
  int worst = static_cast<int>(ExitCode::fine);
  for (std::string const& file : files) {
    try {
      script::Script const read = script::parse_file(file, defines);
      script::plan_of(read, {});
      for (script::Event const& event : read.events) {
        if (event.kind == script::Event::Kind::code) {
          script::parse_code(read, event);
        }
      }
      events += read.events.size();
    } catch (const Failure& failure) {
      fmt::print(stderr, "lockstep: {}\n", failure.what());
      worst = std::max(worst, static_cast<int>(failure.code()));
      errors.emplace_back(failure.what());
    }
  }
  fmt::print("{} scripts, {} events, {} scripts with an error\n", files.size(), events,
             errors.size());
  if (!options.json.empty()) {
    nlohmann::ordered_json const report{
        {"scripts", files.size()}, {"events", events}, {"errors", errors}};
    save_file(options.json, json_text(report));
  }
  return worst;
}

void register_run(CLI::App& verb, int& exit_code) {
  CLI::App* const run = verb.add_subcommand("run", "Runs .pkt scripts and prints their verdicts");
  auto const options = std::make_shared<PktOptions>();
  run->add_option("script", options->paths, "scripts, and folders of .pkt files")->required();
  run->add_option("--profile", options->overrides.profile,
                  "default, rfc, linux or freebsd, in place of what the scripts say");
  run->add_option("-D,--define", options->defines, "NAME=VALUE, for names in the scripts");
  run->add_flag("--strict-segments", options->overrides.strict_segments,
                "a segment of the script is one segment on the wire");
  run->add_flag("--allow-trailing", options->overrides.allow_trailing,
                "packets that leave behind the last one expected are no finding");
  run->add_flag("--no-referee", options->no_referee,
                "what leaves is compared with the script only, and not judged by RFCs");
  run->add_option("--jobs", options->jobs, "how many run at a time (default: 1)")
      ->check(CLI::Range(1, 256));
  run->add_flag("--failed", options->failed, "rows only of scripts that do not pass");
  run->add_flag("--tap", options->tap, "print TAP 14 in place of the table");
  run->add_option("--json", options->json, "the report as JSON into this file");
  run->add_option("--junit", options->junit, "the report as JUnit XML into this file");
  run->add_option("--pcapng", options->pcapng,
                  "the folder for a capture of each script that fails (default: pkt-failures)");
  run->add_option("--captures", options->captures,
                  "the folder for a capture of every script, whether it passes or not");
  run->footer(
      "Exit code 1: a script fails; 2: one is not in the language, or no file; 3: one is missing. "
      "conformance/script/README.md has the language.\n"
      "Example: lockstep pkt run conformance/script --failed --jobs 2");
  run->callback([options, &exit_code] { exit_code = run_scripts(*options); });
}

struct FromCaptureOptions {
  std::string capture, local, out;
  bool json = false;
};

int write_from_capture(const FromCaptureOptions& options) {
  std::optional<IpAddress> local;
  if (!options.local.empty()) {
    local = parse_address(options.local);
    if (!local) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--local {}: expected an address such as 192.0.2.1 or 2001:db8::1: "
                                "correct it",
                                options.local));
    }
  }
  refuse_overwrite(options.capture, options.out);
  set_check_handler(script::print_failed_check);
  script::FromCapture const made = script::from_capture(options.capture, local);
  if (!options.out.empty()) {
    save_file(options.out, made.text);
  }
  if (options.json) {
    nlohmann::ordered_json out{{"passes", made.difference.empty()},
                               {"difference", made.difference},
                               {"packets", made.packets},
                               {"script", made.text}};
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (options.out.empty()) {
    fmt::print("{}", made.text);
  }
  if (made.difference.empty()) {
    return static_cast<int>(ExitCode::fine);
  }
  fmt::print(stderr, "lockstep: {}\n", made.difference);
  return static_cast<int>(ExitCode::finding);
}

void register_from_capture(CLI::App& verb, int& exit_code) {
  CLI::App* const from = verb.add_subcommand(
      "from-capture", "Writes a script of a connection that a capture begins with");
  auto const options = std::make_shared<FromCaptureOptions>();
  from->add_option("capture", options->capture, "pcap or pcapng")->required();
  from->add_option("--local", options->local,
                   "the end whose place our stack takes (default: the one that was called)");
  from->add_option("--out", options->out, "the script into this file (default: standard output)");
  from->add_flag("--json", options->json,
                 "print JSON: whether it passes, what differs, and the script");
  from->footer(
      "The script passes; where our stack does otherwise than the capture one line says how, and "
      "the exit code is 1.\nExample: lockstep pkt from-capture web.pcapng --out web.pkt");
  from->callback([options, &exit_code] { exit_code = write_from_capture(*options); });
}

void print_sysctls(bool json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  TextTable table({{"sysctl", TextTable::Align::left},
                   {"of", TextTable::Align::left},
                   {"values", TextTable::Align::left},
                   {"when", TextTable::Align::left},
                   {"fields of Config", TextTable::Align::left}});
  for (script::SysctlRow const& row : script::sysctl_rows()) {
    std::string const when = row.later ? "any time" : "head";
    table.add({row.name, row.system, row.values, when, row.fields});
    all.push_back({{"name", row.name},
                   {"system", row.system},
                   {"values", row.values},
                   {"when", when},
                   {"fields", row.fields}});
  }
  fmt::print("{}", json ? all.dump(2) + "\n" : table.text(terminal_columns()));
}

void register_sysctls(CLI::App& verb, int& exit_code) {
  CLI::App* const sysctls = verb.add_subcommand(
      "sysctls", "Lists the sysctls that scripts may set, and what they are of Config");
  auto const json = std::make_shared<bool>(false);
  sysctls->add_flag("--json", *json, "print JSON");
  sysctls->footer(
      "head: before the first call and packet; any time: for sockets made from then on.\n"
      "--profile=NAME, of a script or of the command line, comes first; then sysctls, then "
      "--config=FIELD=VALUE.\nExample: lockstep pkt sysctls");
  sysctls->callback([json, &exit_code] {
    print_sysctls(*json);
    exit_code = static_cast<int>(ExitCode::fine);
  });
}

struct ExplainOptions {
  std::string place;
  std::vector<std::string> defines;
  script::Overrides overrides;
  bool json = false;
};

void register_explain(CLI::App& verb, int& exit_code) {
  CLI::App* const explain = verb.add_subcommand(
      "explain", "Says what a step of a script exercises, and which clauses are cited for it");
  auto const options = std::make_shared<ExplainOptions>();
  explain->add_option("place", options->place, "FILE:LINE, of a .pkt script")->required();
  explain->add_option("--profile", options->overrides.profile,
                      "default, rfc, linux or freebsd, in place of what the script says");
  explain->add_option("-D,--define", options->defines, "NAME=VALUE, for names in the script");
  explain->add_flag("--json", options->json, "print JSON");
  explain->footer("Example: lockstep pkt explain conformance/script/rto/karn.pkt:19");
  explain->callback([options, &exit_code] {
    set_check_handler(script::print_failed_check);
    script::Explained const what =
        script::explain(options->place, defines_of(options->defines), options->overrides);
    fmt::print("{}", options->json ? script::explained_json(what) : script::explained_text(what));
    exit_code = static_cast<int>(ExitCode::fine);
  });
}

}  // namespace

void register_pkt(CLI::App& app, int& exit_code) {
  CLI::App* const verb =
      app.add_subcommand("pkt", "Scripts of packets and calls for the stack, in virtual time");
  verb->require_subcommand(1);
  register_run(*verb, exit_code);
  register_from_capture(*verb, exit_code);
  CLI::App* const check = verb->add_subcommand(
      "check", "Reads scripts and names what is not in the language: FILE:LINE:COLUMN");
  auto const options = std::make_shared<PktOptions>();
  check->add_option("script", options->paths, "scripts, and folders of .pkt files")->required();
  check->add_option("-D,--define", options->defines, "NAME=VALUE, for names in the scripts");
  check->add_option("--json", options->json, "write the counts and the errors to this file too");
  check->footer(
      "Exit code 2: one is wrong; 3: one is missing.\n"
      "Example: lockstep pkt check conformance/script");
  check->callback([options, &exit_code] { exit_code = check_scripts(*options); });
  register_sysctls(*verb, exit_code);
  register_explain(*verb, exit_code);
}

}  // namespace lockstep::tools
