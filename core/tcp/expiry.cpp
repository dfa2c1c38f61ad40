// Timers of a connection: retransmission, persist, SWS override, delayed ACK, user timeout and
// more.
#include "core/tcp/expiry.hpp"

#include <algorithm>

#include "core/tcp/accounts.hpp"
#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/control.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/opening/fast_open.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/path.hpp"
#include "core/tcp/path_probe.hpp"
#include "core/tcp/pending_ack.hpp"
#include "core/tcp/recovery/sack.hpp"
#include "core/tcp/recovery/spurious.hpp"
#include "core/tcp/recovery/tail_probe.hpp"
#include "core/tcp/replies.hpp"
#include "core/tcp/rtt.hpp"
#include "core/tcp/user_timeout.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

void count(Engine& e, TimerKind kind) {
  ++e.counters->timers_fired[static_cast<std::uint32_t>(kind)];
}

//= rfc9293#3.10.8
//# 9293:P-USER-TIMEOUT flush queues, notify the application, CLOSED
//= rfc9293#3.8.3
//# 9293:MUST-20 at R2 the connection is closed
[[gnu::cold]] void give_up(Engine& e, Connection& c, Cause cause) {
  enter(e, c, State::closed);
  detach(e, c, cause);
}

// Zero-window probes: one now, the next after twice the interval.
//= rfc9293#3.8.6.1
//# 9293:SHLD-30 the interval grows exponentially
[[gnu::cold]] void probe(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  a.mode = RetransmitMode::persist;
  a.probe = true;
  a.persist_backoff = static_cast<std::uint8_t>(std::min(a.persist_backoff + 1, 16));
  // Repeated before R2 unless an answer arrives: one lost packet must not end the connection.
  Duration const interval = probe_interval(e, c);
  bool const bounded = c.user_timeout_ms != 0;
  Duration const share = Duration::milliseconds(c.user_timeout_ms / 3);
  a.retransmit_due =
      due_in(e, bounded ? std::min(interval, std::max(share, c.rtt.rto())) : interval);
  if (c.reading_over) {
    bound_closed_window(e, c);
  }
  make_ready(e, c);
}

//= rfc9293#3.8.3
//# 9293:MUST-20, 9293:SHLD-9, 9293:SHLD-10 at R1 IP is advised and the application notified
void advise(Engine& e, Connection& c) {
  if (c.retries < e.config.r1_retransmissions.value) {
    return;
  }
  // Again with each further one: with a short RTO the last ACK is too recent at R1 for the
  // neighbour to be doubted.
  c.doubt_next_hop = true;
  if (c.retries == e.config.r1_retransmissions.value && c.soft_errors) {
    // A cause from ICMP that was not reported yet is more specific.
    c.soft_cause = c.soft_cause == Cause::none ? Cause::retransmitting : c.soft_cause;
    notify(e, c, EventKind::soft_error);
  }
}

//= rfc9293#3.10.8
//# 9293:P-RTO retransmit the front of the queue and restart the timer
[[gnu::cold]] void retransmit(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  //= rfc9293#3.8.6
  //# 9293:MUST-35 the window was shrunk to zero: probe instead
  bool const shut = synchronized(c.state) && c.send.wnd.empty();
  if (shut && !retransmits_into_zero(e, c, a)) {
    a.retransmit_end = a.retransmit_next;
    a.timing = false;
    probe(e, c);
    return;
  }
  // Nobody waits for ever for a peer that answers and lets nothing in.
  if (shut && c.reading_over) [[unlikely]] {
    bound_closed_window(e, c);
  }
  c.retries = static_cast<std::uint8_t>(std::min(c.retries + 1, 255));
  ++e.counters->timeouts;
  if (accounts_kept(e)) {
    accounts::note_timeout(e, c);
  }
  if (synchronized(c.state)) {
    if (!shut) {
      path_probe::on_timeout(e, c);
    }
    //= rfc9293#3.8.2
    //# 9293:MUST-19 slow start after a timeout
    spurious::remember(e, c, true);
    congestion::on_timeout(e, c, c.retries == 1);
    //= rfc6582#3.2
    //# 6582:NR-5 recover is the highest sequence number sent
    c.congestion.recover = c.send.nxt.previous();
  } else {
    c.syn_lost = true;
    doubt_fast_open(e, c);
  }
  //= rfc6298#5.4
  //# 6298:RTO-13 the earliest unacknowledged segment
  //= rfc9293#3.6
  //# 9293:P-CLOSE-DELIVER data and FIN alike, until they are acknowledged
  //= rfc9293#3.5.1
  //# 9293:P-HALFOPEN-RETRY and a SYN, after the stale side was reset
  if (!synchronized(c.state) || !c.sack || !lose_on_timeout(e, c)) {
    a.retransmit_next = c.send.una;
    a.retransmit_end = c.send.nxt;
  }
  a.timing = false;
  if (c.state != State::syn_sent || c.retries > e.config.syn_linear_timeouts.value) {
    back_off(c.rtt, e.config);
  }
  //= rfc6298#5.6
  //# 6298:RTO-15, 6298:RTO-9 the timer restarts with the doubled RTO
  a.mode = RetransmitMode::retransmit;
  a.retransmit_due = due_in(e, c.rtt.rto());
  if (a.pending_mtu != 0) [[unlikely]] {
    apply_pending_mtu(e, c);
  }
  make_ready(e, c);
  if (!shut) {
    advise(e, c);
  }
}

void expire_retransmit(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  a.retransmit_due = Instant::never();
  switch (a.mode) {
    case RetransmitMode::retransmit:
      count(e, TimerKind::retransmit);
      retransmit(e, c);
      break;
    case RetransmitMode::persist:
      count(e, TimerKind::persist);
      probe(e, c);
      break;
    case RetransmitMode::reordering:
      count(e, TimerKind::reordering);
      expire_reordering(e, c);
      break;
    case RetransmitMode::loss_probe:
      count(e, TimerKind::loss_probe);
      tail_probe::expire(e, c);
      break;
    case RetransmitMode::sws_override:
      count(e, TimerKind::sws_override);
      a.mode = RetransmitMode::idle;
      a.override = true;
      make_ready(e, c);
      break;
    case RetransmitMode::idle:
      CHECK(a.mode != RetransmitMode::idle);
      break;
  }
}

//= rfc9293#3.8.4
//# 9293:MUST-26 probe only if nothing is in flight and nothing was received for the interval
void expire_keepalive(Engine& e, Connection& c) {
  Duration const idle = Duration::milliseconds(c.keepalive_idle_ms);
  Instant const quiet_since = c.heard_at;
  bool const silent = e.state->now.since(quiet_since) >= idle;
  bool const quiet = silent && c.send.una == c.send.nxt;
  if (!c.keepalive || !is_watched(c)) {
    set_slow(e, c, Instant::never());
    return;
  }
  if (!quiet) {
    c.keepalive_probes = 0;
    // With data in flight the retransmission timer checks the peer: look again after the interval.
    Duration const past = silent ? Duration{} : e.state->now.since(quiet_since);
    set_slow(e, c, due_in(e, idle - past));
    return;
  }
  count(e, TimerKind::keepalive);
  //= rfc9293#3.8.4
  //# 9293:MUST-29 an unanswered probe alone does not end the connection; the full count does
  if (c.keepalive_probes >= keepalive_probes_of(e, c).value) {
    send_reset(e, c);
    give_up(e, c, Cause::keepalive_timed_out);
    return;
  }
  set_slow(e, c, due_in(e, keepalive_interval_of(e, c)));
  // If there is no resource for a probe, the peer's silence does not count.
  if (InFlightState* a = ensure_active(e, c)) {
    ++c.keepalive_probes;
    a->keepalive_probe = true;
    make_ready(e, c);
  }
}

void expire_slow(Engine& e, Connection& c) {
  if (!c.reading_over) {
    expire_keepalive(e, c);
    return;
  }
  if (c.state == State::fin_wait_2) {
    count(e, TimerKind::fin_wait_2);
    give_up(e, c, Cause::timed_out);
    return;
  }
  // See bound_closed_window().
  count(e, TimerKind::give_up);
  if (aborts_with_reset(c)) {
    send_reset(e, c);
  }
  give_up(e, c, Cause::timed_out);
}

bool due(Instant instant, Instant now) { return instant <= now; }

// R2 has passed. If the retransmission timer should have fired before, the driver stalled for
// longer than R2, so the peer may never have had a retransmission to answer: sends it now, and
// allows the peer until that timer fires again.
[[gnu::cold]] void expire_give_up(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  if (a.retransmit_due < a.give_up_due) {
    expire_retransmit(e, c);
    a.give_up_due = a.retransmit_due;
    arm(e, c);
    return;
  }
  bool const own = !synchronized(c.state) || has_own_timeout(e, c);
  bool const later = !a.retransmit_due.is_never() && a.give_up_due < a.retransmit_due;
  if (e.config.give_up_at_timer && !own && later) {
    a.give_up_due = a.retransmit_due;
    arm(e, c);
    return;
  }
  count(e, TimerKind::give_up);
  give_up(e, c, Cause::timed_out);
}

// Whether the longest interval has passed since the last probe for a connection that no application
// has any more.
bool orphan_is_over(const Engine& e, const Connection& c) {
  return e.config.orphan_until_persist_max && c.reading_over &&
         e.active(c).mode == RetransmitMode::persist &&
         probe_interval(e, c) >= e.config.persist_max;
}

}  // namespace

[[gnu::cold]] void expire_connection(Engine& e, Connection& c) {
  CHECK(!c.detached);
  Instant const now = e.state->now;
  // Without an active part only the slow timer can be on the wheel, and only if it runs.
  bool slow = c.slow && c.active == nil;
  if (c.active != nil && due(e.active(c).give_up_due, now)) {
    expire_give_up(e, c);
    return;
  }
  if (c.active != nil && due(e.active(c).delayed_ack_due, now)) {
    count(e, TimerKind::delayed_ack);
    ack_now(e, c);
  }
  if (c.active != nil && due(e.active(c).retransmit_due, now)) {
    if (orphan_is_over(e, c)) [[unlikely]] {
      count(e, TimerKind::give_up);
      give_up(e, c, Cause::timed_out);
      return;
    }
    expire_retransmit(e, c);
  }
  if (c.active != nil && due(e.active(c).pace_due, now)) {
    count(e, TimerKind::pacing);
    e.active(c).pace_due = Instant::never();
    make_ready(e, c);
  }
  slow = slow || (c.active != nil && due(e.active(c).slow_due, now));
  if (slow) {
    expire_slow(e, c);
  }
  if (!c.detached) {
    arm(e, c);
  }
}

[[gnu::cold]] Instant stepped(Instant now, Duration delay) {
  constexpr std::uint64_t ms = 1'000'000, first = 63;
  std::uint64_t step = 1;
  while (delay.ns / ms >= first * step && step < 1u << 18) {
    step *= 8;
  }
  // Any phase would do; with this one the steps are Linux's, if both run a script in virtual time.
  constexpr std::uint64_t phase = 249'424;
  std::uint64_t const into = (phase % step) * ms;
  return {((now + delay + Duration{step * ms - into}).ns / (step * ms)) * step * ms + into};
}

namespace {

Duration limit_of(std::uint32_t user_timeout_ms) {
  return user_timeout_ms == 0 ? Duration::forever() : Duration::milliseconds(user_timeout_ms);
}

}  // namespace

Duration probe_interval(const Engine& e, const Connection& c) {
  InFlightState const& a = e.active(c);
  Duration const wait = c.rtt.rto() * (std::uint64_t{1} << a.persist_backoff);
  return a.persist_backoff == 0 ? wait : std::min(wait, e.config.persist_max);
}

Duration syn_limit(const Engine& e, std::uint32_t user_timeout_ms) {
  Duration const user = limit_of(user_timeout_ms);
  //= rfc9293#3.8.3
  //# 9293:MUST-22, 9293:MUST-23, 9293:P-SYN-R1R2 a SYN has its own R2, three minutes
  return e.config.syn_timeout.ns == 0 ? user : std::min(user, e.config.syn_timeout);
}

namespace {

// R2 of our SYN-ACK, with Config's syn_received_timeout. Not inlined: most timeouts are of data.
[[gnu::cold, gnu::noinline]] Duration own_syn_received_limit(const Engine& e, const Connection& c) {
  return syn_received_limit(e, c.user_timeout_ms);
}

}  // namespace

Duration syn_received_limit(const Engine& e, std::uint32_t user_timeout_ms) {
  Duration const own = e.config.syn_received_timeout;
  return own.ns == 0 ? syn_limit(e, user_timeout_ms) : std::min(limit_of(user_timeout_ms), own);
}

void set_give_up(const Engine& e, const Connection& c, InFlightState& a) {
  //= rfc9293#3.8.3
  //# 9293:MUST-21 the application sets R2; infinity is possible
  //= rfc9293#3.9.1.1
  //# 9293:P-OPEN-TIMEOUT data not delivered within the user timeout ends the connection
  //= rfc9293#3.9.1.4
  //# 9293:P-CLOSE-TOABORT so a CLOSE that cannot complete becomes an ABORT
  //= rfc9293#3.6
  //# 9293:P-CLOSE-NOACK and so does a FIN that is never acknowledged
  Duration limit =
      synchronized(c.state) ? limit_of(c.user_timeout_ms) : syn_limit(e, c.user_timeout_ms);
  if (c.state == State::syn_received && e.config.syn_received_timeout.ns != 0) [[unlikely]] {
    limit = own_syn_received_limit(e, c);
  }
  bool const late = e.config.timer_steps && synchronized(c.state) && c.user_timeout_ms != 0;
  a.give_up_due = late ? due_in(e, limit) : e.state->now + limit;
}

namespace {

// The peer is alive: R2 ends, but for a user timeout that counts while probes are answered, and the
// next probe waits for its whole interval.
[[gnu::cold]] void note_probe_answer(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  if (!a.give_up_due.is_never()) {
    a.retransmit_due = e.config.probe_from_answer
                           ? due_in(e, probe_interval(e, c))
                           : later(a.retransmit_due, c.sent_at + probe_interval(e, c));
    bool const counts = e.config.user_timeout_while_answered && has_own_timeout(e, c);
    a.give_up_due = counts ? a.give_up_due : Instant::never();
    arm(e, c);
  }
}

}  // namespace

void reset_unanswered_probes(Engine& e, Connection& c) {
  if (c.keepalive_probes != 0) {
    c.keepalive_probes = 0;
    if (is_watched(c)) {
      begin_keepalive(e, c);
    }
  }
  //= rfc9293#3.8.6.1
  //# 9293:MUST-37 as long as probes are answered the connection stays open
  // R2 starts at the first unanswered probe, however long the probe interval is.
  if (c.send.wnd.empty() && c.active != nil) {
    if (e.active(c).mode == RetransmitMode::persist) {
      note_probe_answer(e, c);
    } else if (e.config.shrunk_retransmitted && !e.active(c).give_up_due.is_never()) {
      set_give_up(e, c, e.active(c));
    }
  }
}

bool is_watched(const Connection& c) {
  return !c.reading_over && (c.state == State::established || c.state == State::close_wait ||
                             c.state == State::fin_wait_2);
}

void begin_keepalive(Engine& e, Connection& c) {
  if (c.keepalive && !c.reading_over) {
    set_slow(e, c, due_in(e, Duration::milliseconds(c.keepalive_idle_ms)));
    arm(e, c);
  }
}

void begin_orphan(Engine& e, Connection& c) {
  if (c.slow) {
    set_slow(e, c, Instant::never());
  }
  bool const waits = c.active != nil &&
                     (e.active(c).mode == RetransmitMode::persist || e.config.shrunk_retransmitted);
  if (waits && c.send.wnd.empty()) {
    bound_closed_window(e, c);
  }
}

//= rfc9293#3.8.6.1
//# 9293:MUST-37 a connection in use stays open; this one is not, as no application has it any more
void bound_closed_window(Engine& e, Connection& c) {
  if (!c.slow && e.config.orphan_timeout.ns != 0) {
    set_slow(e, c, e.state->now + e.config.orphan_timeout);
    arm(e, c);
  }
}

void bound_fin_wait_2(Engine& e, Connection& c) {
  if (c.reading_over) {
    set_slow(e, c, e.state->now + e.config.fin_wait_2);
    arm(e, c);
  } else {
    // RFC 9293 sets no limit here, because the peer may still send; keep-alives detect a dead peer.
    if (c.slow) {
      set_slow(e, c, Instant::never());
    }
    begin_keepalive(e, c);
  }
}

}  // namespace lockstep::tcp
