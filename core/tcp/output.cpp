// Which segment a connection sends next: retransmissions, new data, ACKs, probes.
#include "core/tcp/output.hpp"

#include <algorithm>

#include "core/tcp/accounts.hpp"
#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/adapter.hpp"
#include "core/tcp/congestion/control.hpp"
#include "core/tcp/congestion/pacing.hpp"
#include "core/tcp/expiry.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/opening/fast_open.hpp"
#include "core/tcp/path.hpp"
#include "core/tcp/path_probe.hpp"
#include "core/tcp/pending_ack.hpp"
#include "core/tcp/record_ends.hpp"
#include "core/tcp/recovery/sack.hpp"
#include "core/tcp/recovery/tail_probe.hpp"
#include "core/tcp/resources.hpp"
#include "core/tcp/sack_report.hpp"
#include "core/tcp/timestamps.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {

namespace {

// The right edge of what may be retransmitted.
//= rfc7323#2.4
//# 7323:TS-36, 7323:TS-37 at first even beyond the window, later by less than one unit of its scale
//# 7323:TS-38 and no further
Sequence retransmit_right_edge(const Connection& c, const InFlightState& a) {
  Sequence const right = c.send.una + c.send.wnd;
  std::uint8_t const shift = c.options.send_scale.shift;
  // One octet in flight may be a probe, and data on a SYN left early: neither lay in a window.
  bool const early = a.early && c.send.una.before(a.early_end);
  if (shift == 0 || flight_size(c).count <= 1 || early) {
    return right;
  }
  Sequence const rounded = right + Bytes{(1u << shift) - 1};
  Sequence const sent = c.send.nxt;
  return last_of(right, c.retries <= 1 ? sent : first_of(sent, rounded));
}

}  // namespace

std::uint32_t retransmission_room(const Engine& e, const Connection& c, const InFlightState& a,
                                  Sequence begin) {
  std::uint32_t const most = eff_snd_mss(c, a);
  std::uint32_t const window = retransmit_right_edge(c, a).since(begin).count;
  bool const beyond = c.send.wnd.empty() && begin == c.send.una && retransmits_into_zero(e, c, a);
  return beyond ? most : std::min(window, most);
}

namespace {

// The queue of data in sequence numbers, and how far the peer lets us go.
struct SendWindow {
  Sequence begin;        // of the queue's first octet
  Sequence end;          // after its last: where the FIN goes
  Sequence right;        // SND.UNA + SND.WND
  bool fin_due = false;  // a FIN follows the data and was not sent
};

SendWindow send_window_of(const Connection& c, const InFlightState& a) {
  SendWindow window;
  window.begin = queue_begin(c);
  window.end = window.begin + a.send.length();
  window.right = c.send.una + c.send.wnd;
  window.fin_due = c.fin_queued && !c.fin_sent;
  return window;
}

SegmentPlan syn_plan(const Connection& c, bool retransmitted) {
  SegmentPlan plan;
  plan.kind = PlanKind::data;
  plan.sequence = c.send.iss;
  plan.syn = true;
  plan.retransmitted = retransmitted;
  return plan;
}

// A retransmission of data from retransmit_next on, which lies before retransmit_end.
//= rfc9293#3.8.6
//# 9293:SHLD-16 only what lies within SND.UNA + SND.WND
//# 9293:P-WND-FIT cut to the window, and repackaged at will
[[gnu::cold]] SegmentPlan retransmission(const Engine& e, const Connection& c,
                                         const InFlightState& a) {
  SegmentPlan plan;
  Sequence const next = a.retransmit_next;
  if (syn_unacknowledged(c)) {
    // Data of the first SYN waits for the SYN-ACK.
    return next == c.send.una ? syn_plan(c, true) : plan;
  }
  if (a.board.order.count != 0) {
    // The scoreboard decides on the rest; this one segment leaves even beyond cwnd.
    return plan_range(e, c, a, {next, a.retransmit_end});
  }
  SendWindow const window = send_window_of(c, a);
  bool const first = next == c.send.una;
  //= rfc5681#3.1
  //# 5681:CC-41 after a timeout slow start paces the retransmissions
  if (!first && next.since(c.send.una) + Bytes{c.mss} > c.congestion.cwnd) {
    return plan;
  }
  // A refused probe leaves one octet: new data fills its segment, once there is a window for it.
  bool const tiny = flight_size(c).count <= 1 && !c.send.wnd.empty();
  Sequence const last = tiny ? window.end : first_of(c.send.nxt, window.end);
  std::uint32_t const allowed = retransmission_room(e, c, a, next);
  plan.data = within_record(e, c, a, next, {std::min(last.since(next).count, allowed)});
  plan.sequence = next;
  plan.retransmitted = true;
  bool const at_end = next + plan.data == window.end;
  plan.fin = c.fin_sent && at_end && next.at_or_before(window.end) &&
             (window.end.before(window.right) || first);
  plan.kind = plan.data.empty() && !plan.fin ? PlanKind::none : PlanKind::data;
  return plan;
}

//= rfc9293#3.8.6.1
//# 9293:P-ZWP-SEND, 9293:MUST-36 at least one octet, or the FIN, at a zero window
[[gnu::cold]] SegmentPlan window_probe(const Engine& e, const Connection& c,
                                       const InFlightState& a) {
  SegmentPlan plan;
  if (!e.config.window_probe_data) {
    plan.kind = PlanKind::keepalive;
    plan.probe = true;
    return plan;
  }
  SendWindow const window = send_window_of(c, a);
  plan.kind = PlanKind::data;
  plan.probe = true;
  plan.sequence = c.send.una;
  plan.retransmitted = c.send.una != c.send.nxt;
  plan.data = {window.end.after(c.send.una) ? 1u : 0u};
  plan.fin = plan.data.empty() && c.fin_queued;
  if (plan.data.empty() && !plan.fin) {
    plan.kind = PlanKind::none;
  }
  return plan;
}

bool ack_is_due(const InFlightState& a) {
  return a.pending_ack_first != nil || a.ack_now || a.window_update;
}

// How much data congestion control permits now.
std::uint32_t congestion_room(Engine& e, const Connection& c) {
  if (c.sack && e.active(c).board.order.count != 0) {
    return (c.congestion.cwnd - outstanding(e, c)).count;
  }
  if (spurious::watches(e.active(c))) [[unlikely]] {
    //= rfc5682#2.1
    //# 5682:FRTO-4 two new segments
    return (e.active(c).watch_end + Bytes{2u * c.mss}).since(c.send.nxt).count;
  }
  std::uint32_t const flight = flight_size(c).count;
  std::uint64_t allowed = c.congestion.cwnd.count;
  bool const limited = e.config.limited_transmit && !c.congestion.recovering &&
                       c.congestion.duplicates != 0 &&
                       c.congestion.duplicates < e.config.duplicate_acks.value;
  if (limited) {
    //= rfc5681#3.2
    //# 5681:CC-17 one segment beyond cwnd for each of the first two duplicates
    allowed += std::min<std::uint32_t>(c.congestion.duplicates, 2) * std::uint64_t{c.mss};
  }
  return allowed > flight
             ? static_cast<std::uint32_t>(std::min<std::uint64_t>(allowed - flight, 0xffff'ffff))
             : 0;
}

// The new data that could be sent, and its limits.
struct Sendable {
  std::uint32_t queued;  // D: data that was never sent, up to the end of a record
  std::uint32_t usable;  // U: what the peer's window permits
  std::uint32_t cwnd;    // what congestion control permits
  bool pushed = false;   // up to the end of `queued`
  bool closed = false;   // a record or the stream ends there: no data can be added
};

// Of all data that is queued, or of its first record only.
[[gnu::always_inline]] inline Sendable sendable_of(Engine& e, const Connection& c,
                                                   const InFlightState& a,
                                                   const SendWindow& window) {
  //= rfc9293#3.8.6.2.1
  //# 9293:P-SWS-USABLE U = SND.UNA + SND.WND - SND.NXT
  Bytes const queued = window.end.since(c.send.nxt);
  Sendable sendable{queued.count, window.right.since(c.send.nxt).count, congestion_room(e, c)};
  //= rfc9293#3.8
  //# 9293:P-CLOSE-PUSH a close pushes the queued data
  sendable.closed = window.fin_due;
  sendable.pushed = sendable.closed || a.pushed.at_or_after(window.end);
  if (a.send.record_ends != 0) [[unlikely]] {
    sendable.queued = queued_of_record(e, c, queued).count;
    sendable.closed = sendable.closed || sendable.queued != queued.count;
    sendable.pushed = sendable.pushed || sendable.closed;
  }
  return sendable;
}

// Whether only full segments are in flight. Then another small one may follow, so that the end of a
// response does not wait for the peer's delayed ACK; there is never more than one in flight.
//= rfc9293#3.7.4
//# 9293:P-NAGLE the modification of appendix A.3, as the rule interacts badly with delayed ACKs
bool may_follow_full(const Engine& e, const Connection& c, const InFlightState& a) {
  return e.config.nagle_minshall && a.small_end == c.send.una;
}

// How much to send now, by sender-side silly-window avoidance and Nagle; 0: wait.
//= rfc9293#3.8.6.2.1
//# 9293:MUST-38 the four conditions, tried in order
std::uint32_t worth_sending(const Engine& e, const Connection& c, const InFlightState& a,
                            const Sendable& sendable) {
  std::uint32_t const fits = std::min(sendable.queued, sendable.usable);
  //= rfc9293#3.8.6.2.1
  //# 9293:P-SWS-SEND-FULL a full-sized segment can go
  std::uint32_t const full = eff_snd_mss(c, a);
  if (fits >= full) {
    return sendable.cwnd >= full ? full : 0;
  }
  //= rfc9293#3.7.4
  //# 9293:P-NAGLE, 9293:SHLD-7, 9293:MUST-17 with Nagle less waits until all is acknowledged
  //= rfc5682#2.1
  //# 5682:FRTO-4 F-RTO's new data does not wait
  // No data can be added if the store is full, nor in front of a record's end or a FIN.
  bool const alone = c.send.nxt == c.send.una || !c.nagle || sendable.closed ||
                     spurious::watches(a) || store_is_full(e, a.send) || may_follow_full(e, c, a);
  //= rfc9293#3.7.4
  //# 9293:P-NAGLE-CWND congestion control has precedence over Nagle
  if (fits == 0 || fits > sendable.cwnd) {
    return 0;
  }
  //= rfc9293#3.8.6.2.1
  //# 9293:P-SWS-SEND-PUSH all queued data is pushed and fits
  if (alone && sendable.queued <= sendable.usable &&
      (sendable.pushed || store_is_full(e, a.send))) {
    return sendable.queued;
  }
  //= rfc9293#3.8.6.2.1
  //# 9293:P-SWS-SEND-FRAC half of the largest window so far
  if (alone && fits >= c.send.wnd_max.count / 2) {
    return fits;
  }
  //= rfc9293#3.8.6.2.1
  //# 9293:P-SWS-SEND-OVERRIDE the override timeout is over
  return a.override ? fits : 0;
}

// New data may not be sent: if nothing is in flight, only a timer can let the connection continue.
[[gnu::cold]] void wait_by_timer(Engine& e, Connection& c, std::uint32_t usable) {
  InFlightState& a = e.active(c);
  if (c.send.una != c.send.nxt || a.mode != RetransmitMode::idle) {
    return;
  }
  if (usable == 0) {
    //= rfc9293#3.8.6.1
    //# 9293:SHLD-29 the first probe after the window was zero for one timeout
    //= rfc9293#3.8.6.1
    //# 9293:SHLD-30 an acknowledged probe opens no window: the interval does not shrink
    a.mode = RetransmitMode::persist;
    a.retransmit_due = due_in(e, probe_interval(e, c));
  } else {
    //= rfc9293#3.9.1.2
    //# 9293:MUST-60 data without a PUSH is not held back without limit
    a.mode = RetransmitMode::sws_override;
    a.retransmit_due = due_in(e, e.config.sws_override);
  }
  arm(e, c);
}

void restart_if_idle(Engine& e, Connection& c) {
  bool const paused = c.send.una == c.send.nxt && e.state->now > c.sent_at + c.rtt.rto();
  if (paused && e.config.restart_after_idle) {
    congestion::on_idle(e, c);
  }
}

// Data in SYN-RECEIVED, after a SYN with Fast Open.
[[gnu::cold]] SegmentPlan plan_early(Engine& e, const Connection& c, const InFlightState& a) {
  SegmentPlan plan;
  if (c.state != State::syn_received || !opened_fast(c)) {
    return plan;
  }
  SendWindow const window = send_window_of(c, a);
  Sendable const sendable = sendable_of(e, c, a, window);
  std::uint32_t const full = eff_snd_mss(c, a);
  //= rfc7413#4.2.2
  //# 7413:TFO-16 within the window that the SYN offers, and the initial window
  plan.data = {std::min({sendable.queued, sendable.usable, sendable.cwnd, full})};
  plan.sequence = c.send.nxt;
  bool const worth =
      plan.data.count == full || (sendable.pushed && plan.data.count == sendable.queued);
  plan.kind = plan.data.empty() || !worth ? PlanKind::none : PlanKind::data;
  return plan;
}

// Before ESTABLISHED: our SYN, and data that may follow it at once.
SegmentPlan plan_opening(Engine& e, Connection& c, const InFlightState& a) {
  if (c.send.nxt != c.send.iss) {
    return plan_early(e, c, a);
  }
  SegmentPlan plan = syn_plan(c, false);
  if (a.fast_open_wanted) [[unlikely]] {
    //= rfc7413#4.2.2
    //# 7413:TFO-11 with a cookie the SYN carries data, and SND.NXT covers it
    plan.data = fast_open_data(e, c, plan);
  }
  return plan;
}

// One segment of new data. If none can be sent, only the kind of `plan` is valid.
//= rfc5681#2
//# 5681:CC-1, 5681:CC-32 never beyond the highest ACK plus min(cwnd, rwnd)
//= rfc9293#3.7
//# 9293:P-NO-BOUNDARY segments follow windows and sizes, not the calls that wrote the data
void plan_new(Engine& e, Connection& c, InFlightState& a, SegmentPlan& plan) {
  if (!synchronized(c.state)) [[unlikely]] {
    plan = plan_opening(e, c, a);
    return;
  }
  SendWindow const window = send_window_of(c, a);
  std::uint32_t const queued = window.end.since(c.send.nxt).count;
  if (c.fin_sent || (queued == 0 && !window.fin_due)) {
    return;
  }
  restart_if_idle(e, c);
  //= rfc9293#3.8.6
  //# 9293:SHLD-15, 9293:MUST-34 after the window shrank below SND.NXT nothing is sent
  //= rfc7323#2.4
  //# 7323:TS-8 new data stays within the window of the newest ACK
  Sendable const sendable = sendable_of(e, c, a, window);
  plan.data = {worth_sending(e, c, a, sendable)};
  plan.sequence = c.send.nxt;
  //= rfc9293#3.10.4
  //# 9293:P-CLOSE-QUEUED, 9293:P-CLOSE-CLOSEWAIT the FIN follows all queued data
  plan.fin =
      window.fin_due && c.send.nxt + plan.data == window.end && plan.data.count < sendable.usable;
  if (plan.data.empty() && !plan.fin) {
    if (accounts_kept(e)) [[unlikely]] {
      std::uint32_t const wanted = std::min(sendable.queued, eff_snd_mss(c, a));
      accounts::note_waiting(e, c, sendable.usable < wanted && sendable.usable < sendable.cwnd);
    }
    wait_by_timer(e, c, sendable.usable);
    return;
  }
  if (e.state->now < a.pace_at && !(added::possible(e) && added::in_quantum(e, c))) [[unlikely]] {
    pacing::wait(e, c);
    return;
  }
  if (added::possible(e) && !plan.fin) [[unlikely]] {
    Bytes const room{std::min(sendable.usable, sendable.cwnd)};
    if (room.count < sendable.queued && added::gathers(e, c, room)) {
      return;
    }
  }
  plan.kind = PlanKind::data;
}

// A segment without data, or none.
void bare(SegmentPlan& plan, PlanKind kind) {
  plan = SegmentPlan{};
  plan.kind = kind;
}

// Clears the fields of a plan without a kind, which the next planner must not see.
SegmentPlan whole(const SegmentPlan& plan) {
  return plan.kind == PlanKind::none ? SegmentPlan{} : plan;
}

}  // namespace

void begin_sending(Engine& e, Connection& c, Sequence iss) {
  c.send.iss = iss;
  c.send.una = iss;
  c.send.nxt = iss;
  //= rfc6582#3.2
  //# 6582:NR-6 recover begins as the initial send sequence number
  c.congestion.recover = iss;
  InFlightState* const a = ensure_active(e, c);
  CHECK(a != nullptr);
  if (e.config.timestamps) {
    c.options.ts_offset = timestamp_offset(e.config, e.tuple_of(c));
  }
  a->pushed = iss.next();
  a->small_end = iss;
  a->reduced_to = iss.previous();
  a->marks.limited_until = iss;
}

[[gnu::cold]] void send_syn_again(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  a.retransmit_next = c.send.iss;
  a.retransmit_end = c.send.nxt;
  make_ready(e, c);
}

[[gnu::cold]] void window_opened(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  a.persist_backoff = 0;
  if (c.reading_over && c.slow && c.state != State::fin_wait_2) {
    set_slow(e, c, Instant::never());  // see bound_closed_window()
  }
  if (a.mode == RetransmitMode::persist) {
    a.mode = RetransmitMode::idle;
    a.retransmit_due = Instant::never();
    a.give_up_due = Instant::never();
    a.probe = false;
    if (c.send.una != c.send.nxt) {
      if (!c.sack || !send_all_again(e, c)) {
        a.retransmit_next = c.send.una;
        a.retransmit_end = c.send.nxt;
      }
      // Data in flight has a timer from now on, even if the link accepts no frame for a while.
      a.mode = RetransmitMode::retransmit;
      a.retransmit_due = due_in(e, c.rtt.rto());
      set_give_up(e, c, a);
      arm(e, a);
    }
  }
  make_ready(e, c);
}

// The planners. Each returns true if it has decided: on the segment in `plan`, or, without a kind,
// that nothing may be sent.
namespace {

// An ACK that must leave as a segment of its own: a duplicate ACK, or one before ECE changes. Not
// before our SYN: the ACK of data that arrived with the peer's SYN in one burst comes after it.
bool plan_separate_ack(const Connection& c, const InFlightState& a, SegmentPlan& plan) {
  if ((a.pending_ack_duplicates | a.pending_ack_cut) == 0 ||
      (c.send.nxt == c.send.iss && !synchronized(c.state))) {
    return false;
  }
  plan.kind = PlanKind::ack;
  return true;
}

// A probe of the path MTU, or nothing but ACKs while data is held back for one.
bool plan_path_probe(Engine& e, Connection& c, const InFlightState& a, SegmentPlan& plan) {
  if (!path_may_differ(e, c)) [[likely]] {
    return false;
  }
  follow_path(e, c);
  path_probe::Step const step = path_probe::plan(e, c, plan);
  if (step == path_probe::Step::hold) {
    bare(plan, ack_is_due(a) ? PlanKind::ack : PlanKind::none);
  }
  return step != path_probe::Step::none;
}

// Data between retransmit_next and retransmit_end.
bool plan_retransmission(Engine& e, const Connection& c, const InFlightState& a,
                         SegmentPlan& plan) {
  if (a.retransmit_next.at_or_after(a.retransmit_end)) [[likely]] {
    return false;
  }
  plan = whole(retransmission(e, c, a));
  return plan.kind != PlanKind::none;
}

// A segment without data. Data that arrived with the peer's SYN is acknowledged after the
// handshake.
bool plan_without_data(const Connection& c, const InFlightState& a, SegmentPlan& plan) {
  bool const acknowledges = ack_is_due(a) && synchronized(c.state);
  bare(plan, acknowledges        ? PlanKind::ack
             : a.keepalive_probe ? PlanKind::keepalive
                                 : PlanKind::none);
  return true;
}

// Data that the scoreboard has marked as lost. An added controller may pace it, so that what was
// only late arrives in the meantime. While cwnd has no space for a segment of it, smaller new data
// waits, too: it would take the space that each ACK frees.
bool plan_repair(Engine& e, Connection& c, const InFlightState& a, SegmentPlan& plan) {
  if (!repairs(c, a)) [[likely]] {
    return false;
  }
  plan = whole(plan_lost(e, c));
  if (plan.kind != PlanKind::none) {
    if (e.state->now < a.pace_at && added::possible(e) && added::paces(e, c)) [[unlikely]] {
      pacing::wait(e, c);
      return plan_without_data(c, a, plan);
    }
    return true;
  }
  //= rfc6675#4
  //# 6675:S6675-5 new data only if nothing is lost and not retransmitted
  bool const waits = !a.board.lost_not_retransmitted.empty() && !a.board.pipe.empty() && !a.probe;
  return waits && plan_without_data(c, a, plan);
}

bool plan_tail_probe(Engine& e, Connection& c, const InFlightState& a, SegmentPlan& plan) {
  if (!a.tail.wanted) [[likely]] {
    return false;
  }
  plan = whole(tail_probe::plan(e, c));
  return plan.kind != PlanKind::none;
}

bool plan_window_probe(const Engine& e, const Connection& c, InFlightState& a, SegmentPlan& plan) {
  if (!a.probe) [[likely]] {
    return false;
  }
  plan = whole(window_probe(e, c, a));
  a.probe = plan.kind != PlanKind::none;
  return a.probe;
}

bool plan_new_data(Engine& e, Connection& c, InFlightState& a, SegmentPlan& plan) {
  plan_new(e, c, a, plan);
  return plan.kind != PlanKind::none;
}

// During recovery, if nothing else can be sent: RFC 6675's rescue and speculative retransmissions.
bool plan_rescue(Engine& e, Connection& c, const InFlightState& a, SegmentPlan& plan) {
  if (!repairs(c, a)) [[likely]] {
    return false;
  }
  plan = plan_last_resort(e, c);
  return plan.kind != PlanKind::none;
}

}  // namespace

SegmentPlan plan_next(Engine& e, Connection& c) {
  // The planners fill in the value that is returned: copies would cost more than the planning.
  SegmentPlan plan;
  if (c.active == nil || c.detached) {
    return plan;
  }
  InFlightState& a = e.active(c);
  static_cast<void>(plan_separate_ack(c, a, plan) ||       //
                    plan_path_probe(e, c, a, plan) ||      //
                    plan_retransmission(e, c, a, plan) ||  //
                    plan_repair(e, c, a, plan) ||          //
                    plan_tail_probe(e, c, a, plan) ||      //
                    plan_window_probe(e, c, a, plan) ||    //
                    plan_new_data(e, c, a, plan) ||        //
                    plan_rescue(e, c, a, plan) ||          //
                    plan_without_data(c, a, plan));
  return plan;
}

namespace {

// Whether plan_next would certainly find nothing to send.
bool is_spent(const Connection& c, const InFlightState& a) {
  Sequence const begin = queue_begin(c);
  bool const all_sent = c.fin_sent || (!c.fin_queued && c.send.nxt == begin + a.send.length());
  return all_sent && a.retransmit_next.at_or_after(a.retransmit_end) &&
         a.pending_ack_first == nil && !a.any() && !repairs(c, a) && !a.tail.wanted;
}

}  // namespace

void rotate_ready(Engine& e, Connection& c, InFlightState& a) {
  if (is_spent(c, a)) {
    leave_ready(e, c);
    release_if_idle(e, c, a);
    return;
  }
  ++a.quantum;
  if (a.quantum >= e.config.quantum_segments.value) {
    a.quantum = 0;
    e.ready().remove(c.active);
    e.ready().push_back(c.active);
  }
}

}  // namespace lockstep::tcp
