// Puts the audits and the cross checks together: the earliest breach is the verdict.
#include "conformance/replay/obligations.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "conformance/replay/audit.hpp"
#include "conformance/replay/cross.hpp"

namespace lockstep::conformance {
namespace {

namespace flag = tools::tcp_flag;

bool before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(b - a) > 0; }

/// The octets of one side, as far as the capture has them.
class Coverage {
 public:
  void add(const tools::Segment& segment) {
    if (segment.any(flag::rst)) {
      return;
    }
    if (segment.any(flag::syn)) {
      begin_ = segment.sequence;
      ranges_.clear();
    }
    if (begin_ && segment.length() != 0) {
      std::uint32_t const from = segment.sequence - *begin_;
      std::uint32_t& to = ranges_[from];
      to = std::max(to, from + segment.length());
    }
  }

  /// Where the first octet is missing.
  std::optional<std::uint32_t> end() const {
    if (!begin_) {
      return std::nullopt;
    }
    std::uint32_t reached = 0;
    for (const auto& [from, to] : ranges_) {
      if (from > reached) {
        break;
      }
      reached = std::max(reached, to);
    }
    return *begin_ + reached;
  }

 private:
  std::optional<std::uint32_t> begin_;
  std::map<std::uint32_t, std::uint32_t> ranges_;
};

bool acknowledges_beyond(const tools::Segment& segment, const Coverage& of) {
  auto const end = of.end();
  return end && segment.any(flag::ack) && !segment.any(flag::rst) &&
         before(*end, segment.acknowledgment);
}

/// What the capture lacks, where a side acknowledges what nobody is seen to send.
std::string capture_loss(const Script& script) {
  Coverage ours;
  Coverage theirs;
  for (const Sent& sent : script.sent) {
    ours.add(sent.segment);
  }
  for (const Step& step : script.steps) {
    if (step.kind == Step::Kind::segment) {
      theirs.add(step.segment);
    }
  }
  for (const Sent& sent : script.sent) {
    if (acknowledges_beyond(sent.segment, theirs)) {
      return fmt::format(
          "the capture lost packets of the peer: packet {} acknowledges what it "
          "does not hold",
          sent.segment.number);
    }
  }
  for (const Step& step : script.steps) {
    if (step.kind == Step::Kind::segment && acknowledges_beyond(step.segment, ours)) {
      return fmt::format(
          "the capture lost packets of the device: packet {} acknowledges what it "
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
      verdict.reason = capture_loss(script_);
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
    settle(cross.rules, verdict);
    return verdict;
  }

 private:
  void audit(const Trace& trace, bool is_captured) {
    for (auto check : {audit_acks, audit_retransmissions, audit_data}) {
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
