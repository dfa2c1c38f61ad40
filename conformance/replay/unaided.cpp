// Decides which breaches stand even if packets were lost, delayed or edited after the capture
// point.
#include "conformance/replay/unaided.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "conformance/replay/clause.hpp"

namespace lockstep::conformance {
namespace {

namespace flag = tools::tcp_flag;

/// The allowed difference that a breach of this clause may be, or nothing if it cannot be one.
std::optional<Rule> rule_of(std::string_view clause) {
  struct Entry {
    std::string_view clause;
    Rule rule;
  };
  constexpr std::array all{
      Entry{"5681:CC-1", Rule::congestion_window},
      Entry{"5681:CC-3", Rule::initial_window},
      Entry{"5681:CC-5", Rule::congestion_window},
      Entry{"5681:CC-12", Rule::congestion_window},
      Entry{"5681:CC-25", Rule::congestion_window},
      Entry{"5681:CC-14", Rule::ack_coalescing},
      Entry{"5681:CC-15", Rule::ack_coalescing},
      Entry{"5681:CC-27", Rule::ack_coalescing},
      Entry{"9293:P-TEXT-ACK", Rule::ack_coalescing},
      Entry{"9293:MUST-40", Rule::ack_coalescing},
      Entry{"9293:P-ACCEPT-REPLY", Rule::ack_coalescing},
      Entry{"9293:P-ACCEPT-TRIM", Rule::ack_coalescing},
      Entry{"9293:P-ACK-5961", Rule::ack_coalescing},
      Entry{"9293:P-ACK-FUTURE", Rule::ack_coalescing},
      Entry{"9293:P-FIN", Rule::ack_coalescing},
      Entry{"9293:P-TIMEWAIT-ACK", Rule::ack_coalescing},
      Entry{"9293:P-ZWP-REPLY", Rule::ack_coalescing},
      Entry{"7323:TS-17", Rule::ack_coalescing},
      Entry{"5681:CC-16", Rule::recovery},
      Entry{"5681:CC-21", Rule::recovery},
      Entry{"6298:RTO-9", Rule::recovery},
      Entry{"6298:RTO-11", Rule::recovery},
      Entry{"6298:RTO-14", Rule::recovery},
      Entry{"6582:NR-2", Rule::recovery},
      Entry{"6582:NR-7", Rule::recovery},
      Entry{"8985:TLP-4", Rule::recovery},
      Entry{"9293:P-RTO", Rule::recovery},
      Entry{"9293:P-KA-PROBE", Rule::timing},
      Entry{"9293:MUST-36", Rule::timing},
      Entry{"9293:P-SWS-RCV", Rule::window_updates},
      Entry{"9293:P-SYNSENT-EST", Rule::ack_coalescing},
      Entry{"9293:MUST-30", Rule::segmentation},
      Entry{"9293:MUST-62", Rule::segmentation},
      Entry{"9293:SHLD-3", Rule::closing_reset},
      Entry{"9293:P-NAGLE", Rule::nagle_variant},
      Entry{"9293:MUST-38", Rule::nagle_variant},
  };
  auto const found = std::find_if(all.begin(), all.end(),
                                  [&](const Entry& entry) { return entry.clause == clause; });
  return found == all.end() ? std::nullopt : std::optional(found->rule);
}

/// When one side has reset the connection: what the other sends afterwards is not judged.
Instant reset_at(const Script& script) {
  Instant at = Instant::never();
  for (const Step& step : script.steps) {
    bool const reset = step.kind == Step::Kind::segment && step.segment.any(flag::rst);
    at = reset ? earlier(at, step.at) : at;
  }
  for (const Sent& sent : script.sent) {
    at = sent.segment.any(flag::rst) ? earlier(at, sent.at) : at;
  }
  return at;
}

std::uint64_t packet_of(const Script& script, const CrossBreach& breach) {
  auto const sent = breach.captured ? breach.captured : breach.sent_last;
  return sent ? script.sent[*sent].segment.number : 0;
}

/// The number of the first packet at or after this time.
std::uint64_t packet_at(const Script& script, Instant at) {
  std::uint64_t packet = 0;
  for (const Step& step : script.steps) {
    packet = step.at <= at ? std::max(packet, step.packet) : packet;
  }
  return packet;
}

class Unaided {
 public:
  Unaided(const Script& script, std::set<Rule> rules) : script_(script), rules_(std::move(rules)) {}

  void weigh(const CrossBreach& breach) {
    bool const of_core =
        breach.kind == Divergence::Kind::unexpected && breach.breach.text.starts_with("core: ");
    std::string const clause = chosen(breach.breach.clauses, {});
    // The core's times are those of the replay: only the contents of its segments count against it.
    bool const said = clause == "9293:P-CLOSE-QUEUED" || clause == "9293:P-SEND-EST";
    if (breach.breach.sure && script_.near && (!of_core || said)) {
      accuse(breach, of_core ? core_ : device_);
      return;
    }
    auto rule = rule_of(clause);
    // Segments from a distant sender may arrive late, reordered and incomplete.
    bool const late = clause == "9293:P-WND-FIT" || clause == "9293:P-SEND-EST";
    if (!script_.near && late && breach.captured) {
      rule = clause == "9293:P-WND-FIT" ? Rule::timing : Rule::recovery;
    }
    if (breach.breach.at >= reset_) {
      rules_.insert(Rule::closing_reset);
    } else if (rule && breach.kind != Divergence::Kind::stuck) {
      rules_.insert(*rule);
    } else if (!of_core && reason_.empty()) {
      reason_ = fmt::format(
          "our TCP and the capture diverge after packet {}, and the capture does not show which "
          "is wrong: {} ({})",
          packet_at(script_, breach.breach.at), breach.breach.text, clause);
    }
  }

  Verdict verdict() {
    Verdict out;
    if (device_.first != nullptr) {
      fill(out, Judgement::violates, device_);
    } else if (!reason_.empty()) {
      out.judgement = Judgement::cannot_tell;
      out.reason = reason_;
    } else if (core_.first != nullptr) {
      fill(out, Judgement::core_differs, core_);
    } else {
      out.judgement = rules_.empty() ? Judgement::agrees : Judgement::differs_allowed;
      for (Rule const rule : rules_) {
        out.rules.emplace_back(name_of(rule));
      }
    }
    return out;
  }

 private:
  struct Accused {
    const CrossBreach* first = nullptr;
    std::vector<Violation> violations;
  };

  void accuse(const CrossBreach& breach, Accused& side) const {
    side.first = side.first == nullptr ? &breach : side.first;
    std::string const clause = chosen(breach.breach.clauses, {});
    for (Violation& violation : side.violations) {
      if (violation.clause == clause) {
        ++violation.count;
        return;
      }
    }
    side.violations.push_back({packet_of(script_, breach), clause, breach.breach.text, 1});
  }

  static void fill(Verdict& out, Judgement judgement, Accused& side) {
    out.judgement = judgement;
    out.violations = std::move(side.violations);
    out.divergence = Divergence{side.first->kind, side.first->captured, side.first->live,
                                out.violations.front().clause, out.violations.front().text};
  }

  const Script& script_;
  std::set<Rule> rules_;
  Instant reset_ = reset_at(script_);
  Accused device_, core_;
  std::string reason_;
};

}  // namespace

Verdict settle_unaided(const Script& script, const LiveRun& run, std::vector<CrossBreach> all,
                       std::set<Rule> rules) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(all[a].breach.at, a) < std::pair(all[b].breach.at, b);
  });
  Unaided judge(script, std::move(rules));
  Instant const stuck = run.is_stuck() ? script.steps[run.stuck_step].at : Instant::never();
  for (std::size_t const index : order) {
    const CrossBreach& breach = all[index];
    bool const reached = breach.breach.at <= stuck || breach.breach.sure;
    if (reached) {
      judge.weigh(breach);
    }
  }
  return judge.verdict();
}

void add_findings(Verdict& verdict, const Script& script, const std::vector<Finding>& findings) {
  if (findings.empty()) {
    return;
  }
  if (verdict.judgement != Judgement::violates) {
    verdict = {};
    verdict.judgement = Judgement::violates;
  }
  for (const Finding& finding : findings) {
    bool const known =
        std::any_of(verdict.violations.begin(), verdict.violations.end(),
                    [&](const Violation& violation) { return violation.clause == finding.clause; });
    if (!known) {
      verdict.violations.push_back(
          {finding.packet, std::string(finding.clause), finding.text, finding.count});
    }
  }
  if (!verdict.divergence) {
    const Violation& first = verdict.violations.front();
    Divergence divergence{Divergence::Kind::differs, std::nullopt, std::nullopt, first.clause,
                          first.text};
    for (std::size_t i = 0; i < script.sent.size(); ++i) {
      if (script.sent[i].segment.number == first.packet) {
        divergence.captured = i;
      }
    }
    verdict.divergence = std::move(divergence);
  }
}

}  // namespace lockstep::conformance
