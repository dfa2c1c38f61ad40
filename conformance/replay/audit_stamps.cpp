// Timestamps (RFC 7323): on every segment once negotiated, each with the required TSecr.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "conformance/replay/audit.hpp"
#include "conformance/replay/circle.hpp"
#include "conformance/replay/options.hpp"

namespace lockstep::conformance {
namespace {

namespace flag = tools::tcp_flag;

class StampAudit {
 public:
  StampAudit(const AuditInput& input, const Trace& trace) : in_(input), trace_(trace) {}

  std::vector<Breach> run() {
    if (in_.script.inferred || !in_.script.stamped) {
      return {};
    }
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      const Item& item = trace_[i];
      take_steps(item.steps_before);
      if (item.segment.any(flag::rst) || !item.segment.any(flag::ack)) {
        continue;
      }
      auto const stamps = stamps_of(item.segment);
      if (!stamps) {
        breach(i, "7323:TS-9", "no timestamp although both sides agreed on them");
      } else if (copy_ && stamps->echo == *copy_) {
        recent_ = copy_;
      } else if (recent_ && stamps->echo != *recent_ && !overtaken(item, *stamps)) {
        breach(i, "7323:TS-15",
               fmt::format("echoes timestamp {} instead of {}", stamps->echo, *recent_));
      }
      acknowledged_ = item.segment.acknowledgment;
      known_ = true;
    }
    return std::move(breaches_);
  }

 private:
  void breach(std::size_t item, std::string_view clause, std::string text) {
    breaches_.push_back({trace_[item].at, {clause}, std::move(text), item, false});
  }

  /// Whether the segment was already under way when the step that changed TS.Recent arrived.
  bool overtaken(const Item& item, const Stamps& stamps) const {
    return in_.of_capture && before_ && stamps.echo == *before_ &&
           item.at.since(changed_at_) <= Duration::milliseconds(1);
  }

  /// Updates TS.Recent from segments that begin at or before Last.ACK.sent (4.3) and pass the
  /// timestamp and window tests (5.3).
  void take_steps(std::size_t end) {
    for (; steps_ < std::min(end, in_.script.steps.size()); ++steps_) {
      const Step& step = in_.script.steps[steps_];
      if (step.kind != Step::Kind::segment || step.segment.any(flag::rst)) {
        continue;
      }
      auto const stamps = stamps_of(step.segment);
      if (!stamps) {
        continue;
      }
      const tools::Segment& segment = step.segment;
      note_copy(segment, *stamps);
      if (in_.reception.after[steps_].refused) {
        continue;
      }
      bool const begins = segment.any(flag::syn) && (!known_ || !has_begun(segment));
      bool const within = known_ && at_or_before(segment.sequence, acknowledged_) &&
                          !before(segment.end(), acknowledged_) &&
                          (segment.length() == 0 || segment.end() != acknowledged_);
      bool const later = !recent_ || !before(stamps->value, *recent_);
      if (begins || (within && later)) {
        bool const changes = recent_ && *recent_ != stamps->value;
        before_ = changes ? recent_ : before_;
        changed_at_ = changes ? step.at : changed_at_;
        recent_ = stamps->value;
        copy_.reset();
        isn_ = begins ? segment.sequence : isn_;
      }
    }
  }

  /// A segment that ends at Last.ACK.sent has arrived before. By 4.3 and appendix D its timestamp
  /// is recorded, by the order of R2 and R3 in 5.3 it is not: either may be echoed.
  void note_copy(const tools::Segment& segment, const Stamps& stamps) {
    bool const copy = known_ && segment.length() != 0 && segment.end() == acknowledged_;
    if (copy && !segment.any(flag::syn) && (!recent_ || !before(stamps.value, *recent_))) {
      copy_ = stamps.value;
    }
  }

  bool has_begun(const tools::Segment& syn) const { return isn_ == syn.sequence; }

  const AuditInput& in_;
  const Trace& trace_;
  std::vector<Breach> breaches_;
  std::optional<std::uint32_t> recent_, before_, isn_;
  std::optional<std::uint32_t> copy_;  // may have replaced `recent_`
  Instant changed_at_;
  std::uint32_t acknowledged_ = 0;
  std::size_t steps_ = 0;
  bool known_ = false;
};

}  // namespace

std::vector<Breach> audit_stamps(const AuditInput& input, const Trace& trace) {
  return StampAudit(input, trace).run();
}

}  // namespace lockstep::conformance
