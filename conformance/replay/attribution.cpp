// From a divergence to the requirement it is about.
#include "conformance/replay/attribution.hpp"

#include <algorithm>

#include "conformance/replay/circle.hpp"

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

}  // namespace

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

/// The last step that was made in this very instant.
std::optional<std::size_t> Attribution::step_at(Instant captured) const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < script_.steps.size(); ++i) {
    if (script_.steps[i].at == captured && run_.steps[i].done) {
      found = i;
    }
  }
  return found;
}

View Attribution::view_at(Instant captured) const {
  View view;
  Instant latest;
  for (std::size_t i = 0; i < script_.steps.size(); ++i) {
    if (run_.steps[i].done && script_.steps[i].at <= captured) {
      view = run_.steps[i].after;
      latest = script_.steps[i].at;
    }
  }
  for (const LiveSent& sent : run_.sent) {
    Instant const at = sent.captured_time();
    if (at <= captured && at >= latest) {
      bool const gone = !view.info.exists && view.state == State::closed && at == latest;
      view = gone ? view : sent.view;
      latest = at;
    }
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

/// Did the core's retransmission timer make it send in this very instant?
bool Attribution::timer_fired_at(Instant captured) const {
  return std::any_of(run_.sent.begin(), run_.sent.end(), [&](const LiveSent& sent) {
    return sent.by_timer && sent.captured_time() == captured && is_retransmission(sent);
  });
}

/// How often the first octet had been sent before; `probes`: those of a zero window count as well.
std::uint32_t Attribution::earlier_transmissions(const LiveSent& live, bool probes) const {
  std::uint32_t count = 0;
  for (const LiveSent& other : run_.sent) {
    if (&other == &live) {
      break;
    }
    bool const covers = at_or_before(other.segment.sequence, live.segment.sequence) &&
                        before(live.segment.sequence, other.segment.end());
    bool const probe = other.by_timer && other.timer == TimerKind::persist;
    count += covers && other.incarnation == live.incarnation && (probes || !probe) ? 1u : 0u;
  }
  return count;
}

/// The ACK that a timer sends is about the last text that arrived.
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
  bool timeout = false;
  for (const LiveSent& sent : run_.sent) {
    if (sent.captured_time() > captured) {
      break;
    }
    if (is_retransmission(sent) && !sent.segment.any(flag::syn)) {
      timeout = sent.by_timer || (timeout && !sent.view.info.fast_recovery);
    }
  }
  return timeout;
}

bool Attribution::after_lost_syn() const {
  auto const syns = std::count_if(run_.sent.begin(), run_.sent.end(),
                                  [](const LiveSent& sent) { return sent.segment.any(flag::syn); });
  return syns > static_cast<std::ptrdiff_t>(run_.isns.size());
}

bool Attribution::after_idle(Instant captured) const {
  Instant last;
  bool idle = false;
  for (const LiveSent& sent : run_.sent) {
    if (sent.captured_time() > captured) {
      break;
    }
    if (sent.segment.data_bytes() != 0) {
      Duration const rto = sent.view.info.rto;
      bool const first = last == Instant{};
      if (!first && sent.at.since(last) > Duration{}) {
        idle = sent.at.since(last) > rto;
      }
      last = sent.at;
    }
  }
  return idle;
}

// --- What the core sent and the capture has not ---

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
      --drawn;  // a call in the turn of the segment that draws it
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

// --- What the capture has and the core did not send ---

/// The captured device sent what the peer's window or the congestion window forbids.
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
        return of_step(i - 1);  // since then there is nothing to send again
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

// --- What both sent ---

Clauses Attribution::of_extra_bytes(const Sent& captured, const LiveSent& live) const {
  if (live.by_timer && live.timer == TimerKind::persist) {
    return {"9293:MUST-36"};
  }
  std::uint32_t const size = captured.segment.data_bytes();
  if (size < live.segment.data_bytes()) {
    return {"9293:P-SEND-EST"};
  }
  bool told_mss = false;
  for (const Step& step : script_.steps) {
    told_mss |=
        step.kind == Step::Kind::segment && step.segment.any(flag::syn) && has_mss(step.segment);
  }
  if (size > live.view.info.send.mss.count) {
    return {told_mss ? "9293:MUST-16" : "9293:MUST-15"};
  }
  return beyond_window(captured, live.view);
}

Clauses Attribution::of_difference(const Sent& captured, const LiveSent& live) const {
  const Segment& a = captured.segment;
  const Segment& b = live.segment;
  auto const cause = cause_of(live);
  if (live.by_timer && live.timer == TimerKind::keepalive) {
    return {a.any(flag::rst) ? "9293:MUST-29" : "9293:P-KA-PROBE"};
  }
  auto const differs = [&](std::uint8_t bits) { return ((a.flags ^ b.flags) & bits) != 0; };
  bool const plain = b.data_bytes() != 0 || (b.any(flag::fin) && !b.any(flag::syn));
  if (differs(flag::rst | flag::syn) || b.any(flag::rst) || !plain) {
    bool const mss_differs =
        a.any(flag::syn) && b.any(flag::syn) &&
        a.sequence == run_.as_captured(script_, b.sequence, live.incarnation) &&
        a.acknowledgment == b.acknowledgment && !differs(flag::fin | flag::ack);
    if (mss_differs) {
      return {has_mss(a) ? "9293:MUST-67" : "9293:MUST-14"};
    }
    if (differs(flag::fin) && a.any(flag::fin) && !differs(flag::rst | flag::syn)) {
      return of_fin(live.view.finish_called, live.view);
    }
    if (is_bare(b) && has_mss(a) && !differs(flag::syn)) {
      return {"9293:MUST-65"};
    }
    bool const bare_window = is_bare(a) && is_bare(b) && a.acknowledgment == b.acknowledgment &&
                             a.sequence == run_.as_captured(script_, b.sequence, live.incarnation);
    if (bare_window && a.window != b.window) {
      return {a.window == 0 ? "9293:P-SWS-RCV" : "9293:MUST-39"};
    }
    return cause ? of_step(*cause) : of_unexpected(live);
  }
  if (differs(flag::fin)) {
    return of_fin(live.view.finish_called, live.view);
  }
  if (differs(flag::urg)) {
    return {"9293:MUST-30"};
  }
  if (b.any(flag::urg) && a.urgent != b.urgent) {
    return {"9293:MUST-62"};
  }
  if (a.sequence != run_.as_captured(script_, b.sequence, live.incarnation)) {
    bool const fast = is_retransmission(live) && of_resent(live).front() == "5681:CC-16";
    bool const own_fin = b.data_bytes() == 0 && !is_retransmission(live);
    return fast ? Clauses{"5681:CC-21"} : own_fin ? of_fin(true, live.view) : of_live_data(live);
  }
  if (a.data_bytes() != b.data_bytes()) {
    return of_extra_bytes(captured, live);
  }
  if (a.payload != b.payload) {
    return {"9293:P-SEND-FIFO"};
  }
  return {differs(flag::ack) ? "9293:P-ACK-ALWAYS" : "9293:P-TEXT-ACK"};
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
