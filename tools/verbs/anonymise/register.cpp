// Registers the verb `anonymise`.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/anonymise/run.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

struct AnonymiseArguments {
  AnonymiseRequest request;
  std::string connection, json;
};

void refuse_existing(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: the file exists; expected a name that is free: choose another, "
                              "or remove it",
                              path));
  }
}

int run_anonymise(AnonymiseArguments given) {
  AnonymiseRequest& request = given.request;
  refuse_overwrite(request.options.capture, request.out);
  refuse_overwrite(request.options.capture, given.json);
  refuse_same_output(request.out, given.json);
  refuse_existing(request.out);
  if (!given.connection.empty()) {
    request.only = parse_connection(given.connection);
    if (!request.only) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--connection {}: expected two ends such as "
                                "10.0.0.1:4000-10.0.0.2:80 or [2001:db8::1]:4000-[2001:db8::2]:80: "
                                "correct it",
                                given.connection));
    }
  }
  AnonymiseReport const report = anonymise(request);
  if (!given.json.empty()) {
    save_file(given.json, json_text(json_of(report)));
  }
  if (!report.warning.empty()) {
    fmt::print(stderr, "lockstep: {}\n", report.warning);
  }
  fmt::print("{}: {}", request.out, text_of(report));
  if (report.is_kept()) {
    return static_cast<int>(ExitCode::fine);
  }
  bool const of_lint = !report.lint_differs.empty();
  fmt::print("the verdict of {} differs: {}{}\n", of_lint ? "lint" : "replay",
             of_lint ? report.lint_differs : report.replay_differs,
             request.options.keep_numbers ? "" : "; try --keep-numbers");
  return static_cast<int>(ExitCode::finding);
}

}  // namespace

void register_anonymise(CLI::App& app, int& exit_code) {
  CLI::App* const verb = app.add_subcommand(
      "anonymise", "Makes a capture fit for a bug report: other hosts and data, the same verdict");
  auto const given = std::make_shared<AnonymiseArguments>();
  AnonymiseRequest& request = given->request;
  verb->add_option("capture", request.options.capture,
                   "a pcap or pcapng file, may be gzipped; - for standard input")
      ->required();
  verb->add_option("-o,--out", request.out, "the pcapng file to write; it must not exist")
      ->required();
  verb->add_option("--seed", request.options.seed,
                   "another number gives other replacements; the same one the same file")
      ->capture_default_str();
  verb->add_option("--connection", given->connection,
                   "keep only this connection, as ADDRESS:PORT-ADDRESS:PORT");
  verb->add_flag("--shrink", request.shrink,
                 "drop connections and packets at both ends, as long as all findings stay");
  verb->add_flag("--keep-numbers", request.options.keep_numbers,
                 "keep sequence numbers and timestamps as they are");
  verb->add_flag("--replay", request.replay, "also compare the verdicts of lockstep replay");
  verb->add_option("--json", given->json, "also write what was replaced and dropped to this file");
  verb->footer(
      "Addresses, ports and data are replaced, and most packets other than TCP are dropped. Then "
      "lint\n"
      "judges both files: if its findings differ, so says a line, and the exit code is 1.\n"
      "Lengths, times between packets, flags, windows and IPv4 identifications stay.\n"
      "Example: lockstep anonymise private.pcapng -o public.pcapng --shrink --replay");
  verb->callback([given, &exit_code] { exit_code = run_anonymise(*given); });
}

}  // namespace lockstep::tools
