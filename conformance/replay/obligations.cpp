// Puts the audits and the cross checks together: the earliest breach is the verdict.
#include "conformance/replay/obligations.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "conformance/replay/audit.hpp"
#include "conformance/replay/cross.hpp"

namespace lockstep::conformance {
namespace {

namespace flag = tools::tcp_flag;

bool before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(b - a) > 0; }

/// What the capture lacks, where a side acknowledges what nobody is seen to send.
std::string capture_loss(const Script& script) {
  std::optional<std::uint32_t> ours;
  std::optional<std::uint32_t> theirs;
  for (const Sent& sent : script.sent) {
    if (!ours || before(*ours, sent.segment.end())) {
      ours = sent.segment.end();
    }
  }
  for (const Step& step : script.steps) {
    if (step.kind == Step::Kind::segment && (!theirs || before(*theirs, step.segment.end()))) {
      theirs = step.segment.end();
    }
  }
  for (const Sent& sent : script.sent) {
    bool const counts = sent.segment.any(flag::ack) && !sent.segment.any(flag::rst) && theirs;
    if (counts && before(*theirs, sent.segment.acknowledgment)) {
      return fmt::format("the capture lost packets of the peer: packet {} acknowledges what it "
                         "does not hold",
                         sent.segment.number);
    }
  }
  for (const Step& step : script.steps) {
    bool const counts = step.kind == Step::Kind::segment && step.segment.any(flag::ack) &&
                        !step.segment.any(flag::rst) && ours && step.incarnation != 0;
    if (counts && before(*ours, step.segment.acknowledgment)) {
      return fmt::format("the capture lost packets of the device: packet {} acknowledges what it "
                         "does not hold",
                         step.packet);
    }
  }
  return {};
}

Clauses clauses_of_stuck(const Script& script, const LiveRun& run) {
  const Step& step = script.steps[run.stuck_step];
  if (run.isns.size() < step.incarnation) {
    return {script.role == Role::active ? "9293:P-OPEN-CLOSED-ACTIVE" : "9293:P-LISTEN-SYN"};
  }
  switch (run.stuck_need.kind) {
    case Need::Kind::right_edge: return {"9293:P-SWS-RCV"};
    case Need::Kind::transmitted: return {"9293:P-RTO"};
    default: break;
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
      verdict.reason = capture_loss(script_);
      if (!verdict.reason.empty()) {
        verdict.judgement = Judgement::cannot_tell;
        return verdict;
      }
    }
    Trace const captured = captured_trace(script_);
    Trace const live = live_trace(script_, run_, Duration::seconds(5));
    CrossResult cross = cross_check(input_, captured, live);
    if (run_.part_acks != 0) {
      cross.rules.insert(Rule::congestion_window);
    }
    all_ = std::move(cross.breaches);
    audit(captured, true);
    if (!run_.is_stuck()) {
      audit(live, false);
    } else {
      stuck();
    }
    settle(cross.rules, verdict);
    return verdict;
  }

 private:
  void audit(const Trace& trace, bool is_captured) {
    for (auto check : {audit_acks, audit_retransmissions, audit_data}) {
      for (Breach& breach : check(input_, trace)) {
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

  /// What was not reached is no divergence of its own: the wait is.
  void stuck() {
    Instant const at = script_.steps[run_.stuck_step].at;
    std::erase_if(all_, [&](const CrossBreach& breach) { return breach.breach.at > at; });
    CrossBreach out;
    out.kind = Divergence::Kind::stuck;
    out.breach = {at, clauses_of_stuck(script_, run_),
                  fmt::format("the core never did what packet {} of the capture answers",
                              script_.steps[run_.stuck_step].packet),
                  std::nullopt};
    all_.push_back(std::move(out));
  }

  void settle(const std::set<Rule>& rules, Verdict& verdict) {
    auto const first = std::min_element(
        all_.begin(), all_.end(), [](const CrossBreach& a, const CrossBreach& b) {
          return a.breach.at < b.breach.at;
        });
    if (first != all_.end()) {
      verdict.judgement = Judgement::violates;
      Divergence divergence;
      divergence.kind = first->kind;
      divergence.captured = first->captured;
      divergence.live = first->live;
      divergence.clause = chosen(first->breach.clauses, shows_);
      divergence.text = first->breach.text;
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
      "segmentation", "ack-coalescing", "timing-within-class", "initial-window",
      "congestion-window", "recovery",     "window-updates", "nagle-variant",       "closing-reset"};
  return names[static_cast<std::size_t>(rule)];
}

Verdict compare_obligations(const Script& script, const LiveRun& run, const Config& config,
                            const std::vector<std::string>& shows) {
  return Judge(script, run, config, shows).judge();
}

}  // namespace lockstep::conformance
