// Checks acknowledgments: their numbers, their delay, and immediate ACKs where the RFC requires
// them.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "conformance/replay/audit.hpp"
#include "conformance/replay/circle.hpp"
#include "conformance/replay/stamped_time.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

/// "At once" as seen in a capture: allows for the sender's scheduling.
constexpr Duration scheduling = Duration::milliseconds(50);
constexpr Duration delayed_ack_limit = Duration::milliseconds(500);

class AckAudit {
 public:
  AckAudit(const AuditInput& input, const Trace& trace)
      : prompt_(scheduling + input.script.distance),
        delayed_ack_max_(delayed_ack_limit + input.script.distance),
        in_(input),
        trace_(trace) {
    auto const left = left_after(input.script, trace);
    for (const Item& item : trace) {
      const Segment& segment = item.segment;
      clock_.take(item.at, left[next_.size()], segment);
      bool const further =
          next_.empty() || segment.any(flag::syn) || before(next_.back(), segment.end());
      next_.push_back(further && !segment.any(flag::rst) ? segment.end() : last_next());
      end_ = later(end_, item.at);
      bool const ends = item.segment.any(flag::rst);
      gone_ = ends ? earlier(gone_, item.at) : gone_;
    }
    if (!input.script.inferred) {
      end_ = Instant::never();  // a scenario's capture is complete: what it lacks was never sent
    }
    for (const Step& step : input.script.steps) {
      auto const stamps = step.kind == Step::Kind::segment ? stamps_of(step.segment) : std::nullopt;
      if (stamps) {
        peer_stamps_.insert(stamps->value);
      }
      end_ = later(end_, step.at);
      bool const ends = step.kind == Step::Kind::segment && step.segment.any(flag::rst);
      gone_ = ends ? earlier(gone_, step.at) : gone_;
    }
  }

  std::vector<Breach> run() {
    clock_.settle();
    find_replies();
    if (!in_.script.unaided) {
      numbers();  // without a scenario, packets may have been received in another order, or not at
                  // all
    }
    for (std::size_t i = 0; i < in_.script.steps.size(); ++i) {
      answer(i);
    }
    judge_steady();
    duplicates();
    return std::move(breaches_);
  }

 private:
  std::uint32_t last_next() const { return next_.empty() ? 0 : next_.back(); }

  void breach(Instant at, Clauses clauses, std::string text, std::optional<std::size_t> item) {
    breaches_.push_back({at, std::move(clauses), std::move(text), item, false});
  }

  /// Each acknowledgment number must be a value that RCV.NXT had, and none may decrease.
  void numbers() {
    std::size_t from = 0;  // the step whose RCV.NXT the last ACK carried
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      const Item& item = trace_[i];
      if (!item.segment.any(flag::ack) || item.segment.any(flag::rst) || item.steps_before == 0 ||
          item.at >= gone_) {
        continue;
      }
      std::size_t const last = std::min(item.steps_before, in_.reception.after.size());
      if (last == 0 || !in_.reception.after[last - 1].known) {
        continue;
      }
      std::optional<std::size_t> found;
      for (std::size_t step = last; step > from && !found; --step) {
        const Reception::After& after = in_.reception.after[step - 1];
        if (after.known && after.next == item.segment.acknowledgment) {
          found = step - 1;
        }
      }
      if (!found) {
        breach(item.at, clauses_of_cause(in_, item),
               fmt::format("acknowledges {}, which RCV.NXT was not", item.segment.acknowledgment),
               i);
        return;
      }
      // The same number may be sent repeatedly: go back to the step that first produced it.
      while (*found > from && in_.reception.after[*found - 1].known &&
             in_.reception.after[*found - 1].next == item.segment.acknowledgment) {
        --*found;
      }
      from = *found;
    }
  }

  /// The first segment after a step that acknowledges at least the data of that step. Calls come in
  /// the order of the steps, and RCV.NXT never decreases within a connection.
  std::optional<std::size_t> answer_to(std::size_t step) {
    std::uint32_t const next = in_.reception.after[step].next;
    if (step < asked_ || before(next, asked_next_)) {
      first_ = 0;
    }
    asked_ = step;
    asked_next_ = next;
    for (; first_ < trace_.size(); ++first_) {
      const Item& item = trace_[first_];
      bool const counts = item.steps_before > step && item.segment.any(flag::ack);
      if (counts && !before(item.segment.acknowledgment, next)) {
        return first_;
      }
    }
    return std::nullopt;
  }

  void answer(std::size_t index) {
    const Reception::After& after = in_.reception.after[index];
    const Step& step = in_.script.steps[index];
    if (!after.advanced || step.kind != Step::Kind::segment || step.segment.any(flag::syn)) {
      return;
    }
    Duration const limit = after.filled ? prompt_ : delayed_ack_max_;
    Instant const due = step.at + limit;
    auto const found = answer_to(index);
    Instant const when = found ? trace_[*found].at : Instant::never();
    bool const lone = found && is_lone(index, *found);
    if (lone && when.since(step.at) > delayed_ack_max_ / 2 &&
        trace_[*found].segment.length() == 0) {
      slow_.push_back(when.since(step.at));
    }
    if (when <= due || due > end_ || due > gone_) {
      return second_segment(index, when);
    }
    Clauses clauses = clauses_of_step(in_.script, in_.run, index, in_.config);
    bool const by_itself = found && alone(*found);
    if (!after.filled && by_itself) {
      clauses = {"9293:MUST-40"};
    }
    breach(step.at, std::move(clauses),
           fmt::format("what packet {} brought was not acknowledged in time", step.packet), found);
    bool const late = lone && in_.script.at_device && when.since(step.at) > delayed_ack_max_ &&
                      acknowledges_only(index, *found) && !clock_was_set(step.at, when, limit) &&
                      left_late(step.at, *found, limit) && !may_answer_unseen(*found);
    breaches_.back().sure = late && !is_among_slow(step.at, *found, limit);
    if (late) {
      late_.push_back(breaches_.size() - 1);
    }
  }

  /// A queue delays by different times, and so does a host that gets no processor. A timer that is
  /// too long delays the ACK of each lone segment by the same time, up to its granularity.
  void judge_steady() {
    constexpr std::size_t late_min = 5;
    constexpr Duration granularity = Duration::milliseconds(100);
    bool const prompt = std::any_of(replies_.begin(), replies_.end(),
                                    [&](const Reply& reply) { return reply.took <= prompt_; });
    if (!prompt || late_.size() < late_min) {
      return;
    }
    auto const [least, most] = std::minmax_element(slow_.begin(), slow_.end());
    for (std::size_t const breach : late_) {
      breaches_[breach].sure |= *most - *least <= granularity;
    }
  }

  /// Whether the segment was sent only to acknowledge data. A response, a keep-alive or a window
  /// update is sent anyway, and the capture may lack the ACK before it. A window update is due when
  /// the window grows by a segment (RFC 9293, 3.8.6.2.2).
  bool acknowledges_only(std::size_t step, std::size_t item) const {
    const Segment& segment = trace_[item].segment;
    bool const bare = segment.length() == 0 && item != 0 && segment.sequence == next_[item - 1];
    if (!bare || lacks_packet_before(item)) {
      return false;
    }
    const Item& last = trace_[item - 1];
    std::uint32_t const acknowledged = in_.reception.after[step].next - last.segment.acknowledgment;
    std::uint32_t const edge = segment.acknowledgment + trace_[item].window_bytes;
    std::uint32_t const before_it = last.segment.acknowledgment + last.window_bytes;
    std::uint32_t const mss = in_.script.device_mss.count;
    return acknowledged < mss && (last.segment.any(flag::syn) || before(edge, before_it + mss));
  }

  /// Whether the identifications of the device's IPv4 packets show that one is missing. A NIC may
  /// have split the last one.
  bool lacks_packet_before(std::size_t item) const {
    constexpr std::uint16_t several = 16;
    const Segment& last = trace_[item - 1].segment;
    std::uint32_t const mss = in_.script.peer_mss.count;
    auto const options = static_cast<std::uint32_t>(last.options.size());
    std::uint32_t const size = mss > options ? mss - options : 1;
    std::uint32_t const packets = std::max((last.data_bytes() + size - 1) / size, 1u);
    auto const skipped = static_cast<std::uint16_t>(trace_[item].segment.identification -
                                                    last.identification - packets);
    return last.identification != 0 && skipped != 0 && skipped < several;
  }

  /// Whether the ACK was the device's first segment since the step, and the peer sent nothing in
  /// between. Data that the peer had to retransmit may have been lost after the capture point.
  bool is_lone(std::size_t step, std::size_t item) const {
    bool const first = item == 0 || trace_[item - 1].at < in_.script.steps[step].at;
    bool const alone = trace_[item].steps_before == step + 1 ||
                       in_.script.steps[step + 1].kind == Step::Kind::call;
    bool const soon = trace_[item].at.since(in_.script.steps[step].at) < patience_;
    bool const again = step != 0 && in_.reception.after[step - 1].above_gap;
    const Segment& segment = in_.script.steps[step].segment;
    return first && alone && soon && !again && !repeated_by(step, trace_[item].at) &&
           !segment.any(flag::fin) && segment.sum == tools::SumState::good;
  }

  /// Whether the peer retransmitted the data just before the ACK. The retransmission may be
  /// recorded a little later.
  bool repeated_by(std::size_t step, Instant answered) const {
    constexpr Duration recorded_late = Duration::milliseconds(25);
    const std::vector<Step>& steps = in_.script.steps;
    bool out = false;
    for (std::size_t i = step + 1; i < steps.size() && steps[i].at <= answered + recorded_late;
         ++i) {
      out = out || (steps[i].kind == Step::Kind::segment && steps[i].segment.length() != 0 &&
                    at_or_before(steps[i].segment.sequence, steps[step].segment.sequence));
    }
    return out;
  }

  /// A segment of the peer, and the time until the ACK with its end.
  struct Reply {
    Instant passed;
    Duration took;
  };

  void find_replies() {
    std::map<std::uint32_t, Instant> passed;
    std::size_t next = 0;
    for (const Item& item : trace_) {
      for (; next < item.steps_before && next < in_.script.steps.size(); ++next) {
        const Step& step = in_.script.steps[next];
        if (step.kind == Step::Kind::segment && step.segment.length() != 0) {
          passed.emplace(step.segment.end(), step.at);
        }
      }
      auto const found = passed.find(item.segment.acknowledgment);
      if (item.segment.any(flag::ack) && found != passed.end()) {
        replies_.push_back({found->second, item.at.since(found->second)});
        passed.erase(found);
      }
    }
    std::sort(replies_.begin(), replies_.end(),
              [](const Reply& a, const Reply& b) { return a.passed < b.passed; });
  }

  /// Whether the ACK may answer a packet that the capture lacks, which brought the data a second
  /// time: a D-SACK or the echo of a timestamp shows it.
  bool may_answer_unseen(std::size_t item) const {
    const Segment& segment = trace_[item].segment;
    auto const stamps = stamps_of(segment);
    return reports_duplicate(segment.acknowledgment, blocks_of(segment)) || !stamps ||
           !peer_stamps_.contains(stamps->echo);
  }

  /// Whether the ACK's timestamp shows that it left too late. If not, a queue between the device
  /// and the capture point may explain the delay.
  bool left_late(Instant from, std::size_t item, Duration limit) const {
    auto const stamps = stamps_of(trace_[item].segment);
    auto const left = stamps ? clock_.departure(stamps->value) : std::nullopt;
    return left && *left >= from + limit;
  }

  /// Whether the reply before or after it was slow as well: a queue on the way to the device, or in
  /// it, may explain the delay.
  bool is_among_slow(Instant from, std::size_t item, Duration limit) const {
    auto const after =
        std::partition_point(replies_.begin(), replies_.end(),
                             [&](const Reply& reply) { return reply.passed < trace_[item].at; });
    Duration const later = after == replies_.end() ? Duration{} : after->took;
    Duration earlier;
    constexpr int looks_max = 64;
    auto it = after;
    for (int i = 0; i < looks_max && it != replies_.begin(); ++i) {
      --it;
      if (it->passed + it->took <= from) {
        earlier = it->took;
        break;
      }
    }
    return earlier > limit / 2 || later > limit / 2;
  }

  /// Whether timestamps show that the ACK was less late than it seems, because the capture's clock
  /// was set in between.
  bool clock_was_set(Instant from, Instant until, Duration limit) const {
    StampedTime ours(from, until);
    StampedTime theirs(from, until);
    for (const Item& item : trace_) {
      ours.take(item.at, item.segment);
    }
    for (const Step& step : in_.script.steps) {
      if (step.kind == Step::Kind::segment) {
        theirs.take(step.at, step.segment);
      }
    }
    Duration const took = until.since(from);
    auto const within = [&](std::optional<Duration> missing) {
      return missing && took <= limit + *missing;
    };
    auto const stood = [](std::optional<bool> passed) { return passed && !*passed; };
    return within(ours.missing()) || within(theirs.missing()) || stood(ours.has_passed()) ||
           stood(theirs.has_passed());
  }

  /// Whether no step can have caused the segment.
  bool alone(std::size_t item) const {
    std::size_t const steps = trace_[item].steps_before;
    return steps != 0 && trace_[item].at.since(in_.script.steps[steps - 1].at) > prompt_;
  }

  /// Two full-sized segments must not wait for an ACK.
  void second_segment(std::size_t index, Instant answered) {
    std::uint32_t const next = in_.reception.after[index].next;
    for (; taken_ < trace_.size() && trace_[taken_].steps_before <= index; ++taken_) {
      const tools::Segment& segment = trace_[taken_].segment;
      if (segment.any(flag::ack) && !segment.any(flag::rst)) {
        acknowledged_ = segment.acknowledgment;
        known_ = true;
      }
    }
    const Step& step = in_.script.steps[index];
    Instant const due = step.at + prompt_;
    bool const two = known_ && next - acknowledged_ >= 2 * in_.script.device_mss.count;
    if (two && answered > due && due <= end_ && due <= gone_) {
      breach(step.at, {"5681:CC-27"},
             fmt::format("two full segments up to packet {} were not acknowledged at once",
                         step.packet),
             std::nullopt);
    }
  }

  /// Each segment above a gap requires a duplicate ACK. With SACK several may be combined.
  void duplicates() {
    std::size_t required = 0;
    Instant first;
    std::size_t first_step = 0;
    for (std::size_t i = 0; i < in_.script.steps.size(); ++i) {
      const Reception::After& after = in_.reception.after[i];
      if (after.above_gap) {
        required += 1;
        first = required == 1 ? in_.script.steps[i].at : first;
        first_step = required == 1 ? i : first_step;
      } else if (after.advanced) {
        settle(required, first_step, i);
        required = 0;
      }
    }
    settle(required, first_step, in_.script.steps.size());
  }

  void settle(std::size_t required, std::size_t first_step, std::size_t end_step) {
    if (required == 0) {
      return;
    }
    std::uint32_t const next = in_.reception.after[first_step].next;
    std::size_t sent = 0;
    auto const from = std::partition_point(trace_.begin(), trace_.end(), [&](const Item& item) {
      return item.steps_before <= first_step;
    });
    for (auto item = from; item != trace_.end() && item->steps_before <= end_step; ++item) {
      bool const same = item->segment.acknowledgment == next;
      sent += item->segment.any(flag::ack) && same ? 1u : 0u;
    }
    std::size_t const needed = in_.script.selective && in_.script.inferred ? 1 : required;
    Instant const at = in_.script.steps[first_step].at;
    if (sent < needed && at + prompt_ <= end_ && at + prompt_ <= gone_) {
      breach(at, {"5681:CC-14"},
             fmt::format("{} segments above a gap, but {} duplicate ACKs", required, sent),
             std::nullopt);
    }
  }

  /// A sender that waits longer for an ACK retransmits. If it did not, the capture's clock stepped.
  static constexpr Duration patience_ = Duration::seconds(3);
  Duration prompt_, delayed_ack_max_;  // as seen from the capture point
  const AuditInput& in_;
  const Trace& trace_;
  Instant end_, gone_ = Instant::never();
  DepartureClock clock_;
  std::set<std::uint32_t> peer_stamps_;
  std::vector<Reply> replies_;     ///< by the time of the segment
  std::vector<Duration> slow_;     ///< for how long lone segments waited for their ACK
  std::vector<std::size_t> late_;  ///< the breaches of those that certainly left too late
  std::vector<Breach> breaches_;
  std::vector<std::uint32_t> next_;  ///< SND.NXT after each item
  std::size_t asked_ = 0, first_ = 0, taken_ = 0;
  std::uint32_t asked_next_ = 0, acknowledged_ = 0;
  bool known_ = false;
};

}  // namespace

Clauses clauses_of_cause(const AuditInput& input, const Item& item) {
  for (std::size_t i = std::min(item.steps_before, input.script.steps.size()); i > 0; --i) {
    const Step& step = input.script.steps[i - 1];
    bool const fresh = item.at.since(step.at) <= Duration::milliseconds(1);
    bool const asks = step.kind == Step::Kind::segment &&
                      (step.segment.length() != 0 || step.segment.any(flag::rst) || fresh);
    if (asks && input.run.steps[i - 1].done) {
      return clauses_of_step(input.script, input.run, i - 1, input.config);
    }
  }
  return {"9293:P-ACK-ALWAYS"};
}

std::vector<Breach> audit_acks(const AuditInput& input, const Trace& trace) {
  return AckAudit(input, trace).run();
}

}  // namespace lockstep::conformance
