// Compares resets, SYNs and FINs: each must have a counterpart on the other side.
#include <algorithm>

#include "conformance/replay/cross.hpp"
#include "conformance/replay/options.hpp"
#include "sim/checkers/referee/hop_limits.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

class Control {
 public:
  Control(const AuditInput& input, const Trace& captured, const Trace& live, CrossResult& out)
      : in_(input),
        captured_(captured),
        live_(live),
        attribution_(input.script, input.run, input.config),
        out_(out) {
    for (const Step& step : input.script.steps) {
      if (step.kind == Step::Kind::segment && step.segment.any(flag::ack)) {
        acknowledged_.insert(step.segment.acknowledgment);
      }
    }
  }

  void run() {
    match(flag::rst);
    match(flag::syn);
    fins();
  }

 private:
  static bool same(const Segment& a, const Segment& b) {
    // A reset may or may not carry an ACK; only its sequence number counts.
    bool const reset = a.any(flag::rst) && b.any(flag::rst);
    bool const both_ack = a.any(flag::ack) && b.any(flag::ack);
    bool const acks = reset ? !both_ack || a.acknowledgment == b.acknowledgment
                            : a.any(flag::ack) == b.any(flag::ack) &&
                                  (!both_ack || a.acknowledgment == b.acknowledgment);
    return ((a.flags ^ b.flags) & (flag::syn | flag::rst)) == 0 && a.sequence == b.sequence && acks;
  }

  /// Each distinct segment with `bit` set must have a counterpart on the other side.
  void match(std::uint8_t bit) {
    std::vector<bool> used(live_.size(), false);
    for (const Item& item : captured_) {
      if (!item.segment.any(bit)) {
        continue;
      }
      auto const like = find_like(item, used);
      if (like) {
        used[*like] = bit == flag::rst;
        matched_.insert(*like);
        if (bit == flag::syn) {
          setup(item, live_[*like]);
        }
      } else {
        unmatched_captured(item);
      }
    }
    for (std::size_t i = 0; i < live_.size(); ++i) {
      bool const counts = live_[i].segment.any(bit) && live_[i].at <= in_.script.end;
      if (counts && !matched_.contains(i) && !find_captured(live_[i], bit)) {
        unmatched_live(live_[i]);
      }
    }
  }

  /// Compares the Fast Open and ECN requests of both SYNs. A retransmitted SYN requests neither
  /// (RFC 7413, 4.2; RFC 3168, 6.1.1.1).
  void setup(const Item& item, const Item& live) {
    if (in_.script.inferred || sent_before(item)) {
      return;
    }
    bool const cookie = cookie_of(item.segment).has_value();
    if (cookie != cookie_of(live.segment).has_value()) {
      differs(item, live, cookie ? "7413:TFO-4" : "7413:TFO-2",
              "one SYN has the option of Fast Open");
    }
    std::uint8_t constexpr bits = flag::ece | flag::cwr;
    if (((item.segment.flags ^ live.segment.flags) & bits) == 0) {
      return;
    }
    bool const answer = item.segment.any(flag::ack);
    bool const asked = in_.script.marked || in_.script.refuses_ecn;
    std::string_view const too_much = asked ? "3168:ECN-23" : "3168:ECN-2";
    bool const more = answer && item.segment.any(flag::ece) && !live.segment.any(flag::ece);
    differs(item, live, more ? too_much : "3168:ECN-1", "the SYN says something else of ECN");
  }

  void differs(const Item& item, const Item& live, std::string_view clause, const char* text) {
    out_.breaches.push_back({{item.at, {clause}, text, std::nullopt, false},
                             Divergence::Kind::differs,
                             item.index,
                             live.index});
  }

  std::optional<std::size_t> find_like(const Item& item, const std::vector<bool>& used) const {
    for (std::size_t i = 0; i < live_.size(); ++i) {
      if (!used[i] && same(item.segment, live_[i].segment)) {
        return i;
      }
    }
    return std::nullopt;
  }

  /// The number of SYN retransmissions may differ; resets are counted one by one.
  bool find_captured(const Item& item, std::uint8_t bit) const {
    return bit == flag::syn &&
           std::any_of(captured_.begin(), captured_.end(), [&](const Item& other) {
             return other.segment.any(bit) && same(other.segment, item.segment);
           });
  }

  const Item* answered_together(const Trace& trace, const Item& item) const {
    for (const Item& other : trace) {
      if (other.steps_before == item.steps_before && other.steps_before != 0) {
        return &other;
      }
    }
    return nullptr;
  }

  void unmatched_captured(const Item& item) {
    const Sent& sent = in_.script.sent[item.index];
    const Item* other = answered_together(live_, item);
    bool const again = item.segment.any(flag::syn) && sent_before(item);
    if (again) {
      return;  // a retransmission: not judged here
    }
    if (other != nullptr && other->segment.any(flag::rst) && has_no_connection(item)) {
      out_.rules.insert(Rule::closing_reset);
      return;
    }
    Clauses clauses = other != nullptr
                          ? attribution_.of_difference(sent, in_.run.sent[other->index])
                          : attribution_.of_missing(sent);
    CrossBreach breach{
        {item.at, std::move(clauses), "the core did not send this", std::nullopt, false},
        Divergence::Kind::missing,
        item.index,
        std::nullopt};
    if (other != nullptr) {
      breach.live = other->index;
      breach.kind = Divergence::Kind::differs;
      breach.breach.text = "the core answered otherwise";
      // A reset that answers an ACK takes its number from that ACK, so the only choice is which ACK
      // it answers.
      const Segment& live = in_.run.sent[other->index].segment;
      breach.breach.sure = item.segment.any(flag::rst) && !item.segment.any(flag::ack) &&
                           live.any(flag::rst) && !live.any(flag::ack) &&
                           item.segment.sequence != other->segment.sequence &&
                           !acknowledged_.contains(item.segment.sequence) && is_drawn(item) &&
                           is_of_this(item.segment.sequence) && is_from_device(item);
    }
    out_.breaches.push_back(std::move(breach));
  }

  /// Whether the last step before it triggered the segment. If not, its cause is missing from the
  /// capture.
  bool is_drawn(const Item& item) const {
    for (std::size_t i = std::min(item.steps_before, in_.script.steps.size()); i > 0; --i) {
      const Step& step = in_.script.steps[i - 1];
      if (step.kind == Step::Kind::segment) {
        return item.at.since(step.at) <= Duration::milliseconds(1);
      }
    }
    return false;
  }

  /// Whether the device itself sent the reset. One that a middlebox sends in its name may have
  /// another hop limit; and a device answers a segment with one reset, not with several guesses.
  bool is_from_device(const Item& item) const {
    sim::referee::HopLimits limits;
    bool alone = true;
    for (const Item& other : captured_) {
      if (!other.segment.any(flag::rst)) {
        limits.take(passed(other.segment));
      } else {
        alone &= other.steps_before != item.steps_before ||
                 other.segment.sequence == item.segment.sequence;
      }
    }
    return alone && limits.all_are(item.segment.hop_limit);
  }

  /// Whether the number is one that the device has sent, or slightly higher, but not the end of a
  /// segment, also of one into which a NIC splits what was recorded. The ACK that the reset answers
  /// may be missing, and may belong to the earlier connection.
  bool is_of_this(std::uint32_t number) const {
    constexpr std::uint32_t near = 1 << 16;
    bool within = false;
    bool ends = false;
    for (const Item& item : captured_) {
      const Segment& segment = item.segment;
      if (!segment.any(flag::rst)) {
        within |= number - segment.sequence < segment.length() + near;
        bool const split = segment.data_bytes() > in_.script.peer_mss.count &&
                           number - segment.sequence < segment.length();
        ends |= split || (segment.length() != 0 && segment.end() == number);
      }
    }
    return within && !ends;
  }

  /// Whether the reset has the acknowledged number and no ACK: a host without the connection
  /// replies so (RFC 9293, 3.5.2). The capture does not show when the connection was lost.
  bool has_no_connection(const Item& item) const {
    if (!in_.script.inferred || item.steps_before == 0 || !item.segment.any(flag::rst) ||
        item.segment.any(flag::ack)) {
      return false;
    }
    auto const end = in_.script.steps.begin() + static_cast<std::ptrdiff_t>(item.steps_before);
    auto const cause =
        std::find_if(std::make_reverse_iterator(end), in_.script.steps.rend(),
                     [](const Step& step) { return step.kind == Step::Kind::segment; });
    return cause != in_.script.steps.rend() && cause->segment.any(flag::ack) &&
           cause->segment.acknowledgment == item.segment.sequence;
  }

  bool sent_before(const Item& item) const {
    return std::any_of(captured_.begin(), captured_.end(), [&](const Item& other) {
      return other.index < item.index && other.segment.any(flag::syn) &&
             other.segment.sequence == item.segment.sequence;
    });
  }

  void unmatched_live(const Item& item) {
    const LiveSent& sent = in_.run.sent[item.index];
    if (item.segment.any(flag::syn) && sent.by_timer) {
      return;  // retransmissions are judged elsewhere
    }
    if (in_.script.inferred && item.segment.any(flag::rst) && over_before(item.at)) {
      out_.rules.insert(Rule::closing_reset);
      return;
    }
    out_.breaches.push_back({{item.at, attribution_.of_unexpected(sent),
                              "the capture does not have this", std::nullopt, false},
                             Divergence::Kind::unexpected,
                             std::nullopt,
                             item.index});
  }

  /// Whether the connection was over: a reset by either side, or a FIN from both.
  bool over_before(Instant at) const {
    bool ours = false;
    bool theirs = false;
    for (const Item& item : captured_) {
      ours |= item.at <= at && item.segment.any(flag::fin | flag::rst);
    }
    for (const Step& step : in_.script.steps) {
      bool const counts = step.kind == Step::Kind::segment && step.at <= at;
      theirs |= counts && step.segment.any(flag::fin | flag::rst);
    }
    return ours && theirs;
  }

  const Item* first_fin(const Trace& trace) const {
    auto const found = std::find_if(trace.begin(), trace.end(), [](const Item& item) {
      return item.segment.any(flag::fin) && !item.segment.any(flag::rst | flag::syn);
    });
    return found == trace.end() ? nullptr : &*found;
  }

  void fins() {
    const Item* captured = first_fin(captured_);
    const Item* live = first_fin(live_);
    if (captured == nullptr && live != nullptr && live->at <= in_.script.end) {
      const LiveSent& sent = in_.run.sent[live->index];
      bool const second =
          sent.view.state == tcp::State::last_ack || sent.view.state == tcp::State::close_wait;
      Clauses clauses{second ? "9293:P-CLOSE-CLOSEWAIT" : "9293:P-CLOSE-QUEUED"};
      out_.breaches.push_back(
          {{live->at, std::move(clauses), "the capture has no FIN", std::nullopt, false},
           Divergence::Kind::unexpected,
           std::nullopt,
           live->index});
    } else if (captured != nullptr && live == nullptr && !reset_before(captured->at)) {
      const Sent& sent = in_.script.sent[captured->index];
      out_.breaches.push_back({{captured->at, attribution_.of_missing(sent), "the core sent no FIN",
                                std::nullopt, false},
                               Divergence::Kind::missing,
                               captured->index,
                               std::nullopt});
    }
  }

  bool reset_before(Instant at) const {
    return std::any_of(live_.begin(), live_.end(), [&](const Item& item) {
      return item.at <= at && item.segment.any(flag::rst);
    });
  }

  const AuditInput& in_;
  const Trace& captured_;
  const Trace& live_;
  Attribution attribution_;
  CrossResult& out_;
  std::set<std::size_t> matched_;
  std::set<std::uint32_t> acknowledged_;  ///< all acknowledgment numbers of the peer
};

}  // namespace

void cross_control(const AuditInput& input, const Trace& captured, const Trace& live,
                   CrossResult& out) {
  Control(input, captured, live, out).run();
}

}  // namespace lockstep::conformance
