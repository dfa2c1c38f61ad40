// Checks data that is sent for the first time: in order, consistent, and within the peer's window.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "conformance/replay/audit.hpp"
#include "conformance/replay/circle.hpp"
#include "conformance/replay/options.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

class DataAudit {
 public:
  DataAudit(const AuditInput& input, const Trace& trace) : in_(input), trace_(trace) {
    for (const Item& item : trace) {
      reach_ += item.segment.payload.size();
      edited_ |= item.segment.sum == tools::SumState::bad ||
                 item.segment.sum == tools::SumState::unverifiable;
    }
  }

  std::vector<Breach> run() {
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      const Item& item = trace_[i];
      take_steps(item.steps_before);
      take_part_acks(item.steps_before);
      if (item.segment.any(flag::rst)) {
        continue;
      }
      if (item.segment.any(flag::syn)) {
        syn(i);
      } else if (opened_) {
        text(i);
        fin(i);
      }
    }
    return std::move(breaches_);
  }

 private:
  void breach(std::size_t item, Clauses clauses, std::string text, bool sure = false) {
    breaches_.push_back({trace_[item].at, std::move(clauses), std::move(text), item, sure});
  }

  void take_steps(std::size_t end) {
    for (; steps_ < std::min(end, in_.script.steps.size()); ++steps_) {
      const Step& step = in_.script.steps[steps_];
      if (step.kind == Step::Kind::segment && !step.segment.any(flag::rst)) {
        peer_next_ = !peer_known_ || before(peer_next_, step.segment.end()) ? step.segment.end()
                                                                            : peer_next_;
        peer_known_ = true;
      }
      if (step.kind != Step::Kind::segment || !step.segment.has(flag::ack) ||
          step.segment.any(flag::rst)) {
        continue;
      }
      std::uint32_t const edge = step.segment.acknowledgment + window_of(step);
      last_edge_ = edge;
      closed_ = step.segment.window == 0;
      edge_ = !edge_known_ || before(edge_, edge) ? edge : edge_;
      edge_known_ = true;
    }
  }

  /// Applies the ACKs that the core received in addition to the capture's segments.
  void take_part_acks(std::size_t steps) {
    auto const& all = in_.run.part_acks;
    for (; !in_.of_capture && parts_ < all.size() && all[parts_].steps <= steps; ++parts_) {
      edge_ = edge_known_ && before(edge_, all[parts_].edge) ? all[parts_].edge : edge_;
    }
  }

  /// The offered window: for the device with the capture's scale, for the core with the core's own
  /// scale or none.
  std::uint32_t window_of(const Step& step) const {
    return static_cast<std::uint32_t>(in_.of_capture ? step.window_bytes : step.played_window);
  }

  void syn(std::size_t index) {
    const Item& item = trace_[index];
    bool const same = opened_ && item.segment.sequence == isn_;
    bool const again = opened_ && !same && next_ == isn_ + 1 && steps_ == syn_steps_;
    if (again) {
      breach(index, {"9293:P-RTO"}, "the SYN was retransmitted with another sequence number");
      return;
    }
    if (!same) {
      opened_ = true;
      isn_ = item.segment.sequence;
      next_ = isn_ + 1 + item.segment.data_bytes();
      octets_.clear();
      fin_.reset();
      edge_known_ = false;
      edge_ = last_edge_ = 0;
    }
    syn_steps_ = steps_;
    if (item.segment.any(flag::ack)) {
      // The peer's SYN carries its window; its ACK of our SYN has not arrived yet.
      for (std::size_t i = steps_; i > 0 && !edge_known_; --i) {
        const Step& step = in_.script.steps[i - 1];
        if (step.kind == Step::Kind::segment && step.segment.any(flag::syn)) {
          edge_ = last_edge_ = isn_ + 1 + window_of(step);
          edge_known_ = true;
        }
      }
    }
  }

  void text(std::size_t index) {
    const Item& item = trace_[index];
    std::uint32_t const begin = item.segment.sequence;
    std::uint32_t const size = item.segment.data_bytes();
    if (size == 0 || before(begin + size, isn_ + 1)) {
      return;
    }
    bool const foreign = in_.script.unaided && edited_;
    if (!foreign && conflicts(item.segment)) {
      breach(index, {"9293:P-SEND-EST"}, "other octets than before with the same sequence numbers",
             true);
      return;
    }
    if (fin_ && before(*fin_, begin + size) && !is_keep_alive(item.segment, *fin_)) {
      breach(index, {"9293:P-CLOSE-QUEUED"}, "octets after the FIN",
             own_fin_ && is_of_this(item.segment));
    }
    if (before(next_, begin) && !hole_) {
      hole_ = index;
      hole_begin_ = next_;
    }
    fills(index, begin, begin + size);
    bool const fresh = before(next_, begin + size);
    // At least one octet probes a closed window (RFC 9293 3.8.6.1); uIP sends a whole segment.
    bool const probe = (size == 1 || closed_) && edge_known_ && begin == last_edge_;
    if (fresh && edge_known_ && before(edge_, begin + size) && !probe && !offered_soon(item)) {
      // A capture may lack one ACK that offered more.
      std::size_t const seen = peer_segments_before(item);
      beyond_ += beyond_ == 0 || beyond_seen_ != seen ? 1u : 0u;
      beyond_seen_ = seen;
      breach(index, {"9293:P-WND-FIT", "5681:CC-1"}, "beyond the window that the peer offered",
             beyond_ > 1 && !in_.script.multipath && offers_less_later(item) &&
                 in_.script.distance <= Duration::milliseconds(1));
    }
    next_ = fresh ? begin + size : next_;
  }

  std::size_t peer_segments_before(const Item& item) const {
    auto const begin = in_.script.steps.begin();
    auto const count = std::min(item.steps_before, in_.script.steps.size());
    return static_cast<std::size_t>(
        std::count_if(begin, begin + static_cast<std::ptrdiff_t>(count),
                      [](const Step& step) { return step.kind == Step::Kind::segment; }));
  }

  /// Whether the peer still offers less after everything that may be recorded late has arrived.
  /// Since right edges do not move left, no ACK that the capture lacks offered more. An ACK that is
  /// older than what the data echoes shows nothing.
  bool offers_less_later(const Item& item) const {
    constexpr Duration recorded_late = Duration::milliseconds(20);
    for (std::size_t i = steps_; i < in_.script.steps.size(); ++i) {
      const Step& step = in_.script.steps[i];
      if (step.kind != Step::Kind::segment || !step.segment.has(flag::ack) ||
          step.segment.any(flag::rst | flag::syn) || is_older(step.segment, item.segment)) {
        continue;
      }
      std::uint32_t const offer = step.segment.acknowledgment + window_of(step);
      if (!before(offer, item.segment.end())) {
        return false;
      }
      // A host that has closed its window for want of memory may have offered more before.
      if (step.segment.window == 0 && before(offer, edge_)) {
        continue;
      }
      if (step.at > item.at + recorded_late) {
        return true;
      }
    }
    return false;
  }

  /// Whether the peer's segment was sent before the one that `echo` echoes.
  static bool is_older(const Segment& segment, const Segment& echo) {
    auto const sent = stamps_of(segment);
    auto const received = stamps_of(echo);
    return sent && received && !before(received->echo, sent->value);
  }

  /// The ACK that opens the window may be recorded a moment after the segment that it released.
  bool offered_soon(const Item& item) const {
    constexpr Duration moment = Duration::microseconds(200);
    for (std::size_t i = steps_; in_.script.unaided && i < in_.script.steps.size(); ++i) {
      const Step& step = in_.script.steps[i];
      if (step.at > item.at + moment) {
        return false;
      }
      bool const acks = step.kind == Step::Kind::segment && step.segment.has(flag::ack);
      if (acks && !before(step.segment.acknowledgment + window_of(step), item.segment.end())) {
        return true;
      }
    }
    return false;
  }

  /// If a later first transmission fills the gap, the capture did not lose that segment.
  void fills(std::size_t index, std::uint32_t begin, std::uint32_t end) {
    if (hole_ && *hole_ != index && at_or_before(begin, hole_begin_) && before(hole_begin_, end)) {
      breach(*hole_, {"9293:P-SEND-EST"}, "new octets out of their order");
      hole_.reset();
    }
  }

  /// Whether the segment acknowledges numbers that the peer sent in this connection. Otherwise the
  /// ports may have been reused and the capture lacks the SYNs.
  bool is_of_this(const Segment& segment) const {
    return peer_known_ && segment.any(flag::ack) &&
           at_or_before(segment.acknowledgment, peer_next_);
  }

  bool conflicts(const Segment& segment) {
    bool conflict = false;
    for (std::uint32_t i = 0; i < segment.payload.size(); ++i) {
      std::uint32_t const at = segment.sequence + i - isn_ - 1;
      if (at >= reach_) {
        continue;  // beyond the longest possible stream of this capture
      }
      if (octets_.size() <= at) {
        octets_.resize(at + 1, unknown);
      }
      auto const octet = std::to_integer<std::uint16_t>(segment.payload[i]);
      bool const is_probe = segment.payload.size() == 1;
      conflict |= octets_[at] != unknown && octets_[at] != octet && !is_probe;
      octets_[at] = octets_[at] == unknown ? octet : octets_[at];
    }
    return conflict;
  }

  /// A keep-alive has sequence number SND.NXT - 1, which is the FIN's, and may carry one octet (RFC
  /// 9293, 3.8.4).
  static bool is_keep_alive(const Segment& segment, std::uint32_t fin) {
    return segment.data_bytes() == 1 && segment.sequence == fin;
  }

  /// Whether a later segment carries octets at or after the FIN's number.
  bool comes_after(std::size_t index, std::uint32_t at) const {
    for (std::size_t i = index + 1; i < trace_.size(); ++i) {
      const Segment& later = trace_[i].segment;
      if (!later.any(flag::syn | flag::rst) && later.data_bytes() != 0 &&
          before(at, later.sequence + later.data_bytes()) && !is_keep_alive(later, at)) {
        return true;
      }
    }
    return false;
  }

  void fin(std::size_t index) {
    const Item& item = trace_[index];
    if (!item.segment.any(flag::fin) || item.segment.sum == tools::SumState::bad) {
      return;  // the flags of a damaged segment are unknown
    }
    std::uint32_t const at = item.segment.end() - 1;
    if (!before(isn_, at)) {
      return;  // the previous connection's
    }
    bool const own = is_of_this(item.segment);
    if (fin_ && *fin_ != at) {
      breach(index, {"9293:P-CLOSE-QUEUED"}, "the FIN moved", own && own_fin_);
    } else if (before(at, next_)) {
      breach(index, {"9293:P-CLOSE-QUEUED"}, "the FIN is before the end of the data");
    }
    bool const more = !fin_ && comes_after(index, at);
    if (more) {
      breach(index, {"9293:P-CLOSE-QUEUED"}, "the FIN came before data");
    }
    fin_ = at;
    own_fin_ = own;
  }

  static constexpr std::uint16_t unknown = 0xffff;
  const AuditInput& in_;
  const Trace& trace_;
  std::vector<Breach> breaches_;
  std::vector<std::uint16_t> octets_;
  std::size_t reach_ = 0;  ///< limit for the size of octets_
  bool edited_ = false;    ///< some checksums are wrong: the payloads may have been modified
  bool opened_ = false, edge_known_ = false;
  bool closed_ = false;  ///< the last ACK offered no window
  std::uint32_t isn_ = 0, next_ = 0, edge_ = 0, last_edge_ = 0, hole_begin_ = 0;
  std::optional<std::uint32_t> fin_;
  bool own_fin_ = false;  ///< the FIN acknowledges numbers of this connection
  std::optional<std::size_t> hole_;
  std::uint32_t peer_next_ = 0;  ///< the peer's SND.NXT as seen in its segments
  bool peer_known_ = false;
  std::size_t steps_ = 0, syn_steps_ = 0, parts_ = 0;
  std::size_t beyond_ = 0;       ///< how often the window was exceeded ...
  std::size_t beyond_seen_ = 0;  ///< ... and after how many of the peer's segments the last time
};

}  // namespace

std::vector<Breach> audit_data(const AuditInput& input, const Trace& trace) {
  return DataAudit(input, trace).run();
}

}  // namespace lockstep::conformance
