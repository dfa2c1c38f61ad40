// F-RTO (RFC 5682): after a timeout, new data shows whether the timeout was spurious.
#include <algorithm>

#include "conformance/replay/audit.hpp"
#include "conformance/replay/circle.hpp"
#include "conformance/replay/options.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

/// The shortest RTO of deployed stacks (200 ms), less clock rounding.
constexpr Duration least_timer = Duration::milliseconds(190);

/// The steps of RFC 5682, 3.1; each covers the first timeout of a window.
enum class Stage : std::uint8_t {
  idle,
  resent,    ///< the first segment was retransmitted; its ACK is pending
  tested,    ///< that ACK left data below the recovery point unacknowledged: new data is due
  spurious,  ///< a second ACK covered original transmissions: nothing else is retransmitted
};

class SpuriousAudit {
 public:
  SpuriousAudit(const AuditInput& input, const Trace& trace) : in_(input), trace_(trace) {}

  std::vector<Breach> run() {
    if (in_.script.inferred || !in_.script.selective || !in_.config.tcp.frto) {
      return {};
    }
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      take_steps(trace_[i].steps_before);
      const Segment& segment = trace_[i].segment;
      if (segment.any(flag::rst)) {
        continue;
      }
      if (segment.any(flag::syn)) {
        first_ = high_ = segment.end();
        una_ = recover_ = segment.sequence;
      } else if (segment.data_bytes() != 0) {
        text(i);
      }
      high_ = before(high_, segment.end()) ? segment.end() : high_;
    }
    return std::move(breaches_);
  }

 private:
  void take_steps(std::size_t end) {
    for (; steps_ < std::min(end, in_.script.steps.size()); ++steps_) {
      const Step& step = in_.script.steps[steps_];
      bool const writes =
          step.kind == Step::Kind::call && (step.act == Act::write || step.act == Act::urgent);
      written_ += writes ? step.bytes : 0;
      if (step.kind == Step::Kind::segment && step.segment.has(flag::ack) &&
          !step.segment.any(flag::rst | flag::syn)) {
        acknowledgment(step);
      }
    }
  }

  void acknowledgment(const Step& step) {
    std::uint32_t const ack = step.segment.acknowledgment;
    edge_ =
        ack + static_cast<std::uint32_t>(in_.of_capture ? step.window_bytes : step.played_window);
    auto const blocks = blocks_of(step.segment);
    bool const sacks = !blocks.empty() && !reports_duplicate(ack, blocks);
    if (!before(una_, ack)) {
      lost_ = lost_ || sacks;
      stage_ = sacks ? Stage::idle : stage_;
      return;
    }
    una_ = ack;
    una_at_ = step.at;
    lost_ = sacks;
    bool const over = sacks || !before(ack, recover_);
    if (over) {
      stage_ = Stage::idle;
    } else if (stage_ == Stage::resent) {
      stage_ = at_or_before(resent_end_, ack) ? Stage::tested : Stage::idle;
    } else if (stage_ == Stage::tested) {
      stage_ = Stage::spurious;
    }
  }

  /// Whether there is data that was never sent and window for it.
  bool has_new_text() const { return before(high_, first_ + written_) && before(high_, edge_); }

  void text(std::size_t index) {
    const Item& item = trace_[index];
    const Segment& segment = item.segment;
    bool const again = before(segment.sequence, high_);
    if (!again) {
      stage_ = stage_ == Stage::tested && !has_new_text() ? Stage::idle : stage_;
      return;
    }
    bool const first_hole = at_or_before(segment.sequence, una_) && before(una_, segment.end());
    Instant const since = later(una_at_, last_sent(index));
    if (first_hole && item.at.since(since) >= least_timer) {
      bool const anew = stage_ == Stage::idle && !lost_ && at_or_before(recover_, una_);
      stage_ = anew ? Stage::resent : Stage::idle;
      recover_ = high_;
      resent_end_ = segment.end();
    } else if (stage_ == Stage::tested) {
      if (has_new_text()) {
        breach(index, "5682:FRTO-4",
               "retransmitted where new data must be sent to detect a spurious timeout");
      }
      stage_ = Stage::idle;
    } else if (stage_ == Stage::spurious && before(segment.sequence, recover_)) {
      breach(index, "5682:FRTO-13", "retransmitted after the timeout had proved spurious");
    }
  }

  void breach(std::size_t index, std::string_view clause, const char* text) {
    breaches_.push_back({trace_[index].at, {clause}, text, index, false});
    stage_ = Stage::idle;
  }

  Instant last_sent(std::size_t index) const {
    Instant at;
    for (std::size_t i = 0; i < index; ++i) {
      const Segment& segment = trace_[i].segment;
      bool const covers = at_or_before(segment.sequence, una_) && before(una_, segment.end());
      at = covers ? trace_[i].at : at;
    }
    return at;
  }

  const AuditInput& in_;
  const Trace& trace_;
  std::vector<Breach> breaches_;
  Stage stage_ = Stage::idle;
  std::size_t steps_ = 0;
  std::uint32_t first_ = 0, una_ = 0, high_ = 0, edge_ = 0, written_ = 0;
  std::uint32_t recover_ = 0, resent_end_ = 0;
  Instant una_at_;
  bool lost_ = false;  ///< SACK reports a gap
};

}  // namespace

std::vector<Breach> audit_spurious(const AuditInput& input, const Trace& trace) {
  return SpuriousAudit(input, trace).run();
}

}  // namespace lockstep::conformance
