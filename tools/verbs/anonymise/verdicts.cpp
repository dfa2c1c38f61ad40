// Runs lint and replay, and compares what they find.
#include "tools/verbs/anonymise/verdicts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "conformance/replay/connections.hpp"
#include "conformance/replay/replay.hpp"
#include "conformance/replay/report.hpp"
#include "conformance/replay/unaided.hpp"

namespace lockstep::tools {
namespace {

std::string_view certainty_name(sim::referee::Certainty certainty) {
  constexpr std::array<std::string_view, 3> names{"certain", "likely", "note"};
  return names[static_cast<std::size_t>(certainty)];
}

/// Without packet numbers, which differ if packets were dropped.
std::string without_digits(std::string text) {
  std::erase_if(text, [](unsigned char letter) { return std::isdigit(letter) != 0; });
  return text;
}

std::string plain_text(const conformance::Verdict& verdict) {
  std::string out(conformance::name_of(verdict.judgement));
  for (const std::string& rule : verdict.rules) {
    out += " " + rule;
  }
  return verdict.reason.empty() ? out : out + ": " + without_digits(verdict.reason);
}

PlainVerdict plain(const conformance::Verdict& verdict) {
  PlainVerdict out{plain_text(verdict), {}};
  for (const conformance::Violation& each : verdict.violations) {
    out.violations.push_back({each.packet, each.clause, "violates", each.count});
  }
  return out;
}

/// Judges as `lockstep replay` does.
class ReplayJudge {
 public:
  explicit ReplayJudge(const std::optional<EndPair>& only) : only_(only) {}

  void judge(conformance::Connection& connection) {
    connection.number = next_++;
    static_cast<void>(conformance::normalise(connection.flow));
    for (const Segment& segment : connection.flow.segments) {
      connection.watch.take(segment);
    }
    Endpoint const& first = connection.flow.first;
    Endpoint const& second = connection.flow.second;
    if (only_ && *only_ != pair_of(first, second)) {
      return;
    }
    Endpoint const opened = conformance::choose_device(connection.flow);
    for (const Endpoint& side : {opened, opened == first ? second : first}) {
      sides_[connection.number].push_back(
          {side, conformance::replay_mended(connection.flow, side).verdict});
    }
  }

  void done(conformance::Connection& connection) {
    auto const found = sides_.find(connection.number);
    if (found == sides_.end()) {
      return;
    }
    for (auto& [side, verdict] : found->second) {
      if (connection.later != 0) {
        conformance::add_findings(verdict, {},
                                  connection.watch.findings(side, connection.judged_until));
      }
      out_.push_back(plain(verdict));
    }
    sides_.erase(found);
  }

  std::vector<PlainVerdict> take() { return std::move(out_); }

 private:
  const std::optional<EndPair>& only_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, std::vector<std::pair<Endpoint, conformance::Verdict>>> sides_;
  std::vector<PlainVerdict> out_;
};

std::string text_of(const PlainFinding& finding) {
  return fmt::format("packet {}: {} {}{}", finding.packet, finding.rule, finding.certainty,
                     finding.count == 1 ? "" : fmt::format(", {} times", finding.count));
}

std::string text_of(const PlainVerdict& verdict) {
  std::string out = verdict.verdict;
  for (const PlainFinding& each : verdict.violations) {
    out += "; " + text_of(each);
  }
  return out;
}

template <class Each>
std::string first_difference(const std::vector<Each>& before, const std::vector<Each>& after) {
  auto const [one, other] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  if (one == before.end() && other == after.end()) {
    return {};
  }
  return fmt::format("{} became {}", one == before.end() ? "nothing" : text_of(*one),
                     other == after.end() ? "nothing" : text_of(*other));
}

}  // namespace

std::vector<PlainFinding> lint_findings(const LintOptions& options,
                                        const std::optional<EndPair>& only) {
  std::vector<PlainFinding> out;
  for (const sim::referee::Violation& each : lint(options).violations) {
    bool const has_ends = each.speaker != Endpoint{};
    if (only && has_ends && *only != pair_of(each.speaker, each.listener)) {
      continue;
    }
    out.push_back({each.packet, std::string(sim::referee::text_of(each.rule).name),
                   std::string(certainty_name(each.certainty())), 1 + each.more});
  }
  std::ranges::sort(out);
  return out;
}

std::vector<PlainVerdict> replay_verdicts(const std::string& capture,
                                          const std::optional<EndPair>& only) {
  ReplayJudge judge(only);
  conformance::ConnectionReader reader({},
                                       {[&](conformance::Connection& each) { judge.judge(each); },
                                        [&](conformance::Connection& each) { judge.done(each); }});
  reader.read(capture);
  return judge.take();
}

void add_packets(const std::vector<PlainFinding>& findings, PacketNumbers& packets) {
  for (const PlainFinding& finding : findings) {
    packets.emplace(finding.packet, 0);
  }
}

std::vector<PlainFinding> renumbered(std::vector<PlainFinding> findings,
                                     const PacketNumbers& packets) {
  for (PlainFinding& finding : findings) {
    auto const found = packets.find(finding.packet);
    finding.packet = found == packets.end() ? 0 : found->second;
  }
  std::ranges::sort(findings);
  return findings;
}

std::vector<PlainVerdict> renumbered(std::vector<PlainVerdict> verdicts,
                                     const PacketNumbers& packets) {
  for (PlainVerdict& verdict : verdicts) {
    for (PlainFinding& each : verdict.violations) {
      auto const found = packets.find(each.packet);
      each.packet = found == packets.end() ? 0 : found->second;
    }
  }
  return verdicts;
}

std::string difference(const std::vector<PlainFinding>& before,
                       const std::vector<PlainFinding>& after) {
  return first_difference(before, after);
}

std::string difference(const std::vector<PlainVerdict>& before,
                       const std::vector<PlainVerdict>& after) {
  return first_difference(before, after);
}

}  // namespace lockstep::tools
