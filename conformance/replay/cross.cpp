// Compares data of both sides: its time, retransmissions and marks, and zero-window probes.
#include "conformance/replay/cross.hpp"

#include <algorithm>

#include "conformance/replay/circle.hpp"
#include "conformance/replay/stamped_time.hpp"
#include "conformance/replay/transmissions.hpp"

namespace lockstep::conformance {
namespace {

using tools::Segment;
namespace flag = tools::tcp_flag;

constexpr Duration class_width = Duration::milliseconds(1);
constexpr Duration late_max = Duration::milliseconds(300);
constexpr Duration least_timer = Duration::seconds(1);  // RFC 6298 2.4

bool covers(const Segment& segment, std::uint32_t octet) {
  return at_or_before(segment.sequence, octet) && before(octet, segment.end());
}

std::uint32_t first_octet(const Segment& segment) {
  return segment.sequence + (segment.any(flag::syn) ? 1u : 0u);
}

/// Index of the segments that carry data, without zero-window probes.
Transmissions index_of(const Trace& trace) {
  Transmissions out;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (!trace[i].probe && !trace[i].segment.any(flag::rst)) {
      out.add(trace[i].segment.sequence, trace[i].segment.length(), i);
    }
  }
  return out;
}

class Data {
 public:
  Data(const AuditInput& input, const Trace& captured, const Trace& live, CrossResult& out)
      : in_(input),
        captured_(captured),
        live_(live),
        captured_index_(index_of(captured)),
        live_index_(index_of(live)),
        attribution_(input.script, input.run, input.config),
        left_(left_after(input.script, captured)),
        out_(out) {
    std::uint32_t top = 0;
    for (std::size_t i = 0; i < captured_.size(); ++i) {
      const Segment& segment = captured_[i].segment;
      clock_.take(captured_[i].at, left_[i], segment);
      bool const carries = segment.length() != 0 && !segment.any(flag::syn | flag::rst);
      if (i != 0 && carries && !before(top, segment.end())) {
        repeated_at_.push_back(captured_[i].at);
      }
      top = i == 0 || before(top, segment.end()) ? segment.end() : top;
      if (carries) {
        most_often_ = std::max(most_often_, captured_index_.count(segment.sequence, i + 1));
      }
    }
    clock_.settle();
  }

  void run() {
    for (std::size_t i = 0; i < captured_.size(); ++i) {
      captured_text(i);
    }
    for (std::size_t i = 0; i < live_.size() && live_[i].at <= in_.script.end; ++i) {
      live_text(i);
    }
    probes();
    keepalives();
    syns();
    count_acks();
    delivered();
  }

 private:
  void breach(Instant at, Clauses clauses, const char* text, const Item* captured,
              const Item* live) {
    CrossBreach out;
    out.breach = {at, std::move(clauses), text, std::nullopt, false};
    out.kind = captured != nullptr && live != nullptr ? Divergence::Kind::differs
               : captured != nullptr                  ? Divergence::Kind::missing
                                                      : Divergence::Kind::unexpected;
    if (captured != nullptr) {
      out.captured = captured->index;
    }
    if (live != nullptr) {
      out.live = live->index;
    }
    out_.breaches.push_back(std::move(out));
  }

  const Transmissions& index_of_side(const Trace& trace) const {
    return &trace == &live_ ? live_index_ : captured_index_;
  }

  const Item* first_with(const Trace& trace, std::uint32_t octet) const {
    auto const found = index_of_side(trace).first(octet);
    return found ? &trace[*found] : nullptr;
  }

  std::size_t times_sent(const Trace& trace, std::uint32_t octet, std::size_t end) const {
    return index_of_side(trace).count(octet, end);
  }

  // --- Segments of the capture ---

  void captured_text(std::size_t index) {
    const Item& item = captured_[index];
    if (item.segment.data_bytes() == 0 || item.segment.any(flag::rst)) {
      return;
    }
    std::uint32_t const octet = first_octet(item.segment);
    if (times_sent(captured_, octet, index) != 0) {
      bool const as_often = times_sent(live_, octet, live_.size()) > 1;
      if (!as_often) {
        out_.rules.insert(Rule::recovery);
      }
      return;
    }
    const Item* live = first_with(live_, octet);
    if (live == nullptr) {
      breach(item.at, attribution_.of_missing(in_.script.sent[item.index]),
             "the core never sent these octets", &item, nullptr);
      return;
    }
    marks(item, *live);
    if (live->segment.sequence != item.segment.sequence ||
        live->segment.data_bytes() != item.segment.data_bytes()) {
      out_.rules.insert(Rule::segmentation);
    }
    if (item.at > live->at + class_width) {
      late(item, *live);
    } else if (live->at > item.at + class_width) {
      early(item, *live);
    }
  }

  void marks(const Item& item, const Item& live) {
    bool const same_begin = item.segment.sequence == live.segment.sequence;
    if (!same_begin) {
      return;
    }
    if (item.segment.any(flag::urg) != live.segment.any(flag::urg)) {
      breach(item.at, {"9293:MUST-30"}, "the URG bit differs", &item, &live);
    } else if (item.segment.any(flag::urg) && item.segment.urgent != live.segment.urgent) {
      breach(item.at, {"9293:MUST-62"}, "the urgent pointer differs", &item, &live);
    }
  }

  void late(const Item& item, const Item& live) {
    if (item.at.since(live.at) >= late_max && !in_.script.inferred) {
      breach(live.at, {"9293:P-SEND-EST"}, "sent much later than it could be", &item, &live);
    } else {
      out_.rules.insert(Rule::timing);
    }
  }

  void early(const Item& item, const Item& live) {
    Clauses clauses = attribution_.of_missing(in_.script.sent[item.index]);
    bool const nagle = clauses.front() == "9293:P-NAGLE" || clauses.front() == "9293:MUST-38";
    if (nagle && in_.config.tcp.nagle && small_outstanding(item)) {
      breach(item.at, std::move(clauses), "a small segment that should have waited", &item, &live);
    } else if (nagle) {
      out_.rules.insert(Rule::nagle_variant);
    } else if (acknowledged_before(item)) {
      out_.rules.insert(Rule::timing);
    } else if (beyond_any_initial_window(item)) {
      breach(item.at, {"5681:CC-3"}, "more than any initial window before the first ACK", &item,
             &live);
    } else {
      out_.rules.insert(Rule::initial_window);
    }
  }

  /// Ten segments (RFC 6928) is the largest initial window that any RFC permits.
  bool beyond_any_initial_window(const Item& item) const {
    std::uint32_t const most = std::max(10 * in_.script.peer_mss.count, 14'600u);
    return !in_.script.isns.empty() &&
           before(in_.script.isns.front() + 1 + most, item.segment.end());
  }

  /// Whether the peer had acknowledged data before this segment was sent.
  bool acknowledged_before(const Item& item) {
    for (; !first_ack_ && walked_ < in_.script.steps.size(); ++walked_) {
      const Step& step = in_.script.steps[walked_];
      bool const acks =
          step.kind == Step::Kind::segment && step.segment.any(flag::ack) &&
          step.incarnation != 0 &&
          before(in_.script.isns[step.incarnation - 1] + 1, step.segment.acknowledgment);
      first_ack_ = acks ? std::optional(walked_) : std::nullopt;
    }
    return first_ack_ && *first_ack_ < item.steps_before;
  }

  bool small_outstanding(const Item& item) const {
    std::uint32_t full = in_.script.peer_mss.count;
    std::uint32_t acknowledged = 0;
    bool known = false;
    for (std::size_t i = 0; i < item.steps_before && i < in_.script.steps.size(); ++i) {
      const Step& step = in_.script.steps[i];
      if (step.kind == Step::Kind::segment && step.segment.any(flag::ack)) {
        acknowledged = step.segment.acknowledgment;
        known = true;
      } else if (step.kind == Step::Kind::icmp) {
        std::uint32_t const headers = in_.script.device.address.is_v4() ? 40 : 60;
        full = std::min(full, reported_path_mtu(step.icmp).value_or(65'535) - headers);
      }
    }
    full -= in_.script.stamped ? 12u : 0u;
    return std::any_of(captured_.begin(), captured_.end(), [&](const Item& other) {
      std::uint32_t const size = other.segment.data_bytes();
      return other.index < item.index && size != 0 && size < full &&
             !other.segment.any(flag::syn) && known && before(acknowledged, other.segment.end()) &&
             before(other.segment.sequence, item.segment.sequence);
    });
  }

  // --- Segments of the core ---

  void live_text(std::size_t index) {
    const Item& item = live_[index];
    const LiveSent& sent = in_.run.sent[item.index];
    bool const probe = sent.by_timer && sent.timer == tcp::TimerKind::persist;
    if (item.segment.length() == 0 || item.segment.any(flag::rst) || probe) {
      return;
    }
    std::size_t const sent_before = times_sent(live_, item.segment.sequence, index);
    if (sent_before == 0) {
      never_captured(item, sent);
      return;
    }
    std::size_t const captured = times_sent(captured_, item.segment.sequence, captured_.size());
    if (captured <= sent_before && captured != 0) {
      again(item, sent, sent_before);
    }
  }

  void never_captured(const Item& item, const LiveSent& sent) {
    bool const text = item.segment.data_bytes() != 0;
    if (text && first_with(captured_, item.segment.sequence) == nullptr) {
      breach(item.at, attribution_.of_unexpected(sent), "the capture never has these octets",
             nullptr, &item);
    }
  }

  /// The core retransmitted the data and the captured device did not.
  void again(const Item& item, const LiveSent& sent, std::size_t sent_before) {
    if (!sent.by_timer) {
      Clauses const clauses = attribution_.of_unexpected(sent);
      bool const audited = clauses.front() == "5681:CC-16";
      if (audited || in_.script.inferred || in_.script.selective || sent_before > 1) {
        out_.rules.insert(Rule::recovery);
      } else {
        breach(item.at, attribution_.of_unexpected(sent),
               "the captured device does not retransmit this", nullptr, &item);
      }
      return;
    }
    if (!was_sent(item)) {
      // The play runs behind the capture: in its time the device has not sent this yet.
      out_.rules.insert(Rule::timing);
      return;
    }
    const Item& last = last_sent(item);
    Instant const silent_since = later(last.at, last_advance(item.at));
    bool const long_silence = item.at.since(silent_since) >= least_timer;
    bool const judged = long_silence || !in_.script.inferred;
    if (judged && next_ack(item) >= item.at + in_.script.round_trip / 2) {
      bool const probe = sent.timer == tcp::TimerKind::loss_probe;
      breach(item.at, {probe ? "8985:TLP-4" : "9293:P-RTO"},
             "the timer expired and the captured device does not retransmit", nullptr, &item);
      out_.breaches.back().breach.sure = overdue(item, silent_since);
      out_.breaches.back().sent_last = last.index;
    } else {
      out_.rules.insert(Rule::timing);
    }
  }

  /// Whether any RTO must have expired: at least the initial three seconds (RFC 1122), doubled for
  /// each retransmission of the SYN or of data. The doubling holds until a round trip is measured.
  bool overdue(const Item& item, Instant silent_since) const {
    constexpr Duration first_timer = Duration::milliseconds(3300);
    auto const syns = static_cast<std::size_t>(
        std::count_if(captured_.begin(), captured_.end(),
                      [](const Item& other) { return other.segment.any(flag::syn); }));
    std::size_t const doublings = std::min<std::size_t>(most_often_ - 1 + syns - 1, 10);
    Alive const shown = alive(item, last_denial(item));
    Instant const until = shown.until;
    // A device that runs its timer for the first segment retransmits that first, and later ones
    // after it.
    bool const heeds = std::any_of(repeated_at_.begin(), repeated_at_.end(), [&](Instant at) {
      return at > silent_since && at < shown.recorded;
    });
    // A SYN-ACK with a cookie is sent once for each SYN, and giving up in SYN-SENT sends nothing.
    return syns != 0 && !item.segment.any(flag::syn) && !heeds && until > silent_since &&
           !closes(item, silent_since, until) &&
           passed(silent_since, until) > first_timer * (std::uint64_t{1} << doublings) &&
           is_seen(silent_since, until);
  }

  /// Whether the peer closes its window below the octet in this time. BSD then cancels the
  /// retransmission timer, and the one that probes the window takes longer.
  bool closes(const Item& item, Instant from, Instant until) const {
    return std::any_of(in_.script.steps.begin(), in_.script.steps.end(), [&](const Step& step) {
      const Segment& segment = step.segment;
      auto const edge = segment.acknowledgment + static_cast<std::uint32_t>(step.window_bytes);
      return step.kind == Step::Kind::segment && segment.any(flag::ack) &&
             !segment.any(flag::rst) && step.at >= from && step.at <= until &&
             at_or_before(edge, item.segment.sequence);
    });
  }

  /// Whether the capture has what the device sent in this time. A link may have failed, and before
  /// a capture point at the device its firewall or ARP may drop packets. Not if it sent other
  /// segments throughout; at the device, not if it answered all that must be answered.
  bool is_seen(Instant from, Instant until) const {
    return sends_throughout(from, until) || (in_.script.at_device && answers_all(from, until));
  }

  bool sends_throughout(Instant from, Instant until) const {
    Instant last = from;
    for (const Item& item : captured_) {
      bool const within = item.at > from && item.at <= until;
      if (within && item.at.since(last) > least_timer) {
        return false;
      }
      last = within ? item.at : last;
    }
    return until.since(last) <= least_timer;
  }

  /// Whether the device sent something soon after each of the peer's segments that require an ACK:
  /// data, and keep-alives.
  bool answers_all(Instant from, Instant until) const {
    std::uint32_t top = 0;
    std::size_t next = 0;
    for (const Step& step : in_.script.steps) {
      const Segment& segment = step.segment;
      if (step.kind != Step::Kind::segment || segment.any(flag::rst)) {
        continue;
      }
      bool const asks = segment.length() != 0 || before(segment.sequence, top);
      top = segment.any(flag::syn) || before(top, segment.end()) ? segment.end() : top;
      while (next < captured_.size() && captured_[next].at < step.at) {
        ++next;
      }
      bool const answered =
          next < captured_.size() && captured_[next].at.since(step.at) <= least_timer;
      if (asks && !answered && step.at > from && step.at <= until) {
        return false;
      }
    }
    return true;
  }

  /// When the peer last showed that it had not received the octet. The ACK of the octet does not
  /// show when it arrived: the capture may lack an earlier ACK.
  Instant last_denial(const Item& item) const {
    Instant const acked = next_ack(item);
    Instant at;
    for (const Step& step : in_.script.steps) {
      bool const denies = step.kind == Step::Kind::segment && step.segment.any(flag::ack) &&
                          !step.segment.any(flag::rst) && step.at < acked &&
                          at_or_before(step.segment.acknowledgment, item.segment.sequence);
      at = denies ? step.at : at;
    }
    return at;
  }

  /// Until when the device is known to have the connection, and to have sent nothing that the
  /// capture lacks: it may give up silently or lose power, and later reply as a host without the
  /// connection.
  struct Alive {
    Instant until;
    Instant recorded;  ///< when what shows it was recorded: after a queue, much later
  };

  /// As of `wanted` or earlier, and no later than the octet's next transmission left.
  Alive alive(const Item& item, Instant wanted) const {
    Alive out;
    bool again = false;
    for (std::size_t i = 0; i < captured_.size() && out.until < wanted && !again; ++i) {
      const Segment& segment = captured_[i].segment;
      Instant const left = left_[i].value_or(Instant{});
      auto const stamps = stamps_of(segment);
      Instant const shown = stamps ? clock_.departure(stamps->value).value_or(left) : left;
      Instant const latest = earlier(later(left, shown), captured_[i].at);
      if (!segment.any(flag::rst) && latest > out.until) {
        out = {latest, captured_[i].at};
      }
      again = captured_[i].at > item.at && covers(segment, item.segment.sequence);
    }
    out.until = earlier(out.until, wanted);
    return out;
  }

  /// How much of this time has passed for certain: the capture's clock may have been set once. The
  /// timestamp clocks show that it was not; without them it may have been in the longest silence,
  /// and the capture may lack a retransmission, after which the timer is twice as long.
  Duration passed(Instant from, Instant until) const {
    StampedTime ours(from, until);
    StampedTime theirs(from, until);
    std::vector<Instant> times{from, until};
    for (const Item& item : captured_) {
      ours.take(item.at, item.segment);
      times.push_back(std::clamp(item.at, from, until));
    }
    for (const Step& step : in_.script.steps) {
      if (step.kind == Step::Kind::segment) {
        theirs.take(step.at, step.segment);
        times.push_back(std::clamp(step.at, from, until));
      }
    }
    auto const mine = ours.has_passed();
    auto const others = theirs.has_passed();
    if (mine || others) {
      bool const ran = mine.value_or(true) && others.value_or(true);
      return ran ? until.since(from) : Duration{};
    }
    std::sort(times.begin(), times.end());
    Duration longest;
    for (std::size_t i = 1; i < times.size(); ++i) {
      longest = std::max(longest, times[i].since(times[i - 1]));
    }
    return (until.since(from) - longest) / 3;
  }

  /// Whether the captured device had sent the octet by then.
  bool was_sent(const Item& item) const {
    return std::any_of(captured_.begin(), captured_.end(), [&](const Item& other) {
      return other.at <= item.at && covers(other.segment, item.segment.sequence);
    });
  }

  /// The last segment that had carried the octet by then. There is one.
  const Item& last_sent(const Item& item) const {
    const Item* out = &captured_.front();
    for (const Item& other : captured_) {
      bool const carries = other.at <= item.at && covers(other.segment, item.segment.sequence);
      out = carries ? &other : out;
    }
    return *out;
  }

  Instant last_advance(Instant until) const {
    Instant at;
    std::uint32_t acknowledged = 0;
    bool known = false;
    for (const Step& step : in_.script.steps) {
      if (step.kind != Step::Kind::segment || step.at > until || !step.segment.any(flag::ack)) {
        continue;
      }
      if (!known || before(acknowledged, step.segment.acknowledgment)) {
        acknowledged = step.segment.acknowledgment;
        known = true;
        at = step.at;
      }
    }
    return at;
  }

  /// When the peer acknowledged the octet, or Instant::never().
  Instant next_ack(const Item& item) const {
    for (const Step& step : in_.script.steps) {
      bool const acks = step.kind == Step::Kind::segment && step.segment.any(flag::ack) &&
                        before(item.segment.sequence, step.segment.acknowledgment);
      if (acks && step.at >= item.at) {
        return step.at;
      }
    }
    return Instant::never();
  }

  // --- Zero window ---

  void probes() {
    for (const Item& item : live_) {
      const LiveSent& sent = in_.run.sent[item.index];
      if (item.at > in_.script.end) {
        return;
      }
      if (sent.by_timer && sent.timer == tcp::TimerKind::persist) {
        Instant const closed = last_step(item.at);
        Duration const patience = item.at.since(closed) * 5 / 2;
        if (!captured_between(closed, closed + patience)) {
          breach(item.at, {"9293:MUST-36"}, "the capture has no probe of the zero window", nullptr,
                 &item);
        }
        return;
      }
    }
  }

  // --- SYN retransmissions by timer ---

  /// If the core's timer retransmits a SYN, the captured device must do so too, at whatever time.
  void syns() {
    if (in_.script.inferred || by_itself(captured_, false) != nullptr) {
      return;
    }
    const Item* live = by_itself(live_, true);
    if (live != nullptr && live->at.since(Instant{}) * 2 <= in_.script.end.since(Instant{})) {
      breach(live->at, {"9293:P-RTO"},
             "the timer expired, and the capture has no SYN retransmission", nullptr, live);
    }
  }

  /// A retransmitted SYN that no segment of the peer triggered.
  const Item* by_itself(const Trace& trace, bool is_live) const {
    for (std::size_t i = 0; i < trace.size(); ++i) {
      const Item& item = trace[i];
      bool const again = item.segment.any(flag::syn) && times_sent(trace, item.segment.sequence, i);
      std::size_t const steps = std::min(item.steps_before, in_.script.steps.size());
      bool const drawn = is_live ? !in_.run.sent[item.index].by_timer
                                 : steps != 0 && item.at.since(in_.script.steps[steps - 1].at) <
                                                     Duration::milliseconds(50);
      if (again && !drawn) {
        return &item;
      }
    }
    return nullptr;
  }

  // --- Keep-alive ---

  /// Each keep-alive probe of one side must have its counterpart on the other at about the same
  /// time.
  void keepalives() {
    if (in_.script.inferred) {
      return;
    }
    Duration const about = in_.config.tcp.keepalive_interval / 4;
    for (const Item& item : captured_) {
      if (asks(item) && !probed(live_, item, about)) {
        breach(item.at, {"9293:P-KA-PROBE"}, "the core sends no keep-alive probe", &item, nullptr);
      }
    }
    for (const Item& item : live_) {
      const LiveSent& sent = in_.run.sent[item.index];
      bool const probe =
          sent.by_timer && sent.timer == tcp::TimerKind::keepalive && !item.segment.any(flag::rst);
      if (probe && item.at <= in_.script.end && !probed(captured_, item, about)) {
        breach(item.at, {"9293:P-KA-PROBE"}, "the captured device sends no keep-alive probe",
               nullptr, &item);
      }
    }
  }

  /// Whether it is an empty segment with sequence number SND.NXT - 1 and nothing is outstanding.
  bool asks(const Item& item) const {
    if (item.segment.length() != 0 || item.segment.any(flag::rst) || item.steps_before == 0) {
      return false;
    }
    std::uint32_t high = item.segment.sequence;
    for (const Item& other : captured_) {
      bool const earlier = other.index < item.index && !other.segment.any(flag::rst);
      high = earlier && before(high, other.segment.end()) ? other.segment.end() : high;
    }
    std::uint32_t acknowledged = item.segment.sequence;
    bool closed = false;
    for (std::size_t i = 0; i < item.steps_before && i < in_.script.steps.size(); ++i) {
      const Step& step = in_.script.steps[i];
      if (step.kind == Step::Kind::segment && step.segment.any(flag::ack)) {
        acknowledged = step.segment.acknowledgment;
        closed = step.segment.window == 0;
      }
    }
    return item.segment.sequence + 1 == high && acknowledged == high && !closed;
  }

  /// Whether the trace has a segment with that number at about that time.
  static bool probed(const Trace& trace, const Item& like, Duration about) {
    return std::any_of(trace.begin(), trace.end(), [&](const Item& item) {
      return item.at + about >= like.at && item.at <= like.at + about &&
             item.segment.sequence == like.segment.sequence;
    });
  }

  Instant last_step(Instant until) const {
    Instant at;
    for (const Step& step : in_.script.steps) {
      at = step.kind == Step::Kind::segment && step.at < until ? step.at : at;
    }
    return at;
  }

  bool captured_between(Instant from, Instant until) const {
    return std::any_of(captured_.begin(), captured_.end(),
                       [&](const Item& item) { return item.at > from && item.at <= until; });
  }

  // --- Allowed differences, and the delivered octets ---

  struct BareAcks {
    std::size_t acks = 0, updates = 0;
  };

  /// Counts pure ACKs, and those among them that only open the window.
  static BareAcks bare_acks(const Trace& trace, Instant end) {
    BareAcks out;
    std::uint32_t acknowledged = 0;
    std::uint32_t edge = 0;
    for (const Item& item : trace) {
      if (item.at > end || !item.segment.any(flag::ack) || item.segment.any(flag::rst)) {
        continue;
      }
      std::uint32_t const offer = item.segment.acknowledgment + item.window_bytes;
      bool const bare = item.segment.length() == 0;
      bool const update = item.segment.acknowledgment == acknowledged && before(edge, offer);
      out.updates += bare && update ? 1u : 0u;
      out.acks += bare && !update ? 1u : 0u;
      acknowledged = item.segment.acknowledgment;
      edge = offer;
    }
    return out;
  }

  void count_acks() {
    BareAcks const captured = bare_acks(captured_, in_.script.end);
    BareAcks const live = bare_acks(live_, in_.script.end);
    if (captured.acks != live.acks) {
      out_.rules.insert(Rule::ack_coalescing);
    }
    if (captured.updates != live.updates) {
      out_.rules.insert(Rule::window_updates);
    }
  }

  void delivered() {
    const auto& got = in_.run.delivered;
    const auto& sent = in_.script.peer_stream;
    std::size_t const common = std::min(got.size(), sent.size());
    bool const same =
        std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(common), sent.begin());
    if (in_.run.isns.size() <= 1 && (!same || got.size() > sent.size())) {
      breach(in_.script.end, {"9293:P-TEXT-DELIVER"}, "the application got other octets", nullptr,
             nullptr);
    }
  }

  const AuditInput& in_;
  const Trace& captured_;
  const Trace& live_;
  Transmissions captured_index_, live_index_;
  std::vector<Instant> repeated_at_;  ///< when the device retransmitted data or its FIN
  std::size_t most_often_ = 1;        ///< the largest number of transmissions of one segment
  Attribution attribution_;
  std::vector<std::optional<Instant>> left_;  ///< when each captured segment left at the earliest
  DepartureClock clock_;
  CrossResult& out_;
  std::size_t walked_ = 0;
  std::optional<std::size_t> first_ack_;  ///< the first step that acknowledges data
};

}  // namespace

CrossResult cross_check(const AuditInput& input, const Trace& captured, const Trace& live) {
  CrossResult out;
  cross_control(input, captured, live, out);
  cross_replies(input, captured, live, out);
  Data(input, captured, live, out).run();
  return out;
}

}  // namespace lockstep::conformance
