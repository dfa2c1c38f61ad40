// Finds the requirement that a divergence is about.
#include "conformance/replay/attribution.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "conformance/replay/circle.hpp"
#include "conformance/replay/transmissions.hpp"

namespace lockstep::conformance {
namespace {

using tcp::State;
using tcp::TimerKind;
using tools::Segment;
namespace flag = tools::tcp_flag;

bool is_bare(const Segment& segment) {
  return segment.length() == 0 && !segment.any(flag::rst | flag::syn);
}

bool has_mss(const Segment& segment) {
  auto const options = tools::options_of(segment);
  return std::any_of(options.begin(), options.end(),
                     [](const tools::TcpOption& option) { return option.kind == 2; });
}

/// The parts of a segment in which the captured one and the core's can differ.
namespace part {
constexpr std::uint32_t rst = 1u << 0, syn = 1u << 1, fin = 1u << 2, ack = 1u << 3, urg = 1u << 4;
constexpr std::uint32_t urgent_pointer = 1u << 5, sequence = 1u << 6, acknowledgment = 1u << 7;
constexpr std::uint32_t window = 1u << 8, size = 1u << 9, payload = 1u << 10;
}  // namespace part

/// What else decides which requirement a difference is about. `live` is the core's segment.
namespace when {
constexpr std::uint32_t any = 0;
constexpr std::uint32_t keep_alive = 1u << 0;  ///< the keep-alive timer sent the core's segment
constexpr std::uint32_t data = 1u << 1;        ///< both kinds agree, and the core's has data or FIN
constexpr std::uint32_t control = 1u << 2;     ///< all others
constexpr std::uint32_t captured_rst = 1u << 3, captured_fin = 1u << 4, captured_mss = 1u << 5;
constexpr std::uint32_t captured_window_zero = 1u << 6, both_syn = 1u << 7, both_bare = 1u << 8;
constexpr std::uint32_t live_bare = 1u << 9, live_urg = 1u << 10;
constexpr std::uint32_t has_cause = 1u << 11;        ///< a step made the core send it, no timer
constexpr std::uint32_t fast_retransmit = 1u << 12;  ///< duplicate ACKs made the core retransmit
constexpr std::uint32_t first_fin_alone = 1u << 13;  ///< no retransmission, and no data
}  // namespace when

using Source = Attribution::Source;

/// One row: the clauses of a difference in all parts of `differ` and in none of `same`, where all
/// of `situation` holds.
struct Rule {
  std::uint32_t differ = 0, same = 0, situation = 0;
  Source source = Source::fixed;
  std::string_view clause;  ///< if `source` is fixed
};

/// The first row that matches applies. The last one matches everything.
constexpr Rule difference_rules[] = {
    // differ, same, situation, source, clause
    {0, 0, when::keep_alive | when::captured_rst, Source::fixed, "9293:MUST-29"},
    {0, 0, when::keep_alive, Source::fixed, "9293:P-KA-PROBE"},

    {0, part::sequence | part::acknowledgment | part::fin | part::ack,
     when::control | when::both_syn | when::captured_mss, Source::fixed, "9293:MUST-67"},
    {0, part::sequence | part::acknowledgment | part::fin | part::ack,
     when::control | when::both_syn, Source::fixed, "9293:MUST-14"},
    {part::fin, part::rst | part::syn, when::control | when::captured_fin, Source::fin, {}},
    {0, part::syn, when::control | when::live_bare | when::captured_mss, Source::fixed,
     "9293:MUST-65"},
    {part::window, part::sequence | part::acknowledgment,
     when::control | when::both_bare | when::captured_window_zero, Source::fixed, "9293:P-SWS-RCV"},
    {part::window, part::sequence | part::acknowledgment, when::control | when::both_bare,
     Source::fixed, "9293:MUST-39"},
    {0, 0, when::control | when::has_cause, Source::cause, {}},
    {0, 0, when::control, Source::live_segment, {}},

    {part::fin, 0, when::data, Source::fin, {}},
    {part::urg, 0, when::data, Source::fixed, "9293:MUST-30"},
    {part::urgent_pointer, 0, when::data | when::live_urg, Source::fixed, "9293:MUST-62"},
    {part::sequence, 0, when::data | when::fast_retransmit, Source::fixed, "5681:CC-21"},
    {part::sequence, 0, when::data | when::first_fin_alone, Source::own_fin, {}},
    {part::sequence, 0, when::data, Source::live_data, {}},
    {part::size, 0, when::data, Source::extra_bytes, {}},
    {part::payload, 0, when::data, Source::fixed, "9293:P-SEND-FIFO"},
    {part::ack, 0, when::data, Source::fixed, "9293:P-ACK-ALWAYS"},
    {0, 0, when::any, Source::fixed, "9293:P-TEXT-ACK"},
};

}  // namespace

Attribution::Attribution(const Script& script, const LiveRun& run, const Config& config)
    : script_(script), run_(run), config_(config), history_(run.sent.size()) {
  std::map<std::uint32_t, std::pair<Transmissions, Transmissions>> sent;  // by incarnation
  Instant last;
  Instant latest;
  bool timeout = false;
  bool idle = false;
  for (std::size_t i = 0; i < run.sent.size(); ++i) {
    const LiveSent& live = run.sent[i];
    History& history = history_[i];
    auto& [plain, probes] = sent[live.incarnation];
    std::uint32_t const first = live.segment.sequence;
    history.earlier = static_cast<std::uint32_t>(plain.count(first, i));
    history.earlier_probes = static_cast<std::uint32_t>(probes.count(first, i));
    bool const probe = live.by_timer && live.timer == TimerKind::persist;
    (probe ? probes : plain).add(first, live.segment.length(), i);
    if (history.earlier != 0 && !live.segment.any(flag::syn)) {
      timeout = live.by_timer || (timeout && !live.view.info.fast_recovery);
    }
    if (live.segment.data_bytes() != 0) {
      bool const apart = last != Instant{} && live.at.since(last) > Duration{};
      idle = apart ? live.at.since(last) > live.view.info.rto : idle;
      last = live.at;
    }
    latest = later(latest, live.captured_time());
    history.latest = latest;
    history.after_timeout = timeout;
    history.after_idle = idle;
  }
}

const Attribution::History& Attribution::history_of(const LiveSent& live) const {
  return history_[static_cast<std::size_t>(&live - run_.sent.data())];
}

/// Number of segments that the core had sent by then, up to the first later one.
std::size_t Attribution::sent_until(Instant captured) const {
  auto const end =
      std::partition_point(history_.begin(), history_.end(),
                           [&](const History& history) { return history.latest <= captured; });
  return static_cast<std::size_t>(end - history_.begin());
}

std::uint32_t Attribution::as_live(std::uint32_t number, std::uint32_t incarnation) const {
  if (incarnation == 0 || incarnation > run_.isns.size() || incarnation > script_.isns.size()) {
    return number;
  }
  return number - script_.isns[incarnation - 1] + run_.isns[incarnation - 1];
}

std::optional<std::size_t> Attribution::cause_of(const LiveSent& live) const {
  if (live.by_timer || live.steps == 0) {
    return std::nullopt;
  }
  return live.steps - 1;
}

/// Number of steps of the capture up to then. The times of steps never decrease.
std::size_t Attribution::steps_until(Instant captured) const {
  auto const end = std::partition_point(script_.steps.begin(), script_.steps.end(),
                                        [&](const Step& step) { return step.at <= captured; });
  return static_cast<std::size_t>(end - script_.steps.begin());
}

/// The last step at exactly this time.
std::optional<std::size_t> Attribution::step_at(Instant captured) const {
  for (std::size_t i = steps_until(captured); i > 0; --i) {
    if (script_.steps[i - 1].at != captured) {
      return std::nullopt;
    }
    if (run_.steps[i - 1].done) {
      return i - 1;
    }
  }
  return std::nullopt;
}

View Attribution::view_at(Instant captured) const {
  View view;
  Instant latest;
  for (std::size_t i = steps_until(captured); i > 0; --i) {
    if (run_.steps[i - 1].done) {
      view = run_.steps[i - 1].after;
      latest = script_.steps[i - 1].at;
      break;
    }
  }
  std::size_t const end = sent_until(captured);
  std::size_t begin = end;
  while (begin > 0 && run_.sent[begin - 1].captured_time() >= latest) {
    --begin;
  }
  for (std::size_t i = begin; i < end; ++i) {
    Instant const at = run_.sent[i].captured_time();
    bool const gone = !view.info.exists && view.state == State::closed && at == latest;
    view = gone ? view : run_.sent[i].view;
    latest = at;
  }
  if (run_.closed_at <= captured && run_.closed_at >= latest) {
    view.info.exists = false;
    view.state = State::closed;
  }
  return view;
}

bool Attribution::is_retransmission(const LiveSent& live) const {
  return earlier_transmissions(live, false) != 0;
}

/// Whether the core's retransmission timer sent a segment at exactly this time.
bool Attribution::timer_fired_at(Instant captured) const {
  for (std::size_t i = sent_until(captured); i > 0; --i) {
    const LiveSent& sent = run_.sent[i - 1];
    if (sent.captured_time() != captured) {
      return false;
    }
    if (sent.by_timer && is_retransmission(sent)) {
      return true;
    }
  }
  return false;
}

/// How often the first octet was sent before. `probes`: zero-window probes count as well.
std::uint32_t Attribution::earlier_transmissions(const LiveSent& live, bool probes) const {
  const History& history = history_of(live);
  return history.earlier + (probes ? history.earlier_probes : 0);
}

/// An ACK that a timer sends acknowledges the last data that arrived.
Clauses Attribution::of_pending_text(std::size_t steps) const {
  for (std::size_t i = steps; i > 0; --i) {
    const Step& step = script_.steps[i - 1];
    if (step.kind == Step::Kind::segment && step.segment.data_bytes() != 0) {
      Clauses clauses = of_step(i - 1);
      bool const trimmed = !clauses.empty() && clauses.front() == "9293:P-ACCEPT-TRIM";
      return trimmed ? clauses : Clauses{"9293:P-TEXT-ACK"};
    }
  }
  return {"9293:P-TEXT-ACK"};
}

Clauses Attribution::of_fin(bool called, const View& view) const {
  if (!called) {
    return {"9293:P-CLOSE-NOAUTOFIN"};
  }
  bool const second = view.state == State::close_wait || view.state == State::last_ack;
  return {second ? "9293:P-CLOSE-CLOSEWAIT" : "9293:P-CLOSE-QUEUED"};
}

bool Attribution::after_timeout(Instant captured) const {
  std::size_t const count = sent_until(captured);
  return count != 0 && history_[count - 1].after_timeout;
}

bool Attribution::after_lost_syn() const {
  auto const syns = std::count_if(run_.sent.begin(), run_.sent.end(),
                                  [](const LiveSent& sent) { return sent.segment.any(flag::syn); });
  return syns > static_cast<std::ptrdiff_t>(run_.isns.size());
}

bool Attribution::after_idle(Instant captured) const {
  std::size_t const count = sent_until(captured);
  return count != 0 && history_[count - 1].after_idle;
}

// --- Segments that only the core sent ---

Clauses Attribution::of_resent(const LiveSent& live) const {
  if (live.by_timer) {
    return {live.timer == TimerKind::persist ? "9293:MUST-36" : "9293:P-RTO"};
  }
  auto const cause = cause_of(live);
  const View before_it = cause ? run_.steps[*cause].before : View{};
  if (before_it.info.exists && before_it.info.fast_recovery) {
    return {"6582:NR-2"};
  }
  return {live.view.info.fast_recovery ? "5681:CC-16" : "9293:P-RTO"};
}

Clauses Attribution::of_live_data(const LiveSent& live) const {
  if (is_retransmission(live)) {
    return of_resent(live);
  }
  if (live.by_timer && live.timer == TimerKind::persist) {
    return {"9293:MUST-36"};
  }
  if (live.by_timer && live.timer == TimerKind::sws_override) {
    return {"9293:P-SWS-SEND-OVERRIDE"};
  }
  return {"9293:P-SEND-EST"};
}

Clauses Attribution::of_unexpected(const LiveSent& live) const {
  const Segment& segment = live.segment;
  auto const cause = cause_of(live);
  if (segment.any(flag::rst)) {
    return cause ? of_step(*cause) : Clauses{"9293:MUST-20"};
  }
  if (live.by_timer && live.timer == TimerKind::persist) {
    return {"9293:MUST-36"};
  }
  if (segment.any(flag::syn)) {
    std::size_t drawn = cause.value_or(0);
    while (drawn != 0 && script_.steps[drawn].joined) {
      --drawn;  // a call in the same turn as the segment that caused the SYN
    }
    return cause ? of_step(drawn) : Clauses{"9293:P-RTO"};
  }
  if (segment.data_bytes() != 0) {
    return of_live_data(live);
  }
  if (segment.any(flag::fin)) {
    return is_retransmission(live) ? of_resent(live) : of_fin(live.view.finish_called, live.view);
  }
  if (live.by_timer && live.timer == TimerKind::keepalive) {
    return {"9293:P-KA-PROBE"};
  }
  return cause ? of_step(*cause) : of_pending_text(live.steps);
}

// --- Segments that only the capture has ---

/// The captured device sent more than the peer's window or the congestion window permits.
Clauses Attribution::beyond_window(const Sent& captured, const View& view) const {
  const ConnectionInfo& info = view.info;
  std::uint32_t const end = as_live(captured.segment.end(), captured.incarnation);
  std::uint32_t const edge = info.send.una.value + info.send.wnd.count;
  std::uint32_t const size = captured.segment.data_bytes();
  if (before(edge, end)) {
    bool const shrunk = before(edge, info.send.nxt.value);
    return {shrunk ? "9293:SHLD-15" : "9293:P-WND-FIT"};
  }
  std::uint32_t const flight = end - info.send.una.value;
  if (flight > info.cwnd.count) {
    if (after_timeout(captured.at)) {
      return {"5681:CC-12"};
    }
    if (after_idle(captured.at)) {
      return {"5681:CC-25"};
    }
    return {after_lost_syn() ? "5681:CC-5" : "5681:CC-1"};
  }
  std::uint32_t const unsent = info.send.una.value + info.send.queued.count - info.send.nxt.value;
  bool const small = size < info.send.mss.count && !view.finish_called;
  if (small && unsent > size) {
    return {"9293:MUST-38"};
  }
  if (small && info.send.nxt != info.send.una) {
    return {"9293:P-NAGLE"};
  }
  return {"9293:P-SEND-EST"};
}

Clauses Attribution::of_captured_again(const Sent& captured, const View& view) const {
  std::uint32_t const end = as_live(captured.segment.end(), captured.incarnation);
  if (at_or_before(end, view.info.send.una.value)) {
    return {"6298:RTO-11"};
  }
  auto const cause = step_at(captured.at);
  if (!cause) {
    return {"9293:P-RTO"};
  }
  const View& was = run_.steps[*cause].before;
  if (was.info.exists && was.info.fast_recovery) {
    return {"6582:NR-2"};
  }
  bool const many = view.info.duplicate_acks >= config_.tcp.duplicate_acks.value;
  if (after_timeout(captured.at)) {
    return {many ? "6582:NR-7" : "5681:CC-12"};
  }
  return {"5681:CC-42"};
}

Clauses Attribution::of_captured_data(const Sent& captured) const {
  View const view = view_at(captured.at);
  if (!view.info.exists || view.state == State::closed) {
    bool const timed_out = run_.closed == Cause::timed_out;
    auto const cause = step_at(captured.at);
    if (timed_out || !cause) {
      return {timed_out ? "9293:P-USER-TIMEOUT" : "9293:P-RST-EST"};
    }
    return of_step(*cause);
  }
  std::uint32_t const begin = as_live(captured.segment.sequence, captured.incarnation);
  bool const again = before(begin, view.info.send.nxt.value);
  bool const timed = !step_at(captured.at).has_value() && !timer_fired_at(captured.at);
  if (again && (timed || at_or_before(begin, view.info.send.una.value))) {
    return of_captured_again(captured, view);
  }
  if (again && after_timeout(captured.at)) {
    return {"5681:CC-12"};
  }
  return again ? of_captured_again(captured, view) : beyond_window(captured, view);
}

Clauses Attribution::of_captured_ack(const Sent& captured) const {
  auto const cause = step_at(captured.at);
  if (!cause) {
    return of_pending_text(captured.steps_before);
  }
  const Step& step = script_.steps[*cause];
  bool const reading =
      step.kind == Step::Kind::call && (step.act == Act::consume || step.act == Act::resume);
  if (reading) {
    std::uint32_t const worth =
        std::min(config_.tcp.mss.count, config_.tcp.receive_buffer.count / 2);
    bool const silly = captured.window_bytes != 0 && captured.window_bytes < worth;
    return {silly ? "9293:MUST-39" : "9293:P-SWS-RCV"};
  }
  return of_step(*cause);
}

Clauses Attribution::of_missing(const Sent& captured) const {
  const Segment& segment = captured.segment;
  auto const cause = step_at(captured.at);
  if (is_bare(segment)) {
    return of_captured_ack(captured);
  }
  if (segment.any(flag::rst)) {
    return cause ? of_step(*cause) : Clauses{"9293:P-RST-WHEN"};
  }
  if (segment.any(flag::syn)) {
    if (cause) {
      return of_step(*cause);
    }
    for (std::size_t i = script_.steps.size(); i > 0; --i) {
      bool const past = run_.steps[i - 1].done && script_.steps[i - 1].at <= captured.at;
      if (past && run_.steps[i - 1].before.state != run_.steps[i - 1].after.state) {
        return of_step(i - 1);  // after this state change nothing is left to retransmit
      }
    }
    return {"9293:P-RTO"};
  }
  if (segment.data_bytes() != 0) {
    return of_captured_data(captured);
  }
  View const view = view_at(captured.at);
  bool const again = view.info.exists && before(as_live(segment.sequence, captured.incarnation),
                                                view.info.send.nxt.value);
  return again ? Clauses{"9293:P-RTO"} : of_fin(view.finish_called, view);
}

// --- Segments that both sent ---

Clauses Attribution::of_extra_bytes(const Sent& captured, const LiveSent& live) const {
  if (live.by_timer && live.timer == TimerKind::persist) {
    return {"9293:MUST-36"};
  }
  std::uint32_t const size = captured.segment.data_bytes();
  if (size < live.segment.data_bytes()) {
    return {"9293:P-SEND-EST"};
  }
  bool offered_mss = false;
  for (const Step& step : script_.steps) {
    offered_mss |=
        step.kind == Step::Kind::segment && step.segment.any(flag::syn) && has_mss(step.segment);
  }
  if (size > live.view.info.send.mss.count) {
    return {offered_mss ? "9293:MUST-16" : "9293:MUST-15"};
  }
  return beyond_window(captured, live.view);
}

Clauses Attribution::answer(Source source, const Sent& captured, const LiveSent& live) const {
  switch (source) {
    case Source::fin:
      return of_fin(live.view.finish_called, live.view);
    case Source::own_fin:
      return of_fin(true, live.view);
    case Source::cause:
      return of_step(*cause_of(live));
    case Source::live_segment:
      return of_unexpected(live);
    case Source::live_data:
      return of_live_data(live);
    case Source::extra_bytes:
      return of_extra_bytes(captured, live);
    case Source::fixed:
      break;
  }
  return {};
}

/// The parts in which the two segments differ, and the situations that hold, as masks.
Attribution::Difference Attribution::compare(const Sent& captured, const LiveSent& live) const {
  const Segment& a = captured.segment;
  const Segment& b = live.segment;
  Difference out;
  auto const note = [](std::uint32_t& mask, std::uint32_t bit, bool holds) {
    mask |= holds ? bit : 0;
  };
  auto const flag_differs = [&](std::uint8_t bit) { return ((a.flags ^ b.flags) & bit) != 0; };
  note(out.parts, part::rst, flag_differs(flag::rst));
  note(out.parts, part::syn, flag_differs(flag::syn));
  note(out.parts, part::fin, flag_differs(flag::fin));
  note(out.parts, part::ack, flag_differs(flag::ack));
  note(out.parts, part::urg, flag_differs(flag::urg));
  note(out.parts, part::urgent_pointer, a.urgent != b.urgent);
  note(out.parts, part::sequence,
       a.sequence != run_.as_captured(script_, b.sequence, live.incarnation));
  note(out.parts, part::acknowledgment, a.acknowledgment != b.acknowledgment);
  note(out.parts, part::window, a.window != b.window);
  note(out.parts, part::size, a.data_bytes() != b.data_bytes());
  note(out.parts, part::payload, a.payload != b.payload);

  bool const carries = b.data_bytes() != 0 || (b.any(flag::fin) && !b.any(flag::syn));
  bool const control = (out.parts & (part::rst | part::syn)) != 0 || b.any(flag::rst) || !carries;
  bool const again = is_retransmission(live);
  note(out.situations, when::keep_alive, live.by_timer && live.timer == TimerKind::keepalive);
  note(out.situations, control ? when::control : when::data, true);
  note(out.situations, when::captured_rst, a.any(flag::rst));
  note(out.situations, when::captured_fin, a.any(flag::fin));
  note(out.situations, when::captured_mss, has_mss(a));
  note(out.situations, when::captured_window_zero, a.window == 0);
  note(out.situations, when::both_syn, a.any(flag::syn) && b.any(flag::syn));
  note(out.situations, when::both_bare, is_bare(a) && is_bare(b));
  note(out.situations, when::live_bare, is_bare(b));
  note(out.situations, when::live_urg, b.any(flag::urg));
  note(out.situations, when::has_cause, cause_of(live).has_value());
  note(out.situations, when::fast_retransmit, again && of_resent(live).front() == "5681:CC-16");
  note(out.situations, when::first_fin_alone, !again && b.data_bytes() == 0);
  return out;
}

Clauses Attribution::of_difference(const Sent& captured, const LiveSent& live) const {
  Difference const difference = compare(captured, live);
  auto const rule =
      std::find_if(std::begin(difference_rules), std::end(difference_rules), [&](const Rule& row) {
        return (difference.parts & row.differ) == row.differ &&
               (difference.parts & row.same) == 0 &&
               (difference.situations & row.situation) == row.situation;
      });
  if (rule->source == Source::fixed) {
    return {rule->clause};
  }
  return answer(rule->source, captured, live);
}

Clauses Attribution::of_timing(const Sent& captured, const LiveSent& live) const {
  const Segment& segment = live.segment;
  bool const sooner = captured.at < live.captured_time();
  if (live.by_timer && live.timer == TimerKind::persist) {
    bool const first = earlier_transmissions(live, true) == 0;
    return {first ? "9293:SHLD-29" : "9293:SHLD-30"};
  }
  if (is_retransmission(live) && live.by_timer) {
    if (earlier_transmissions(live, false) > 1) {
      return {"6298:RTO-14"};
    }
    return {sooner ? "6298:RTO-9" : "9293:P-RTO"};
  }
  if (segment.data_bytes() != 0 || segment.any(flag::fin)) {
    return of_unexpected(live);
  }
  if (is_bare(segment) && live.by_timer) {
    Instant arrived;
    for (std::size_t i = 0; i < live.steps && i < script_.steps.size(); ++i) {
      const Step& step = script_.steps[i];
      bool const text = step.kind == Step::Kind::segment && step.segment.data_bytes() != 0;
      arrived = text ? step.at : arrived;
    }
    bool const late = captured.at.since(arrived) >= Duration::milliseconds(500);
    return late ? Clauses{"9293:MUST-40"} : of_pending_text(live.steps);
  }
  auto const cause = cause_of(live);
  return cause ? of_step(*cause) : of_unexpected(live);
}

}  // namespace lockstep::conformance
