// Registers the verb `lint`.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/verbs/lint/report.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

struct VerbOptions {
  std::string capture, json, pcapng, rto_min = "1s";
  std::vector<std::string> at;
  bool whole = false, strict = false;
};

LintOptions read_options(const VerbOptions& given) {
  LintOptions out;
  out.capture = given.capture;
  out.whole = given.whole;
  for (const std::string& text : given.at) {
    auto const address = parse_address(text);
    if (!address) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--at {}: expected an address such as 10.0.0.1: correct it", text));
    }
    out.at.push_back(*address);
  }
  auto const rto_min = parse_duration(given.rto_min);
  if (!rto_min) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--rto-min {}: expected a duration such as 200ms or 1s: correct it",
                              given.rto_min));
  }
  out.rto_min = *rto_min;
  return out;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void print(const Linted& linted, const std::string& capture, bool whole) {
  if (!linted.warning.empty()) {
    fmt::print(stderr, "lockstep: {}\n", linted.warning);
  }
  fmt::print("{}", table_of(linted, terminal_columns()));
  if (linted.without_place() != 0) {
    fmt::print("{} of other kinds are not listed\n",
               counted(linted.without_place(), "further finding"));
  }
  if (linted.unjudged != 0) {
    fmt::print("{} of connections beyond the first {} were not judged\n",
               counted(linted.unjudged, "segment"), linted.connections);
  }
  std::string const counts = counts_of(linted, terminal_columns());
  fmt::print("{}{}", counts.empty() ? "" : "\n", counts);
  if (linted.copies != 0) {
    fmt::print("{} that the capture holds twice were judged once\n",
               counted(linted.copies, "packet"));
  }
  if (linted.joined != 0) {
    fmt::print(
        "{} exceed the MSS of their hosts: hardware has joined or will split them (TSO, GRO), so "
        "no "
        "certain finding depends on a segment's size{}\n",
        counted(linted.joined, "segment"), whole ? "; --whole does not apply to sizes" : "");
  }
  if (linted.order == FileOrder::sorted_here) {
    fmt::print("the file is not sorted by time: judged in the order of the times\n");
  } else if (linted.order == FileOrder::unknown) {
    fmt::print("the times of the file go back: sort it (reordercap IN OUT){}\n",
               whole ? "; until then --whole does not apply" : "");
  }
  fmt::print("{}: {}, {} of TCP, {}: {} certain, {} likely, {}\n", capture,
             counted(linted.packets, "packet"), counted(linted.segments, "segment"),
             counted(linted.connections, "connection"), linted.certain(), linted.likely(),
             counted(linted.notes(), "note"));
}

int run_lint(const VerbOptions& given) {
  LintOptions const options = read_options(given);
  refuse_overwrite(given.capture, given.json);
  refuse_overwrite(given.capture, given.pcapng);
  refuse_same_output(given.json, given.pcapng);
  Linted const linted = lint(options);
  if (!given.json.empty()) {
    save_file(given.json, json_text(json_of(linted, given.capture)));
  }
  if (!given.pcapng.empty()) {
    write_commented(linted, given.capture, given.pcapng);
  }
  print(linted, given.capture, given.whole);
  bool const found = linted.certain() != 0 || (given.strict && linted.likely() != 0);
  return static_cast<int>(found ? ExitCode::finding : ExitCode::fine);
}

}  // namespace

void register_lint(CLI::App& app, int& exit_code) {
  CLI::App* const verb = app.add_subcommand(
      "lint", "Checks the TCP of a capture against the RFCs, from its packets alone");
  auto const options = std::make_shared<VerbOptions>();
  verb->add_option("capture", options->capture,
                   "a pcap or pcapng file, may be gzipped; - for standard input")
      ->required();
  verb->add_flag("--strict", options->strict, "exit code 1 for a likely finding, too");
  verb->add_flag("--whole", options->whole,
                 "the capture lacks no packet and shows each as it was on the wire");
  verb->add_option("--at", options->at,
                   "the capture was taken at this address: the order of its packets is exact");
  verb->add_option("--rto-min", options->rto_min, "the shortest time before a retransmission")
      ->capture_default_str();
  verb->add_option("--json", options->json, "also write the findings to this file");
  verb->add_option("--pcapng", options->pcapng,
                   "also write a copy of the capture with the findings as packet comments");
  verb->footer(
      "certain: nothing else explains the packets. likely: the given reason may explain them.\n"
      "note: permitted, but worth knowing.\n"
      "Exit code 0: no certain finding; 1: a certain one (with --strict also a likely one).\n"
      "Example: lockstep lint web.pcapng --pcapng judged.pcapng");
  verb->callback([options, &exit_code] { exit_code = run_lint(*options); });
}

}  // namespace lockstep::tools
