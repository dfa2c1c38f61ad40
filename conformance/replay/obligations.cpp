// Combines the audits and the cross checks: the earliest breach determines the verdict.
#include "conformance/replay/obligations.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "conformance/replay/audit.hpp"
#include "conformance/replay/circle.hpp"
#include "conformance/replay/cross.hpp"
#include "conformance/replay/unaided.hpp"

namespace lockstep::conformance {
namespace {

namespace flag = tools::tcp_flag;

/// Finds data that the peer had to retransmit, where the first copy may have been lost after the
/// capture point.
std::string lost_after_capture(const Script& script) {
  std::optional<std::uint32_t> next;
  for (const Step& step : script.steps) {
    if (step.kind != Step::Kind::segment || step.segment.length() == 0) {
      continue;
    }
    bool const again = next && !step.segment.any(flag::syn) && before(step.segment.sequence, *next);
    if (again && script.away_from_device) {
      return fmt::format(
          "packets of the peer were lost after they were captured: packet {} is "
          "sent again",
          step.packet);
    }
    next = step.segment.end();
  }
  return {};
}

/// Without window scaling the core's window has 16 bits: a peer that used more of the device's
/// window cannot be replayed completely.
std::string window_too_small(const Script& script, const LiveRun& run) {
  bool const waits = run.is_stuck() && run.stuck_need.kind == Need::Kind::right_edge;
  if (!waits || script.scaled || script.receive_buffer <= 65'535) {
    return {};
  }
  return fmt::format(
      "the peer fills a window of more than 64 KiB, which takes window scaling: "
      "packet {} does not fit",
      script.steps[run.stuck_step].packet);
}

Clauses clauses_of_stuck(const Script& script, const LiveRun& run) {
  const Step& step = script.steps[run.stuck_step];
  if (run.isns.size() < step.incarnation) {
    return {script.role == Role::active ? "9293:P-OPEN-CLOSED-ACTIVE" : "9293:P-LISTEN-SYN"};
  }
  switch (run.stuck_need.kind) {
    case Need::Kind::right_edge:
      return {"9293:P-SWS-RCV"};
    case Need::Kind::transmitted:
      return {"9293:P-RTO"};
    default:
      break;
  }
  for (const Sent& sent : script.sent) {
    if (sent.segment.any(flag::fin) && sent.segment.end() == run.stuck_need.sequence) {
      return {"9293:P-CLOSE-QUEUED"};
    }
  }
  return {"9293:P-SEND-EST"};
}

class Judge {
 public:
  Judge(const Script& script, const LiveRun& run, const Config& config,
        const std::vector<std::string>& shows)
      : script_(script),
        run_(run),
        shows_(shows),
        reception_(reception_of(script, run)),
        input_{script, run, reception_, config} {}

  Verdict judge() {
    Verdict verdict;
    if (script_.inferred) {
      if (script_.unaided) {
        verdict.reason = window_too_small(script_, run_);
      }
      if (!verdict.reason.empty()) {
        verdict.judgement = Judgement::cannot_tell;
        return verdict;
      }
    }
    Trace const captured = captured_trace(script_);
    Trace const live = live_trace(script_, run_, Duration::seconds(5));
    CrossResult cross = cross_check(input_, captured, live);
    if (!run_.part_acks.empty()) {
      cross.rules.insert(Rule::congestion_window);
    }
    all_ = std::move(cross.breaches);
    audit(captured, true);
    if (!run_.is_stuck()) {
      audit(live, false);
    } else {
      stuck();
    }
    if (script_.unaided) {
      verdict = settle_unaided(script_, run_, std::move(all_), std::move(cross.rules));
      bool const parted =
          verdict.judgement != Judgement::agrees && verdict.judgement != Judgement::differs_allowed;
      std::string lost = parted ? lost_after_capture(script_) : std::string();
      if (!lost.empty()) {
        verdict = {};
        verdict.judgement = Judgement::cannot_tell;
        verdict.reason = std::move(lost);
      }
    } else {
      settle(cross.rules, verdict);
    }
    return verdict;
  }

 private:
  void audit(const Trace& trace, bool is_captured) {
    for (auto check : {audit_acks, audit_retransmissions, audit_data, audit_selective, audit_stamps,
                       audit_marks, audit_path, audit_spurious}) {
      AuditInput input = input_;
      input.of_capture = is_captured;
      for (Breach& breach : check(input, trace)) {
        CrossBreach out;
        out.kind = is_captured ? Divergence::Kind::missing : Divergence::Kind::unexpected;
        if (breach.item) {
          std::size_t const index = trace[*breach.item].index;
          (is_captured ? out.captured : out.live) = index;
        }
        breach.text = fmt::format("{}: {}", is_captured ? "capture" : "core", breach.text);
        out.breach = std::move(breach);
        all_.push_back(std::move(out));
      }
    }
  }

  /// A step that was not reached is no divergence of its own: the unmet need is.
  void stuck() {
    Instant const at = script_.steps[run_.stuck_step].at;
    // What the captured packets alone show is true whatever the core does.
    std::erase_if(all_, [&](const CrossBreach& breach) {
      return breach.breach.at > at && !(script_.unaided && breach.breach.sure);
    });
    CrossBreach out;
    out.kind = Divergence::Kind::stuck;
    out.breach = {at, clauses_of_stuck(script_, run_),
                  fmt::format("the core never did what packet {} of the capture answers",
                              script_.steps[run_.stuck_step].packet),
                  std::nullopt, false};
    all_.push_back(std::move(out));
  }

  void settle(const std::set<Rule>& rules, Verdict& verdict) {
    auto const first = std::min_element(
        all_.begin(), all_.end(),
        [](const CrossBreach& a, const CrossBreach& b) { return a.breach.at < b.breach.at; });
    if (first != all_.end()) {
      verdict.judgement = Judgement::violates;
      Divergence divergence;
      divergence.kind = first->kind;
      divergence.captured = first->captured;
      divergence.live = first->live;
      divergence.clause = chosen(first->breach.clauses, shows_);
      divergence.text = first->breach.text;
      verdict.violations.push_back({0, divergence.clause, divergence.text, 1});
      verdict.divergence = std::move(divergence);
      return;
    }
    verdict.judgement = rules.empty() ? Judgement::agrees : Judgement::differs_allowed;
    for (Rule const rule : rules) {
      verdict.rules.emplace_back(name_of(rule));
    }
  }

  const Script& script_;
  const LiveRun& run_;
  const std::vector<std::string>& shows_;
  Reception reception_;
  AuditInput input_;
  std::vector<CrossBreach> all_;
};

}  // namespace

std::string_view name_of(Rule rule) {
  constexpr std::array<std::string_view, rule_count> names{
      "segmentation",   "ack-coalescing",    "timing-within-class",
      "initial-window", "congestion-window", "recovery",
      "window-updates", "nagle-variant",     "closing-reset"};
  return names[static_cast<std::size_t>(rule)];
}

Verdict compare_obligations(const Script& script, const LiveRun& run, const Config& config,
                            const std::vector<std::string>& shows) {
  return Judge(script, run, config, shows).judge();
}

}  // namespace lockstep::conformance
