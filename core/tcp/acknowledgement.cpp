// Processing of an acceptable ACK: SND.UNA, the window, duplicates, the retransmission timer.
#include "core/tcp/acknowledgement.hpp"

#include <algorithm>

#include "core/tcp/accounts.hpp"
#include "core/tcp/congestion/adapter.hpp"
#include "core/tcp/congestion/control.hpp"
#include "core/tcp/congestion/reno.hpp"
#include "core/tcp/ecn.hpp"
#include "core/tcp/expiry.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/path_probe.hpp"
#include "core/tcp/record_ends.hpp"
#include "core/tcp/recovery/sack.hpp"
#include "core/tcp/recovery/spurious.hpp"
#include "core/tcp/rtt.hpp"
#include "core/tcp/timestamps.hpp"
#include "core/tcp/window_scale.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

// Retransmits from SND.UNA up to `end`, before new data.
[[gnu::cold]] void retransmit_to(Engine& e, Connection& c, Sequence end) {
  InFlightState& a = e.active(c);
  a.retransmit_next = c.send.una;
  a.retransmit_end = end;
  make_ready(e, c);
}

Sequence one_segment_end(const Engine& e, const Connection& c) {
  Bytes const data = least(Bytes{c.mss}, c.send.nxt.since(c.send.una));
  return c.send.una + within_record(e, c, e.active(c), c.send.una, data);
}

//= rfc6582#6
//# 6582:NR-15 recovery is a flag of its own
[[gnu::cold]] void ack_in_recovery(Engine& e, Connection& c, Bytes newly) {
  if (c.send.una.after(c.congestion.recover) || e.config.fast_recovery == FastRecovery::reno) {
    reno::leave_recovery(c.congestion, reno::flight_of(c));
    path_probe::end_suppression(c, e.active(c));
    return;
  }
  PathProbe const& probe = e.active(c).path_probe;
  if (probe.suppressed && c.send.una.at_or_after(probe.end)) {
    path_probe::other_loss_found(e, c);
  }
  //= rfc6582#3.2
  //# 6582:NR-2, 6582:NR-8 a partial ACK: retransmits the next hole at once; recovery continues
  //= rfc5681#4.3
  //# 5681:CC-44 which repairs several losses in one window
  reno::on_partial_ack(c.congestion, newly, Bytes{c.mss});
  retransmit_to(e, c, one_segment_end(e, c));
}

// Congestion control for an ACK that advanced SND.UNA.
void grow(Engine& e, Connection& c, InFlightState& a, Bytes newly, bool marked) {
  c.congestion.duplicates = 0;
  a.limited = {};
  congestion::on_ack(e, c, newly, marked);
  if (c.congestion.recovering) {
    ack_in_recovery(e, c, newly);
    return;
  }
  clamp_marks(c, a);
}

// With Config's window_smaller_ignored: whether the window of the segment is not taken. To be asked
// after SND.UNA has advanced, when WL2 is its value from before.
[[gnu::cold]] bool lacks_news(const Connection& c, const wire::Segment& s, Bytes offered) {
  bool const news = c.send.wl2.before(s.acknowledgment) || c.send.wl1.before(s.sequence);
  return !news && offered < c.send.wnd && !offered.empty();
}
bool ignores_window(const Engine& e, const Connection& c, const wire::Segment& s, Bytes offered) {
  return e.config.window_smaller_ignored && lacks_news(c, s, offered);
}

//= rfc5681#2
//# 5681:CC-38 data in flight; no data, SYN or FIN; the same ACK and window
// At a zero window an ACK answers a probe and does not indicate a loss.
bool is_duplicate(const Engine& e, const Connection& c, const wire::Segment& segment,
                  Bytes offered) {
  return segment.acknowledgment == c.send.una && !flight_size(c).empty() && !offered.empty() &&
         segment.length().empty() &&
         (offered == c.send.wnd || ignores_window(e, c, segment, offered));
}

// How many segments are in flight beyond the first: each can draw one duplicate.
std::uint32_t followers_in_flight(const Connection& c) {
  return (flight_size(c).count + c.mss - 1) / c.mss - 1;
}

// Tahoe: as after a timeout, but without waiting for it.
[[gnu::cold]] void restart_from_first(Engine& e, Connection& c) {
  reno::on_timeout(c.congestion, Bytes{c.mss});
  e.active(c).timing = false;
  retransmit_to(e, c, c.send.nxt);
}

// Reno knows no `recover`, so each loss of a window reduces cwnd.
bool may_retransmit(const Engine& e, const Connection& c) {
  return may_recover(c) || e.config.fast_recovery == FastRecovery::reno;
}

[[gnu::cold]] void process_duplicate(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  CongestionVariables& v = c.congestion;
  std::uint32_t const most = e.config.duplicates_in_flight ? followers_in_flight(c) : 255u;
  v.duplicates = static_cast<std::uint8_t>(std::min({v.duplicates + 1u, most, 255u}));
  if (a.watch != TimeoutWatch::off) {
    spurious::on_plain_duplicate(e, c);
  }
  if (v.recovering) {
    reno::inflate(v, reno::flight_of(c));
    make_ready(e, c);
    return;
  }
  std::uint32_t const threshold = e.config.duplicate_acks.value;
  //= rfc5681#3.2
  //# 5681:CC-16, 5681:CC-42 the third consecutive duplicate
  if (v.duplicates == threshold && may_retransmit(e, c) &&
      a.retransmit_next.at_or_after(a.retransmit_end)) {
    spurious::remember(e, c, false);
    if (!path_probe::only_probe_lost(e, c)) {
      congestion::on_loss(e, c);
    }
    //= rfc6582#3.2
    //# 6582:NR-1 recover is the highest sequence number sent
    v.recover = c.send.nxt.previous();
    ++e.counters->fast_retransmits;
    if (e.config.fast_recovery == FastRecovery::tahoe) {
      restart_from_first(e, c);
      return;
    }
    reno::enter_recovery(v, Bytes{c.mss});
    retransmit_to(e, c, one_segment_end(e, c));
    return;
  }
  //= rfc5681#3.2
  //# 5681:CC-17, 5681:CC-18 the first two allow one new segment each beyond cwnd
  if (e.config.limited_transmit && v.duplicates < threshold) {
    make_ready(e, c);
  }
}

}  // namespace

void restart_timer(Engine& e, Connection& c, InFlightState& a) {
  c.retries = 0;
  if (c.send.una == c.send.nxt) {
    //= rfc6298#5.2
    //# 6298:RTO-11 all is acknowledged: stop the timer
    a.mode = RetransmitMode::idle;
    a.retransmit_due = Instant::never();
    a.give_up_due = Instant::never();
    return;
  }
  //= rfc6582#3.2
  //# 6582:NR-4 in recovery only the first partial ACK restarts the timer
  bool const partial = c.congestion.recovering;
  if (a.mode == RetransmitMode::persist && c.send.wnd.empty()) [[unlikely]] {
    // A probe was accepted; data beyond it is still outside the window.
    a.retransmit_due = due_in(e, probe_interval(e, c));
  } else if (!partial || !c.congestion.partial_seen) {
    //= rfc6298#5.3
    //# 6298:RTO-12 an ACK of new data restarts the timer
    a.mode = RetransmitMode::retransmit;
    a.retransmit_due = due_in(e, c.rtt.rto());
  }
  c.congestion.partial_seen = partial;
  set_give_up(e, c, a);
  arm(e, a);
}

namespace {

void process_rtt(Engine& e, Connection& c, InFlightState& a, Sequence ack) {
  //= rfc6298#3
  //# 6298:RTO-6, 6298:RTO-7 one segment per round trip is timed, never a retransmitted one
  if (a.timing && ack.at_or_after(a.timed)) {
    a.timing = false;
    if (!is_timed(*e.state)) [[unlikely]] {
      return;
    }
    Duration const measured = e.state->arrived.since(a.timed_at);
    add_rtt_sample(c.rtt, measured, e.config, samples_expected(c));
    a.unacked_since = a.timed_at;
    if (accounts_kept(e)) [[unlikely]] {
      accounts::note_rtt(e, c, measured);
    }
    if (a.rto_suspect) [[unlikely]] {
      spurious::adapt_timeout(e, c, ack, measured);
    }
  }
}

}  // namespace

//= rfc6582#6
//# 6582:NR-14 recover stays valid across the wrap
//= rfc3168#6.1.2
//# 3168:ECN-18 the end of the window last reduced likewise
void clamp_marks(Connection& c, InFlightState& a) {
  constexpr std::int32_t far = 1 << 30;
  if (c.congestion.recovering) {
    return;
  }
  if (c.send.una.distance_from(c.congestion.recover) > far) {
    c.congestion.recover = c.send.una - Bytes{far};
    a.early = a.early && c.send.una.before(a.early_end);
  }
  if (c.send.una.distance_from(a.reduced_to) > far) {
    a.reduced_to = c.send.una - Bytes{far};
  }
}

//= rfc6582#3.2
//# 6582:NR-1, 6582:NR-7 only if the ACK covers more than recover
bool may_recover(const Connection& c) {
  return c.congestion.recover == c.send.iss || c.send.una.previous().after(c.congestion.recover);
}

void advance_una(Engine& e, Connection& c, InFlightState& a, Sequence ack) {
  CHECK(ack.after(c.send.una));
  CHECK(ack.at_or_before(c.send.nxt));
  std::uint32_t data = ack.since(c.send.una).count;
  if (syn_unacknowledged(c)) {
    --data;
  }
  if (c.fin_sent && ack == c.send.nxt) {
    --data;
  }
  //= rfc9293#3.10.7.4
  //# 9293:P-ACK-EST acknowledged data is removed from the retransmission queue
  //= rfc9293#3.4
  //# 9293:P-RTXQ-FULLACK by octets: all before SEG.ACK
  if (data != 0) {
    a.send.drop_front(e.pools, Bytes{data});
  }
  process_rtt(e, c, a, ack);
  if (accounts_kept(e)) [[unlikely]] {
    accounts::note_advance(e, c, ack);
  }
  c.send.una = ack;
  a.retransmit_next = last_of(a.retransmit_next, ack);
  a.retransmit_end = last_of(a.retransmit_end, ack);
  a.pushed = last_of(a.pushed, ack);
  a.small_end = last_of(a.small_end, ack);
  if ((a.path_probe.size | a.pending_mtu) != 0) [[unlikely]] {
    path_probe::on_advance(e, c, a);
  }
  if (c.send_urgent && ack.at_or_after(a.send_up)) {
    c.send_urgent = false;
  }
  if (data != 0) {
    //= rfc9293#3.10.7.4
    //# 9293:P-ACK-USEROK the application is notified of what was acknowledged
    c.writing.acknowledged_untold += Bytes{data};
    notify(e, c, EventKind::acknowledged);
  }
}

//= rfc9293#3.10.7.4
//# 9293:P-WND-UPDATE only a segment newer by SEQ, then by ACK, updates the window
//= rfc9293#3.8.6
//# 9293:P-WND-HIGHACK so that an old segment cannot
// "WL1 =< SEG.SEQ" is the RFC's rule, since WL2 is SND.UNA here unless this ACK has advanced it.
// The RFC has no words for an ACK that advances SND.UNA with a SEG.SEQ below WL1. An honest peer's
// ACKs never decrease, so that segment was sent after all that have arrived: its window is the
// newest. Otherwise a forged segment with a high SEG.SEQ and no window would stop a peer that only
// acknowledges from ever opening its window again.
void update_window(Engine& e, Connection& c, const wire::Segment& segment) {
  Sequence const ack = segment.acknowledgment;
  bool const newer = c.send.una.at_or_before(ack) &&
                     (c.send.wl2.before(ack) || c.send.wl1.at_or_before(segment.sequence));
  if (!newer) {
    return;
  }
  Bytes const offered = offered_window(c, segment);
  if (ignores_window(e, c, segment, offered)) [[unlikely]] {
    return;
  }
  bool const opened = offered > c.send.wnd;
  c.send.wnd = offered;
  c.send.wnd_max = most(c.send.wnd_max, offered);
  c.send.wl1 = segment.sequence;
  c.send.wl2 = segment.acknowledgment;
  if (opened && c.active != nil) {
    window_opened(e, c);
  }
}

void process_ack(Engine& e, Connection& c, const wire::Segment& segment) {
  if (c.sack && judged_by_board(e, c, segment)) {
    process_sack(e, c, segment);
    update_window(e, c, segment);
    return;
  }
  Sequence const ack = segment.acknowledgment;
  //= rfc9293#3.4
  //# 9293:P-ACK-ACCEPTABLE SND.UNA < SEG.ACK =< SND.NXT
  if (ack.after(c.send.una)) {
    InFlightState& a = e.active(c);
    Bytes const newly = ack.since(c.send.una);
    Bytes const before = flight_size(c);
    process_echo(e, c, segment);
    advance_una(e, c, a, ack);
    grow(e, c, a, newly, segment.flags.ece());
    if (a.doubtful()) [[unlikely]] {
      spurious::on_plain_ack(e, c, segment, newly);
    }
    if (segment.flags.ece()) [[unlikely]] {
      ecn::process_ece(e, c, newly);
    }
    if (added::possible(e)) [[unlikely]] {
      added::on_ack(e, c, {newly, newly, before, segment.flags.ece()});
    }
    restart_timer(e, c, a);
    // Acknowledged data frees window space: send more if there is more.
    if (c.send.una != c.send.nxt || !a.send.empty() || c.fin_queued != c.fin_sent) {
      make_ready(e, c, a);
    }
    //= rfc9293#3.10.7.4
    //# 9293:P-ACK-DUP-OLD SEG.ACK =< SND.UNA acknowledges nothing new
  } else if (c.active != nil) {
    if (segment.flags.ece() && ack == c.send.una) [[unlikely]] {
      ecn::process_ece(e, c, Bytes{});
    }
    Bytes const offered = offered_window(c, segment);
    //= rfc5681#3.2
    //# 5681:CC-19, 3042:LTX-3 if SACK is negotiated, a duplicate without SACK blocks has no effect
    bool const news = !c.sack || segment.options.sack_count != 0;
    if (is_duplicate(e, c, segment, offered) && news) {
      process_duplicate(e, c);
      if (added::possible(e)) [[unlikely]] {
        added::restore(e, c);
      }
    }
  }
  update_window(e, c, segment);
}

}  // namespace lockstep::tcp
