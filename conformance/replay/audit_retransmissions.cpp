// Checks retransmissions: not too early, not after the ACK, and with a doubling timer.
#include <fmt/core.h>

#include <algorithm>

#include "conformance/replay/audit.hpp"
#include "conformance/replay/circle.hpp"
#include "conformance/replay/gaps.hpp"
#include "conformance/replay/options.hpp"
#include "conformance/replay/stamped_time.hpp"
#include "conformance/replay/transmissions.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

constexpr Duration prompt = Duration::milliseconds(50);
/// Segments that were queued for the NIC when an ACK arrived have left after this time.
constexpr Duration long_known = Duration::milliseconds(200);
/// The greatest delay with which a packet is recorded after a later one.
constexpr Duration recorded_late = Duration::milliseconds(20);

class AgainAudit {
 public:
  AgainAudit(const AuditInput& input, const Trace& trace) : in_(input), trace_(trace) {
    auto const left = left_after(input.script, trace);
    for (std::size_t i = 0; i < trace.size(); ++i) {
      clock_.take(trace[i].at, left[i], trace[i].segment);
      copies_.push_back(in_.script.unaided && is_copy(i));
      if (!copies_.back()) {
        sent_.add(trace[i].segment.sequence, trace[i].segment.length(), i);
      }
    }
  }

  std::vector<Breach> run() {
    clock_.settle();
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      take_steps(trace_[i].steps_before);
      const Segment& segment = trace_[i].segment;
      take_evidence(segment);
      if (segment.any(flag::ack) && !segment.any(flag::rst)) {
        closed_at_ = segment.window == 0 ? std::optional(segment.acknowledgment) : std::nullopt;
      }
      if (segment.any(flag::rst) || segment.length() == 0 || copies_[i]) {
        continue;
      }
      if (segment.any(flag::syn) && (!opened_ || segment.sequence != isn_)) {
        opened_ = true;
        isn_ = una_ = early_ = segment.sequence;
        early_ += segment.data_bytes();
        high_ = segment.end();
      } else if (opened_ && before(segment.sequence, high_) && !is_probe(segment) &&
                 (fin_sent_ || !segment.any(flag::fin))) {
        again(i);
      }
      fin_sent_ |= segment.any(flag::fin);
      if (before(high_, segment.end())) {
        high_ = segment.end();
      }
    }
    take_steps(in_.script.steps.size());
    return std::move(breaches_);
  }

 private:
  void breach(Instant at, Clauses clauses, std::string text, std::optional<std::size_t> item,
              bool sure = false) {
    breaches_.push_back({at, std::move(clauses), std::move(text), item, sure});
  }

  /// Whether the capture holds the same packet twice. No device retransmits by timer so soon, or
  /// with the identification that it has just used.
  bool is_copy(std::size_t index) const {
    const Segment& segment = trace_[index].segment;
    Duration const moment =
        segment.identification == 0 ? Duration::milliseconds(10) : Duration::seconds(1);
    auto const before = segment.length() == 0 ? std::nullopt : sent_.last(segment.sequence, index);
    if (!before || trace_[index].at.since(trace_[*before].at) > moment) {
      return false;
    }
    return are_same(trace_[*before].segment, segment);
  }

  static bool are_same(const Segment& a, const Segment& b) {
    return a.sequence == b.sequence && a.flags == b.flags && a.acknowledgment == b.acknowledgment &&
           a.window == b.window && a.identification == b.identification && a.options == b.options &&
           a.payload == b.payload;
  }

  /// Whether it is a packet that was recorded before, or a piece of it, behind a queue between the
  /// two interfaces: its timestamps, ACK, window and identification are those of that packet, while
  /// the device's clock went on.
  bool is_recorded_again(std::size_t index) const {
    const Segment& now = trace_[index].segment;
    auto const last = sent_.last(now.sequence, index);
    auto const stamps = stamps_of(now);
    if (!in_.script.unaided || !last || !stamps || !clock_.tick()) {
      return false;
    }
    const Segment& then = trace_[*last].segment;
    auto const stamps_then = stamps_of(then);
    Duration const gap = trace_[index].at.since(trace_[*last].at);
    bool const same = stamps_then && stamps_then->value == stamps->value &&
                      stamps_then->echo == stamps->echo &&
                      then.acknowledgment == now.acknowledgment && then.window == now.window;
    std::uint32_t const pieces = then.data_bytes() / std::max(now.data_bytes(), 1U);
    auto const after = static_cast<std::uint16_t>(now.identification - then.identification);
    constexpr Duration queued_most = Duration::seconds(1);
    constexpr Duration queued_often = Duration::milliseconds(25);
    // A retransmission has an identification of its own.
    bool const queued = now.identification != 0 || gap < queued_often || gap > *clock_.tick() * 2;
    return same && queued && gap < queued_most && after < std::max(pieces, 1U);
  }

  /// Whether an identical segment was recorded before. A merged capture of both ends has each
  /// packet twice, with the clocks' difference between the copies.
  bool was_before(std::size_t index) const {
    auto const end = trace_.begin() + static_cast<std::ptrdiff_t>(index);
    return std::any_of(trace_.begin(), end, [&](const Item& item) {
      return are_same(item.segment, trace_[index].segment);
    });
  }

  /// The peer's ACK numbers have just decreased. That happens so late only in merged captures of
  /// both ends, where the device's segments appear a second time, possibly split differently.
  bool is_of_two_clocks(Instant at) const {
    return in_.script.unaided && back_at_ && at.since(*back_at_) <= Duration::seconds(1);
  }

  /// Records ACKs of the peer that carry new data or a new timestamp. When the device acknowledges
  /// the data or echoes the timestamp, it has received that acknowledgment.
  void note_evidence(const Step& step) {
    const Segment& segment = step.segment;
    auto const stamps = stamps_of(segment);
    bool const later = stamps && (!stamp_ || before(*stamp_, stamps->value));
    bool const fresh = segment.length() != 0 && is_first_transmission(step);
    if (later || fresh) {
      evidence_.push_back({segment.acknowledgment,
                           fresh ? std::optional(segment.end()) : std::nullopt,
                           later ? std::optional(stamps->value) : std::nullopt});
    }
    stamp_ = later ? std::optional(stamps->value) : stamp_;
    peer_high_ = !peer_known_ || before(peer_high_, segment.end()) ? segment.end() : peer_high_;
    peer_known_ = true;
    peer_last_ = &step;
  }

  /// Whether the peer sends these octets for the first time. The capture may lack the first
  /// transmission, which was long ago, but not one between two consecutive packets.
  bool is_first_transmission(const Step& step) const {
    if (!peer_known_) {
      return true;
    }
    std::uint16_t const last = peer_last_->segment.identification;
    bool const next = last != 0 && step.segment.identification == last + 1;
    bool const soon = step.at.since(peer_last_->at) < long_known;
    return before(peer_high_, step.segment.end()) && (next || soon);
  }

  void take_evidence(const Segment& segment) {
    auto const stamps = stamps_of(segment);
    for (; evidence_taken_ < evidence_.size(); ++evidence_taken_) {
      const Evidence& next = evidence_[evidence_taken_];
      bool const taken = next.data_end && segment.any(flag::ack) &&
                         at_or_before(*next.data_end, segment.acknowledgment);
      // An equal timestamp may be that of another ACK, which the capture lacks.
      bool const echoed = next.stamp && stamps && before(*next.stamp, stamps->echo);
      if (!taken && !echoed) {
        return;
      }
      received_ = !received_ || before(*received_, next.acknowledgment)
                      ? std::optional(next.acknowledgment)
                      : received_;
    }
  }

  bool is_probe(const Segment& segment) const { return window_ == 0 && segment.data_bytes() <= 1; }

  /// Whether the device's window is closed and the segment lies beyond it. The device answers, with
  /// an echo of its timestamp perhaps, but need not process its ACK field (RFC 9293, 3.10.7.4). Our
  /// core's window may be open.
  bool is_beyond_closed(const Segment& segment) const {
    return closed_at_ && (before(*closed_at_, segment.sequence) ||
                          (segment.sequence == *closed_at_ && segment.length() != 0));
  }

  void take_steps(std::size_t end) {
    for (; steps_ < std::min(end, in_.script.steps.size()); ++steps_) {
      const Step& step = in_.script.steps[steps_];
      if (step.kind == Step::Kind::icmp) {
        too_big_nxt_ = high_;
        too_big_known_ = true;
      }
      if (step.kind != Step::Kind::segment || !step.segment.has(flag::ack) ||
          step.segment.any(flag::rst | flag::syn)) {
        continue;
      }
      bool const back = opened_ && before(step.segment.acknowledgment, una_);
      if (back && step.at.since(una_at_) >= recorded_late) {
        back_at_ = step.at;
      }
      // Outside the window the ACK field is not processed (RFC 9293, 3.10.7.4). A probe of a closed
      // window is such a segment.
      if (in_.run.steps[steps_].dropped == Drop::tcp_out_of_window) {
        continue;
      }
      if (step.segment.sum == tools::SumState::bad) {
        continue;
      }
      std::uint32_t const ack = step.segment.acknowledgment;
      // A device discards a segment that acknowledges what it has not sent.
      bool const discarded = (opened_ && before(high_, ack)) || is_beyond_closed(step.segment) ||
                             in_.run.steps[steps_].dropped != Drop::none;
      if (!discarded) {
        note_evidence(step);
      }
      bool const same_window = step.segment.window == window_;
      window_ = step.segment.window;
      if (opened_ && before(una_, ack)) {
        una_ = ack;
        una_at_ = step.at;
        acks_of_una_ = 1;
        duplicates_ = 0;
        forget_gaps();
        continue;
      }
      acks_of_una_ += opened_ && ack == una_ ? 1u : 0u;
      if (opened_ && ack == una_ && step.segment.length() == 0 && before(una_, high_) &&
          (in_.script.selective ? tells_of_gap(step.segment) : same_window)) {
        ++duplicates_;
        third_duplicate(step);
      }
    }
  }

  /// With SACK a duplicate ACK counts if it reports new data, not if it reports a duplicate
  /// (D-SACK).
  bool tells_of_gap(const Segment& segment) const {
    return in_.script.inferred || !reports_duplicate(segment.acknowledgment, blocks_of(segment));
  }

  /// Checks what the third duplicate ACK triggers, unless the duplicates answer a retransmission.
  void third_duplicate(const Step& step) {
    bool const echo = recover_known_ && before(una_, recover_);
    if (duplicates_ != in_.config.tcp.duplicate_acks.value || echo) {
      return;
    }
    recover_ = high_;
    recover_known_ = true;
    const Item* again = nullptr;
    auto const from = std::partition_point(trace_.begin(), trace_.end(), [&](const Item& item) {
      return item.steps_before <= steps_;
    });
    Instant const soon = step.at + at_once();
    for (auto item = from; item != trace_.end() && again == nullptr && item->at <= soon; ++item) {
      bool const old = item->segment.length() != 0 && before(item->segment.sequence, high_);
      again = old ? &*item : nullptr;
    }
    if (in_.script.selective && in_.config.tcp.rack && only_late(step)) {
      return;
    }
    if (before_now_sent_again() || (in_.script.inferred && in_.script.selective)) {
      return;  // the timer was first; or RACK decides, which RFC 5681 does not cover
    }
    if (again == nullptr || (in_.script.selective && !comes_again())) {
      breach(step.at, {"5681:CC-16"},
             fmt::format("the third duplicate ACK, packet {}, triggered no retransmission",
                         step.packet),
             std::nullopt);
    } else if (!in_.script.selective && again->segment.sequence != una_) {
      breach(again->at, {"5681:CC-21"},
             "the third duplicate ACK drew another segment than the first "
             "unacknowledged",
             static_cast<std::size_t>(again - trace_.data()));
    }
  }

  /// Whether the data was acknowledged before a retransmission could arrive. RACK waits that long.
  bool only_late(const Step& duplicate) const {
    Instant const soon = duplicate.at + in_.script.round_trip / 2;
    return std::any_of(in_.script.steps.begin(), in_.script.steps.end(), [&](const Step& step) {
      return step.kind == Step::Kind::segment && step.segment.any(flag::ack) &&
             step.at >= duplicate.at && step.at < soon && before(una_, step.segment.acknowledgment);
    });
  }

  /// Whether the first unacknowledged octet is retransmitted at all.
  bool comes_again() const {
    return std::any_of(trace_.begin(), trace_.end(), [&](const Item& item) {
      return item.steps_before > steps_ && at_or_before(item.segment.sequence, una_) &&
             before(una_, item.segment.end());
    });
  }

  /// One round trip later the next ACK may be the cause of what is sent.
  Duration at_once() const {
    Duration const half = in_.script.round_trip / 2;
    return in_.script.distance + std::clamp(half, Duration::milliseconds(2), prompt);
  }

  bool before_now_sent_again() const {
    auto const end = std::partition_point(trace_.begin(), trace_.end(), [&](const Item& item) {
      return item.steps_before <= steps_;
    });
    std::size_t const count = sent_.count(una_, static_cast<std::size_t>(end - trace_.begin()));
    return count > 1;
  }

  void again(std::size_t index) {
    const Item& item = trace_[index];
    const Segment& segment = item.segment;
    if (at_or_before(segment.end(), una_) &&
        item.at.since(una_at_) > in_.script.distance + Duration::milliseconds(1)) {
      // Any ACK may be lost after the capture point, and a keep-alive repeats the last octet.
      bool const asks = segment.data_bytes() <= 1 && segment.sequence + 1 == una_;
      bool const known = received_ && at_or_before(segment.end(), *received_);
      // A host without a clock begins with the same number when it has started again.
      bool const anew = in_.script.unaided && segment.any(flag::syn) && !segment.any(flag::ack);
      bool const sure = known && !asks && !anew && item.at.since(una_at_) >= long_known &&
                        !(in_.script.unaided && was_before(index)) && !is_of_two_clocks(item.at);
      if (!asks || !in_.script.inferred) {
        breach(item.at, {"6298:RTO-11"}, "retransmitted after it was acknowledged", index, sure);
      }
      return;
    }
    if (in_.script.fast_open && at_or_before(segment.sequence, early_)) {
      return;  // SYN data that was not accepted is retransmitted at once (RFC 7413, 4.2.2)
    }
    bool const first_hole = at_or_before(segment.sequence, una_) && before(una_, segment.end());
    bool const fast = duplicates_ >= in_.config.tcp.duplicate_acks.value ||
                      (recover_known_ && before(una_, recover_));
    // A packet that was too big for the path is retransmitted without a timer: it is not a loss.
    bool const too_big = too_big_known_ && before(una_, too_big_nxt_);
    if (!first_hole || fast || too_big) {
      return;
    }
    Instant const last = later(previous(index), una_at_);
    Duration const gap = item.at.since(last);
    // An ICMP error that the capture lacks may have reported a smaller path MTU. It arrives within
    // a round trip, and queues may delay it.
    bool const shorter =
        in_.script.unaided && gap <= in_.script.round_trip * 2 + prompt && is_shorter(index);
    bool const short_gap = gap + Duration::milliseconds(1) < in_.config.tcp.rto_min;
    if (in_.script.selective && !only_timer_left(index)) {
      forget_gaps();
      if (sent_in_silence(index) == silent_min - 1) {
        add_gap(index, gap);
      }
      // SACK, RACK and probes act on what arrives: nothing has since the octets were sent twice.
      if (transmissions_in_silence(index) >= silent_min - 1) {
        alone_after_timeout(index, !short_gap && !shorter && !may_be_released(index), last);
      }
      return;
    }
    bool const go_back = timed_out_ && item.at.since(una_at_) <= prompt;
    // On a host with virtual interfaces a super-segment and its pieces may both be recorded.
    bool const recorded_twice = in_.script.unaided && gap < Duration::milliseconds(1);
    if (go_back || drawn(item) || recorded_twice || is_recorded_again(index)) {
      return;  // slow start over lost data (RFC 5681 3.1)
    }
    if (short_gap) {
      // The device's least timer may be shorter than ours, but not than a round trip.
      Duration const least = std::min(in_.config.tcp.rto_min / 2, in_.script.round_trip);
      breach(item.at, {"6298:RTO-9"}, "retransmitted before the timer can have expired", index,
             gap < least && acks_of_una_ <= 1 && !shorter && has_no_other_cause(index) &&
                 !drawn_late(item) && !may_have_queued(index) &&
                 !(timed_out_ && before(una_, timeout_high_)));
    }
    judge_doubling(index, gap, short_gap);
    timeout_high_ = timed_out_ && before(una_, timeout_high_) ? timeout_high_ : high_;
    timed_out_ = true;
    alone_after_timeout(index, !short_gap && !shorter && !may_be_released(index), last);
  }

  /// Compares the gap between two transmissions with those before.
  void judge_doubling(std::size_t index, Duration gap, bool short_gap) {
    auto const own = own_gap(index);
    bool const suspended = own && own_gaps_.has_doubled(*own);
    bool const even = gaps_.is_even(gap) && !suspended;
    bool const counts = even && may_double(trace_[index].segment, gap);
    unsigned const more = counts && !short_gap && gaps_.is_known(gap) ? 1 : 0;
    even_ = !even || gaps_.is_shorter(gap) ? 0 : even_ + more;
    short_even_ = counts && short_gap ? short_even_ + 1 : 0;
    // If the capture lacks a transmission, two gaps look like one: less than half of the next gap
    // is missing, and the gap after that is as expected. An ICMP error that the capture lacks may
    // undo each doubling (RFC 6069, 4). Gaps below the least timer may have other causes, but not
    // one after the other while nothing of the peer arrives.
    constexpr unsigned many = 4;
    bool const often = short_even_ > many && only_timer_left(index);
    add_gap(index, gap);
    if (short_gap ? often : counts) {
      breach(trace_[index].at, {"6298:RTO-14"}, "the timer was not doubled", index,
             (often || even_ > 1 || is_level(index)) && in_.script.unfiltered);
    }
  }

  /// Whether so many gaps stayed about as long, in silence, that the first timer would have been
  /// 1/128 of them if it doubled, and time would have stood still in all but the last.
  bool is_level(std::size_t index) const {
    constexpr unsigned level_min = 8;
    return level_gaps_.count() >= level_min && sent_in_silence(index) >= level_min;
  }

  void add_gap(std::size_t index, Duration gap) {
    gaps_.add(gap);
    level_gaps_.add(gap);
    if (auto const own = own_gap(index)) {
      own_gaps_.add(*own);
    } else {
      own_gaps_.forget();
    }
  }

  void forget_gaps() {
    gaps_.forget();
    own_gaps_.forget();
    level_gaps_.forget();
    even_ = short_even_ = 0;
  }

  /// The time since the last transmission of the segment by the device's timestamp clock, which
  /// stands still while the device is suspended. Nothing if that is unknown, or a tick is too long.
  std::optional<Duration> own_gap(std::size_t index) const {
    constexpr std::uint32_t telling = 2;
    constexpr Duration most = Duration::seconds(1'000);
    auto const last = sent_.last(trace_[index].segment.sequence, index);
    auto const now = stamps_of(trace_[index].segment);
    auto const then = last ? stamps_of(trace_[*last].segment) : std::nullopt;
    if (!in_.script.unaided || !now || !then || !clock_.tick()) {
      return std::nullopt;
    }
    std::uint32_t const ticks = now->value - then->value;
    Duration const out = *clock_.tick() * ticks;
    return ticks >= telling && out <= most ? std::optional(out) : std::nullopt;
  }

  /// How often the segment was sent since something of the peer arrived, if nothing else is
  /// outstanding of which the peer could have reported the arrival.
  unsigned sent_in_silence(std::size_t index) const {
    return before(trace_[index].segment.end(), high_) ? 0 : transmissions_in_silence(index);
  }

  /// ... whatever else is outstanding.
  unsigned transmissions_in_silence(std::size_t index) const {
    const Item& item = trace_[index];
    unsigned out = 0;
    sent_.each(item.segment.sequence, [&](std::size_t earlier) {
      bool const same = earlier < index && trace_[earlier].steps_before == item.steps_before;
      out += same ? 1 : 0;
    });
    return out;
  }

  /// Whether the peer has acknowledged data or changed its window since the octets were last sent.
  /// Such an ACK may take effect long after it was captured: it waits until a station wakes, or for
  /// a buffer in the device.
  bool may_be_released(std::size_t index) const {
    auto const last = sent_.last(trace_[index].segment.sequence, index);
    const std::vector<Step>& steps = in_.script.steps;
    std::size_t const end = std::min(trace_[index].steps_before, steps.size());
    std::size_t const from = last ? trace_[*last].steps_before : 0;
    auto const is_ack = [&](std::size_t i) {
      return steps[i].kind == Step::Kind::segment && steps[i].segment.any(flag::ack);
    };
    std::size_t at = std::min(from, end);
    while (at > 0 && !is_ack(at - 1)) {
      --at;
    }
    const Segment* known = at > 0 ? &steps[at - 1].segment : nullptr;
    for (; at < end; ++at) {
      const Segment& next = steps[at].segment;
      bool const same = known != nullptr && known->acknowledgment == next.acknowledgment &&
                        known->window == next.window;
      if (is_ack(at) && !same) {
        return true;
      }
    }
    return false;
  }

  /// Whether nothing but the retransmission timer sends the segment although SACK was agreed. The
  /// first retransmission may be a tail loss probe.
  bool only_timer_left(std::size_t index) const { return sent_in_silence(index) >= silent_min; }

  /// Whether the segment is shorter than the last transmission of its octets was on the wire.
  bool is_shorter(std::size_t index) const {
    const Segment& segment = trace_[index].segment;
    auto const last = sent_.last(segment.sequence, index);
    auto const options = static_cast<std::uint32_t>(segment.options.size());
    std::uint32_t const mss = in_.script.peer_mss.count;
    std::uint32_t const most = mss - std::min(options, mss);
    return last && segment.data_bytes() < std::min(trace_[*last].segment.data_bytes(), most);
  }

  /// Whether no duplicate ACK that the capture lacks triggered the retransmission: nothing else was
  /// outstanding, or the echo shows that none is missing.
  bool has_no_other_cause(std::size_t index) const {
    const Segment& segment = trace_[index].segment;
    if (!before(segment.end(), high_)) {
      return true;
    }
    const std::vector<Step>& steps = in_.script.steps;
    auto const stamps = stamps_of(segment);
    return stamps && std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
             auto const theirs = stamps_of(step.segment);
             return step.kind == Step::Kind::segment && theirs && theirs->value == stamps->echo;
           });
  }

  /// Whether a segment that had just arrived triggered the retransmission, so that no timer did.
  bool drawn(const Item& item) const {
    constexpr Duration at_once = Duration::milliseconds(30);
    std::size_t last = std::min(item.steps_before, in_.script.steps.size());
    while (last != 0 && in_.script.steps[last - 1].kind != Step::Kind::segment) {
      --last;
    }
    return in_.script.unaided && last != 0 &&
           item.at.since(in_.script.steps[last - 1].at) < at_once;
  }

  /// Whether a peer's segment recorded a moment later may have triggered the retransmission.
  bool drawn_late(const Item& item) const {
    for (std::size_t i = item.steps_before; i < in_.script.steps.size(); ++i) {
      const Step& step = in_.script.steps[i];
      if (step.kind == Step::Kind::segment) {
        return in_.script.unaided && step.at <= item.at + recorded_late;
      }
    }
    return false;
  }

  /// Whether the retransmission may have left later than it seems, because the segment before it
  /// waited in a queue for longer, also in the device's own. Only timestamps show when the two
  /// left.
  bool may_have_queued(std::size_t index) const {
    auto const last = sent_.last(trace_[index].segment.sequence, index);
    auto const now = stamps_of(trace_[index].segment);
    auto const then = last ? stamps_of(trace_[*last].segment) : std::nullopt;
    auto const apart = now && then ? clock_.longest_between(then->value, now->value) : std::nullopt;
    return !apart || *apart >= in_.config.tcp.rto_min / 2;
  }

  /// Some stacks retransmit SYNs at equal intervals for a while, and no RTO need exceed one minute.
  bool may_double(const Segment& segment, Duration gap) const {
    bool const greatest = gap + expires_late >= Duration::seconds(60);
    return !in_.script.unaided || (!segment.any(flag::syn) && !greatest);
  }

  /// After a timeout at most one full-sized segment is sent, then the sender waits for an ACK
  /// (RFC 5681 3.1, the loss window). Smaller segments share that window: some TCPs retransmit each
  /// as the application wrote it. The same octets fill it once. `timeout`: nothing but a timeout
  /// explains the retransmission.
  /// `last`: when the timer was started.
  void alone_after_timeout(std::size_t index, bool timeout, Instant last) {
    std::uint32_t sent = trace_[index].segment.data_bytes();
    std::uint32_t high = trace_[index].segment.sequence + sent;
    for (std::size_t next = index + 1; next < trace_.size(); ++next) {
      const Item& item = trace_[next];
      bool const at_once = item.at.since(trace_[index].at) <= prompt;
      if (item.steps_before != trace_[index].steps_before || !at_once) {
        return;
      }
      if (item.segment.data_bytes() == 0 || item.segment.any(flag::rst) || copies_[next]) {
        continue;
      }
      std::uint32_t const end = item.segment.sequence + item.segment.data_bytes();
      if (at_or_before(end, high)) {
        continue;
      }
      sent += end - (before(high, item.segment.sequence) ? item.segment.sequence : high);
      high = end;
      if (sent > in_.script.peer_mss.count) {
        // Sent before an ACK can have arrived: the capture may lack that ACK or have it too late.
        Duration const apart = item.at.since(trace_[index].at);
        bool const late = in_.script.recorded_late && drawn_late(item);
        bool const soon = apart * 2 <= in_.script.round_trip && apart <= at_once_ && !late;
        breach(item.at, {"5681:CC-12"}, "more than one full-sized segment after a timeout", next,
               soon && timeout && !clock_was_set(last, trace_[index].at));
        return;
      }
    }
  }

  /// Whether the device's timestamps show that much less time passed than the capture says.
  bool clock_was_set(Instant from, Instant until) const {
    StampedTime time(from, until);
    for (const Item& item : trace_) {
      time.take(item.at, item.segment);
    }
    return !time.has_passed().value_or(true);
  }

  Instant previous(std::size_t index) const {
    auto const found = sent_.last(trace_[index].segment.sequence, index);
    return found ? trace_[*found].at : Instant{};
  }

  /// An acknowledgment that the peer sent, and what shows that the device received it.
  struct Evidence {
    std::uint32_t acknowledgment = 0;
    std::optional<std::uint32_t> data_end, stamp;
  };

  static constexpr Duration at_once_ = Duration::microseconds(500);
  static constexpr unsigned silent_min = 3;
  const AuditInput& in_;
  const Trace& trace_;
  Transmissions sent_;
  DepartureClock clock_;
  std::optional<Instant> back_at_;  ///< when the peer's ACK numbers last decreased
  std::vector<bool> copies_;        ///< which items are in the capture twice
  std::vector<Evidence> evidence_;
  std::size_t evidence_taken_ = 0;
  std::optional<std::uint32_t>
      received_;  ///< the highest acknowledgment that the device is known to have received
  std::optional<std::uint32_t> stamp_;      ///< the peer's latest timestamp
  std::optional<std::uint32_t> closed_at_;  ///< what the device expects, if its window is closed
  std::uint32_t peer_high_ = 0;
  bool peer_known_ = false;
  const Step* peer_last_ = nullptr;  ///< the peer's last segment
  std::vector<Breach> breaches_;
  bool opened_ = false, recover_known_ = false, timed_out_ = false, fin_sent_ = false;
  bool too_big_known_ = false;     ///< an ICMP message reported packets that were too big ...
  std::uint32_t too_big_nxt_ = 0;  ///< ... SND.NXT at that time (RFC 1191, 8201)
  std::uint32_t early_ =
      0;  ///< the last octet that a SYN carried; without SYN data, the SYN itself
  std::uint32_t isn_ = 0, una_ = 0, high_ = 0, recover_ = 0, duplicates_ = 0;
  std::uint32_t timeout_high_ = 0;  ///< data below this is retransmitted as the window allows
  std::uint32_t acks_of_una_ = 0;   ///< number of segments that acknowledged up to una_
  unsigned even_ = 0;               ///< consecutive gaps that were not twice the one before
  unsigned short_even_ = 0;         ///< the same, of gaps below the least timer
  std::uint16_t window_ = 0;
  Instant una_at_;
  Gaps gaps_, own_gaps_;  ///< between transmissions of one octet: captured, by its timestamps
  LevelGaps level_gaps_;  ///< as captured
  std::size_t steps_ = 0;
};

}  // namespace

std::vector<Breach> audit_retransmissions(const AuditInput& input, const Trace& trace) {
  return AgainAudit(input, trace).run();
}

}  // namespace lockstep::conformance
