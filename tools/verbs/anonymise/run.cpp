// Judges, writes, judges again; and what the verb prints.
#include "tools/verbs/anonymise/run.hpp"

#include <fmt/core.h>

#include <charconv>

#include "tools/base/output/atomic_file.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/verbs/anonymise/shrink.hpp"

namespace lockstep::tools {
namespace {

struct Judged {
  std::vector<PlainFinding> lint;
  std::vector<PlainVerdict> replay;
};

Judged judged(const std::string& capture, const AnonymiseRequest& request,
              const std::optional<EndPair>& only) {
  LintOptions options;
  options.capture = capture;
  Judged out{lint_findings(options, only), {}};
  if (request.replay) {
    out.replay = replay_verdicts(capture, only);
  }
  return out;
}

[[noreturn]] void refuse_shrink(const AnonymiseRequest& request) {
  throw Failure(ExitCode::bad_input,
                fmt::format("{}: --shrink: no finding that the packets could be shrunk to; "
                            "expected one{}: leave --shrink out",
                            request.options.capture, request.replay ? "" : " (or add --replay)"));
}

void expect_connection(const AnonymiseRequest& request, const AnonymiseCounts& counts) {
  if (counts.kept[static_cast<std::size_t>(Sort::tcp)] == 0) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: no TCP segment of the connection that --connection names; "
                              "expected one: `lockstep replay` lists the connections",
                              request.options.capture));
  }
}

void set_differences(const AnonymiseRequest& request, const Judged& before, const Judged& after,
                     const PacketNumbers& packets, AnonymiseReport& report) {
  report.lint_differs = difference(renumbered(before.lint, packets), after.lint);
  if (request.shrink) {
    report.replay_differs =
        difference(violating(renumbered(before.replay, packets)), violating(after.replay));
  } else {
    report.replay_differs = difference(renumbered(before.replay, packets), after.replay);
  }
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::optional<Endpoint> parse_end(std::string_view text) {
  std::size_t const colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view host = text.substr(0, colon);
  std::string_view const digits = text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  std::uint16_t port = 0;
  const char* const end = digits.data() + digits.size();
  auto const parsed = std::from_chars(digits.data(), end, port);
  auto const address = parse_address(host);
  if (!address || digits.empty() || parsed.ec != std::errc() || parsed.ptr != end) {
    return std::nullopt;
  }
  return Endpoint{*address, Port{port}};
}

}  // namespace

std::optional<EndPair> parse_connection(const std::string& text) {
  std::size_t const dash = text.find('-');
  if (dash == std::string::npos) {
    return std::nullopt;
  }
  auto const one = parse_end(std::string_view(text).substr(0, dash));
  auto const other = parse_end(std::string_view(text).substr(dash + 1));
  return one && other ? std::optional(pair_of(*one, *other)) : std::nullopt;
}

AnonymiseReport anonymise(const AnonymiseRequest& request) {
  AnonymiseReport report;
  Judged const before = judged(request.options.capture, request, request.only);
  PacketNumbers packets;
  add_packets(before.lint, packets);
  for (const PlainVerdict& verdict : before.replay) {
    add_packets(verdict.violations, packets);
  }
  Anonymiser anonymiser(request.options);
  report.selection.only = request.only;
  if (request.shrink) {
    Essence const essence{before.lint, violating(before.replay), request.replay};
    if (essence.lint.empty() && essence.replay.empty()) {
      refuse_shrink(request);
    }
    report.selection = shrunk(anonymiser, request.options.capture, report.selection, essence);
  }
  AtomicFile file(request.out);
  report.counts = anonymiser.write(report.selection, file,
                                   [&packets](std::uint64_t number, std::uint64_t after) {
                                     auto const found = packets.find(number);
                                     if (found != packets.end()) {
                                       found->second = after;
                                     }
                                   });
  expect_connection(request, report.counts);
  file.keep();
  report.addresses_v4 = anonymiser.aliases().addresses_v4();
  report.addresses_v6 = anonymiser.aliases().addresses_v6();
  report.macs = anonymiser.aliases().macs();
  report.warning = anonymiser.warning();
  report.findings = before.lint.size();
  report.verdicts = before.replay.size();
  set_differences(request, before, judged(request.out, request, {}), packets, report);
  return report;
}

nlohmann::ordered_json json_of(const AnonymiseReport& report) {
  const RebuildCounts& replaced = report.counts.replaced;
  nlohmann::ordered_json out;
  out["packets"] = {{"in", report.counts.packets_in}, {"out", report.counts.packets_out}};
  for (std::size_t i = 0; i < sort_count; ++i) {
    std::string const name(name_of(static_cast<Sort>(i)));
    out["kept"][name] = report.counts.kept[i];
    out["dropped"][name] = report.counts.dropped[i];
  }
  out["connections_dropped"] = report.selection.without.size();
  out["replaced"] = {{"ipv4_addresses", report.addresses_v4},
                     {"ipv6_addresses", report.addresses_v6},
                     {"mac_addresses", report.macs},
                     {"payload_octets", replaced.payload_octets},
                     {"fast_open_cookies", replaced.options.cookies},
                     {"digests", replaced.options.digests},
                     {"mptcp_options", replaced.options.multipath},
                     {"unknown_options", replaced.options.unknown}};
  out["verdict"] = {{"kept", report.is_kept()},
                    {"lint_findings", report.findings},
                    {"lint_differs", report.lint_differs},
                    {"replay_verdicts", report.verdicts},
                    {"replay_differs", report.replay_differs}};
  return out;
}

std::string text_of(const AnonymiseReport& report) {
  std::string dropped;
  for (std::size_t i = 0; i < sort_count; ++i) {
    if (report.counts.dropped[i] != 0) {
      dropped += fmt::format("{}{} {}", dropped.empty() ? " (dropped: " : ", ",
                             report.counts.dropped[i], name_of(static_cast<Sort>(i)));
    }
  }
  const RebuildCounts& replaced = report.counts.replaced;
  return fmt::format(
             "{} of {} packets{}\nreplaced: {} addresses, {} MAC addresses, {} octets of data, {} "
             "options\n",
             report.counts.packets_out, report.counts.packets_in,
             dropped + (dropped.empty() ? "" : ")"), report.addresses_v4 + report.addresses_v6,
             report.macs, replaced.payload_octets,
             replaced.options.cookies + replaced.options.digests + replaced.options.multipath +
                 replaced.options.unknown) +
         (report.is_kept()
              ? fmt::format(
                    "the verdict is the same: {} of lint{}\n", counted(report.findings, "finding"),
                    report.verdicts == 0
                        ? ""
                        : fmt::format(", {} of replay", counted(report.verdicts, "verdict")))
              : "");
}

}  // namespace lockstep::tools
