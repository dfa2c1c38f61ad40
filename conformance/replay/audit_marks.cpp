// ECN (RFC 3168): checks which packets are ECN-capable, the echo of marks, and the response (CWR).
#include <algorithm>

#include "conformance/replay/audit.hpp"
#include "conformance/replay/circle.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

std::uint8_t ecn_of(const Segment& segment) {
  return static_cast<std::uint8_t>(segment.traffic_class & 3u);
}
constexpr std::uint8_t experienced = 3;

class MarkAudit {
 public:
  MarkAudit(const AuditInput& input, const Trace& trace) : in_(input), trace_(trace) {}

  std::vector<Breach> run() {
    if (in_.script.inferred) {
      return {};
    }
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      const Item& item = trace_[i];
      take_steps(item.steps_before);
      if (item.segment.any(flag::rst)) {
        continue;
      }
      if (item.segment.any(flag::syn)) {
        syn(i);
      } else {
        capable(i);
      }
      if (in_.script.marked && !item.segment.any(flag::syn)) {
        echo(i);
        heeded(i);
      }
      high_ = !opened_ || before(high_, item.segment.end()) ? item.segment.end() : high_;
      opened_ = true;
    }
    return std::move(breaches_);
  }

 private:
  void breach(std::size_t item, std::string_view clause, const char* text) {
    breaches_.push_back({trace_[item].at, {clause}, text, item, false});
  }

  void take_steps(std::size_t end) {
    for (; steps_ < std::min(end, in_.script.steps.size()); ++steps_) {
      const Step& step = in_.script.steps[steps_];
      if (step.kind != Step::Kind::segment || step.segment.any(flag::syn | flag::rst)) {
        continue;
      }
      echoes_ = echoes_ && !step.segment.any(flag::cwr);
      bool const marked = ecn_of(step.segment) == experienced && step.segment.data_bytes() != 0;
      echoes_ |= marked;
      marked_end_ = marked ? step.segment.end() : marked_end_;
      marked_since_ack_ |= marked;
      ece_arrived_ |= step.segment.any(flag::ece);
    }
  }

  /// The ECN bits of a SYN are compared with the other side's SYN in cross_control.
  void syn(std::size_t item) {
    if (ecn_of(trace_[item].segment) != 0) {
      breach(item, "3168:ECN-4", "a SYN is marked as ECN-capable");
    }
  }

  void capable(std::size_t item) {
    const Segment& segment = trace_[item].segment;
    if (ecn_of(segment) == 0) {
      return;
    }
    bool const again = segment.data_bytes() != 0 && opened_ && before(segment.sequence, high_);
    if (!in_.script.marked) {
      breach(item, "3168:ECN-3", "ECN-capable though both sides did not agree on ECN");
    } else if (segment.data_bytes() == 0) {
      breach(item, "3168:ECN-11", "a pure ACK is marked as ECN-capable");
    } else if (again) {
      breach(item, "3168:ECN-12", "a retransmission is marked as ECN-capable");
    }
  }

  void echo(std::size_t item) {
    const Segment& segment = trace_[item].segment;
    if (!segment.any(flag::ack)) {
      return;
    }
    bool const says = segment.any(flag::ece);
    // A segment that acknowledges less than the marked data may have been sent before the mark
    // arrived.
    if (echoes_ && !says && !before(segment.acknowledgment, marked_end_)) {
      breach(item, "3168:ECN-10", "does not echo a mark that the peer has not answered yet");
    } else if (says && !echoes_ && !marked_since_ack_) {
      breach(item, "3168:ECN-28", "echoes a mark that the peer has answered");
    }
    marked_since_ack_ = false;
  }

  /// The first new data after the first echo of a mark must carry CWR.
  void heeded(std::size_t item) {
    const Segment& segment = trace_[item].segment;
    bool const fresh = segment.data_bytes() != 0 && !before(segment.sequence, high_);
    if (segment.data_bytes() != 0 && !fresh && segment.any(flag::cwr)) {
      breach(item, "3168:ECN-19", "a retransmission carries CWR");
    }
    if (!fresh || !ece_arrived_ || cwr_checked_) {
      return;
    }
    cwr_checked_ = true;
    if (!segment.any(flag::cwr)) {
      breach(item, "3168:ECN-21", "new data after the echo of a mark, without CWR");
    }
  }

  const AuditInput& in_;
  const Trace& trace_;
  std::vector<Breach> breaches_;
  std::size_t steps_ = 0;
  std::uint32_t high_ = 0, marked_end_ = 0;
  bool opened_ = false, echoes_ = false, marked_since_ack_ = false, ece_arrived_ = false,
       cwr_checked_ = false;
};

}  // namespace

std::vector<Breach> audit_marks(const AuditInput& input, const Trace& trace) {
  return MarkAudit(input, trace).run();
}

}  // namespace lockstep::conformance
