// Detection of spurious recoveries and timeouts: by F-RTO (RFC 5682), D-SACK (2883), Eifel (3522).
#include "core/tcp/recovery/spurious.hpp"

#include <algorithm>

#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/reno.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/path_probe.hpp"
#include "core/tcp/record_ends.hpp"
#include "core/tcp/rtt.hpp"
#include "core/tcp/sack_report.hpp"
#include "core/tcp/timestamps.hpp"
#include "core/tcp/window_scale.hpp"

namespace lockstep::tcp::spurious {
namespace {

// Whether a segment of new data can be sent at once; F-RTO needs one. The ACK has advanced SND.UNA,
// and its window is not in SND.WND yet.
bool has_new_data(const Engine& e, const Connection& c, const InFlightState& a,
                  const wire::Segment& ack) {
  Sequence const end = c.send.una + a.send.length();
  Bytes const unsent = end.since(c.send.nxt);
  Bytes const usable = (ack.acknowledgment + offered_window(c, ack)).since(c.send.nxt);
  Bytes const next = a.send.record_ends == 0 ? unsent : queued_of_record(e, c, unsent);
  Bytes const fits = least(next, usable);
  bool const last = fits == next && (next < unsent || a.pushed.at_or_after(end));
  return !fits.empty() && (fits.count >= eff_snd_mss(c, a) || last);
}

// Whether data that an earlier timeout marked as lost is still unacknowledged.
bool repairs_timeout(const Connection& c, const InFlightState& a) {
  if (a.board.order.count != 0) {
    return a.after_timeout;
  }
  return !c.congestion.recovering && c.congestion.recover.at_or_after(c.send.una);
}

std::uint32_t ticks(const Engine& e, Instant instant) {
  return static_cast<std::uint32_t>(instant.ns / e.config.timestamp_tick.ns);
}

bool is_marked(const Connection& c, const wire::Segment& segment) {
  return c.ecn.tx && segment.flags.ece();
}

// Restores cwnd and ssthresh to their values before the reduction. The next loss or ECE reduces
// them again, unless an earlier ECE had reduced the same window.
void restore(Connection& c, InFlightState& a, Bytes cwnd) {
  path_probe::end_suppression(c, a);
  c.congestion.ssthresh = most(c.congestion.ssthresh, a.undo_ssthresh);
  // At least one segment of the current size, because the path MTU may have grown.
  c.congestion.cwnd = most(cwnd, Bytes{c.mss});
  c.congestion.recovering = false;
  c.congestion.partial_seen = false;
  a.reduced_to = last_of(a.undo_reduced_to, c.send.una.previous());
  a.undo_armed = false;
}

// Trusts that data marked as lost will be delivered. A loss from now on starts a recovery of its
// own.
void cancel_losses(Connection& c, InFlightState& a, Scoreboard& board) {
  if (board.tracks()) {
    board.clear_lost();
  }
  //= rfc4015#3.1
  //# 4015:EIFR-3 stop retransmitting: continue with new data
  a.retransmit_end = a.retransmit_next;
  //= rfc5682#2.1
  //# 5682:FRTO-7 recover permits a fast retransmit by the next duplicates
  c.congestion.recover = c.send.una - Bytes{2};
}

// The ACK that shows a timeout to be spurious.
struct SpuriousTimeout {
  Bytes acked;
  bool marked = false;    // it has ECE
  bool restores = false;  // it permits restoring the window
};

//= rfc5682#3.1
//# 5682:FRTO-13 the timeout was spurious: lost data is in flight, RecoveryPoint is SND.UNA
//= rfc5682#4
//# 5682:FRTO-14 restore the window only if configured; otherwise RFC 5681's reduction stays
void undo_timeout(Engine& e, Connection& c, Scoreboard& board, const SpuriousTimeout& by) {
  InFlightState& a = e.active(c);
  cancel_losses(c, a, board);
  a.watch = TimeoutWatch::off;
  a.echo_armed = false;
  a.after_timeout = false;
  ++e.counters->spurious_timeouts;
  if (!by.restores) {
    return;
  }
  a.rto_suspect = true;
  //= rfc4015#3.4
  //# 4015:EIFR-5 the ACK has ECE: the window stays reduced
  if (by.marked) {
    return;
  }
  //= rfc4015#3.1
  //# 4015:EIFR-4 FlightSize plus what the ACK freed, at most an initial window
  Bytes const more = least(by.acked, reno::initial_window(Bytes{c.mss}, e.config.initial_window));
  restore(c, a, most(c.congestion.cwnd, least(a.undo_cwnd, flight_size(c)) + more));
}

// Undoes a recovery by duplicates or by SACK that one echo has shown to be spurious.
void undo_recovery(Engine& e, Connection& c, Scoreboard& board, AckSample& news) {
  InFlightState& a = e.active(c);
  cancel_losses(c, a, board);
  ++e.counters->recoveries_undone;
  // The data marked as lost was only late: reordering.
  news.reordered = true;
  restore(c, a, a.undo_cwnd);
}

// Steps 3 to 6 of Eifel. Returns whether a loss was found spurious.
//= rfc3522#3.2
//# 3522:EIFD-4 only the first ACK of new data is used
bool check_echo(Engine& e, Connection& c, Scoreboard& board, AckSample& news,
                const wire::Segment& segment) {
  InFlightState& a = e.active(c);
  EchoWatch const& watch = a.echo;
  a.echo_armed = false;
  std::uint32_t const echo = segment.options.timestamp_echo - c.options.ts_offset;
  std::uint32_t const first = ticks(e, watch.first_at);
  //= rfc3522#3.2
  //# 3522:EIFD-4 it echoes a timestamp sent before the retransmission
  bool const before =
      watch.retransmitted_at.is_never() || is_older({echo, ticks(e, watch.retransmitted_at)});
  // A misbehaving peer would have to know when the missing segment was sent (section 3.4). Without
  // RACK that time is not stored; then the echo must be no older than the data in flight.
  std::uint32_t const now = ticks(e, e.state->now);
  bool const between = !is_older({echo, first}) && !is_older({now, echo});
  bool const sent = watch.exact ? echo == first : between;
  //= rfc3522#3.2
  //# 3522:EIFD-5 no D-SACK in it; and the peer supports D-SACK, or more data is in flight
  bool const detectable = c.options.has(negotiated::duplicates) || c.send.una != c.send.nxt;
  if (!segment.options.has_timestamps || !before || !sent || news.has_duplicate || !detectable) {
    return false;
  }
  bool const marked = is_marked(c, segment);
  //= rfc3522#3.2
  //# 3522:EIFD-6 either a timeout was spurious, or a fast recovery
  if (watch.timeout) {
    undo_timeout(e, c, board, {news.delivered, marked, true});
    return true;
  }
  if (marked || a.path_probe.suppressed) {
    return false;
  }
  undo_recovery(e, c, board, news);
  return true;
}

// Step 2 of F-RTO: the ACK of the retransmitted segment.
//= rfc5682#2.1
//# 5682:FRTO-3 it covers that segment but not all that was in flight; otherwise inconclusive
void check_first_ack(Engine& e, Connection& c, const wire::Segment& segment) {
  InFlightState& a = e.active(c);
  bool const part = c.send.una.before(a.watch_end);
  //= rfc5682#3.1
  //# 5682:FRTO-11 the same with SACK
  //= rfc5682#2.1
  //# 5682:FRTO-5 nor if there is no new data to send: slow start continues
  if (part || c.send.una.after(c.congestion.recover) || !has_new_data(e, c, a, segment)) {
    a.watch = TimeoutWatch::off;
    return;
  }
  //= rfc5682#2.1
  //# 5682:FRTO-4 send new data instead of the next retransmission
  a.watch = TimeoutWatch::news;
  a.watch_end = c.send.nxt;
  a.retransmit_next = a.retransmit_end;
  c.congestion.recover = c.send.nxt.previous();
}

// The ACK of new data shows that data was lost: continue slow start.
void confirm_loss(Connection& c, InFlightState& a) {
  a.watch = TimeoutWatch::off;
  c.congestion.cwnd = least(c.congestion.cwnd, Bytes{3u * c.mss});
}

// Step 3 with SACK: the next ACK. Returns whether a loss was found spurious.
bool check_second_ack(Engine& e, Connection& c, Scoreboard& board, const AckSample& news,
                      Shown shown) {
  InFlightState& a = e.active(c);
  // As in Linux, a report of a duplicate alone is no duplicate ACK (6675:S6675-13): it does not
  // show that new data arrived above a gap.
  bool const duplicate = shown.duplicate && !news.has_duplicate;
  if (!shown.advances && news.newly_sacked.empty() && !duplicate) {
    return false;
  }
  bool const beyond = c.send.una.after(a.watch_end) || board.highest_end(c).after(a.watch_end);
  if (!beyond && !news.delivered.empty()) {
    undo_timeout(e, c, board, {news.delivered, shown.marked, e.config.undo});
    return e.config.undo;
  }
  //= rfc5682#3.1
  //# 5682:FRTO-12 data sent since was delivered before it: it was lost; continue slow start
  confirm_loss(c, a);
  return false;
}

// How many octets of the block were retransmitted.
Bytes overlap(const Retransmitted& again, const wire::SackBlock& block) {
  Bytes sum;
  for (std::uint32_t i = 0; i != again.count; ++i) {
    Range const& range = again.ranges[i];
    sum += first_of(range.end, block.end).since(last_of(range.begin, block.begin));
  }
  return least(sum, block.end.since(block.begin));
}

// All retransmissions were reported as duplicates: undo the reduction. Returns whether this report
// is about one of them; copies of other data were made by the network.
bool check_duplicate(Engine& e, Connection& c, Scoreboard& board, AckSample& news, bool marked) {
  InFlightState& a = e.active(c);
  constexpr std::int32_t far = 1 << 30;
  // Too old for a report to arrive, and sequence numbers wrap.
  a.undo_armed = a.undo_armed && c.send.una.distance_from(a.undo_mark) <= far;
  if (!a.undo_armed || !news.has_duplicate) {
    return false;
  }
  Bytes const reported = overlap(a.again, news.duplicate);
  a.undo_octets -= reported;
  if (reported.empty() || !a.undo_octets.empty() || a.after_timeout) {
    return !reported.empty();
  }
  //= rfc4015#3.4
  //# 4015:EIFR-5 the ACK has ECE: the window stays reduced
  a.undo_armed = !marked;
  if (!marked) {
    ++e.counters->recoveries_undone;
    cancel_losses(c, a, board);
    news.reordered = true;
    restore(c, a, most(c.congestion.cwnd, a.undo_cwnd));
  }
  return true;
}

// Stores the variables that the reduction changes.
void save(const Engine& e, const Connection& c, InFlightState& a, bool timeout) {
  CongestionVariables const& v = c.congestion;
  // In recovery cwnd may be inflated, and the flight is too large.
  a.undo_cwnd = v.recovering ? least(v.cwnd, v.ssthresh) : v.cwnd;
  a.undo_ssthresh = v.ssthresh;
  a.undo_reduced_to = last_of(a.reduced_to, c.send.una.previous());
  a.undo_mark = c.send.una;
  a.undo_octets = {};
  a.again.count = 0;
  if (timeout) {
    //= rfc4015#3.1
    //# 4015:EIFR-1 pipe_prev, SRTT_prev and RTTVAR_prev
    a.undo_ssthresh = v.recovering ? v.ssthresh : most(flight_size(c), v.ssthresh);
    std::uint64_t const late = 2 * e.config.rto_granularity.ns;
    a.rtt_before = {c.rtt.srtt8_ns() + 8 * late, c.rtt.rttvar4_ns(), c.send.nxt};
  }
}

// Steps 1 and 2 of Eifel, before the retransmission is sent.
//= rfc3522#3.2
//# 3522:EIFD-1, 3522:EIFD-2 only at the start of a recovery
void await_echo(Engine& e, Connection& c, bool timeout) {
  InFlightState& a = e.active(c);
  a.echo_armed = e.config.undo_by_timestamps && c.options.has(negotiated::timestamps) &&
                 !(timeout && c.congestion.recovering);
  if (!a.echo_armed) {
    return;
  }
  a.echo = {};
  a.echo.timeout = timeout;
  a.echo.first_at = a.unacked_since;
  Scoreboard board(e, a);
  if (board.tracks()) {
    Sent const& first = board.first();
    //= rfc3522#3.2
    //# 3522:EIFD-3 not for a segment that was retransmitted before, as a probe
    a.echo_armed = !first.ever;
    if (e.config.rack) {
      a.echo.first_at = first.sent_at;
      a.echo.exact = true;
    }
  }
}

}  // namespace

//= rfc5682#3.1
//# 5682:FRTO-10 not while losses were already being repaired
//# 5682:FRTO-11 a further timeout restarts it
//= rfc5682#2.1
//# 5682:FRTO-1 likewise without SACK
//# 5682:FRTO-2 but not step 2, if an ACK advanced SND.UNA since the last timeout
//# 5682:FRTO-9 with SACK, or RFC 6675, never in fast recovery; with NewReno also there
void remember(Engine& e, Connection& c, bool timeout) {
  InFlightState& a = e.active(c);
  a.early = a.early && c.send.una.before(a.early_end);
  bool const again = timeout && repairs_timeout(c, a);
  //= rfc4015#3.1
  //# 4015:EIFR-2 no new start while the last timeout's losses are being repaired
  //= rfc3522#3.2
  //# 3522:EIFD-3 RetransmitTS stays the same
  if (!again) {
    save(e, c, a, timeout);
    await_echo(e, c, timeout);
  }
  // Retransmissions are counted only with a scoreboard.
  a.undo_armed = e.config.undo && !timeout && a.board.order.count != 0;
  bool const repairs = c.sack && c.congestion.recovering;
  bool const fresh = !repairs && (!again || a.watch == TimeoutWatch::first);
  a.watch = timeout && e.config.frto && fresh ? TimeoutWatch::first : TimeoutWatch::off;
  a.watch_end = first_of(c.send.una + Bytes{c.mss}, c.send.nxt);
}

void keep_reduction(InFlightState& a) {
  a.undo_armed = false;
  a.echo_armed = a.echo_armed && a.echo.timeout;
  // A spurious timeout is still worth finding, but restores nothing.
  a.undo_cwnd = {};
  a.undo_ssthresh = {};
  a.undo_reduced_to = a.reduced_to;
}

void note_again(const Engine& e, const Connection& c, InFlightState& a, const Range& data) {
  if (!a.undo_armed) {
    return;
  }
  a.undo_octets += data.end.since(data.begin);
  a.undo_until = e.state->now + c.rtt.rto();
  Retransmitted& again = a.again;
  std::uint32_t at = 0;
  while (at != again.count &&
         (data.begin.after(again.ranges[at].end) || data.end.before(again.ranges[at].begin))) {
    ++at;
  }
  if (at == again.count && at != again.ranges.size()) {
    again.ranges[at] = data;
    ++again.count;
    return;
  }
  Range& range = again.ranges[std::min<std::size_t>(at, again.ranges.size() - 1)];
  range = {first_of(range.begin, data.begin), last_of(range.end, data.end)};
}

void note_departure(const Engine& e, const Connection& c, InFlightState& a,
                    const SegmentPlan& plan) {
  //= rfc3522#3.2
  //# 3522:EIFD-2 RetransmitTS is the TSval of the first retransmission
  //# 3522:EIFD-3 and of no later one
  if (a.echo.retransmitted_at.is_never()) {
    a.echo.retransmitted_at = e.state->now;
    a.echo_armed = plan.sequence == c.send.una;
  }
}

bool on_ack(Engine& e, Connection& c, Scoreboard& board, AckSample& news,
            const wire::Segment& segment, Shown shown) {
  InFlightState& a = e.active(c);
  bool held = a.echo_armed && shown.advances && check_echo(e, c, board, news, segment);
  if (a.watch == TimeoutWatch::first && shown.advances) {
    check_first_ack(e, c, segment);
  } else if (a.watch == TimeoutWatch::news) {
    held = check_second_ack(e, c, board, news, shown);
  }
  static_cast<void>(check_duplicate(e, c, board, news, shown.marked));
  return held;
}

bool on_idle_report(Engine& e, Connection& c, AckSample& news, bool marked) {
  Scoreboard board(e, e.active(c));
  return check_duplicate(e, c, board, news, marked);
}

void on_plain_ack(Engine& e, Connection& c, const wire::Segment& segment, Bytes newly) {
  InFlightState& a = e.active(c);
  Scoreboard board(e, a);
  AckSample news;
  news.delivered = newly;
  news.has_duplicate = segment.options.sack_count != 0;
  if (a.echo_armed) {
    static_cast<void>(check_echo(e, c, board, news, segment));
  }
  //= rfc5682#2.1
  //# 5682:FRTO-8 not called for ACKs that neither advance SND.UNA nor are duplicates
  if (a.watch == TimeoutWatch::first) {
    check_first_ack(e, c, segment);
  } else if (a.watch == TimeoutWatch::news) {
    //= rfc5682#2.1
    //# 5682:FRTO-7 data that was not retransmitted was acknowledged: the timeout was spurious
    undo_timeout(e, c, board, {newly, is_marked(c, segment), e.config.undo});
  }
}

void on_plain_duplicate(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  //= rfc5682#2.1
  //# 5682:FRTO-6 new data arrived above a gap: slow start retransmits from SND.UNA on
  if (a.watch == TimeoutWatch::news) {
    confirm_loss(c, a);
    a.retransmit_next = c.send.una;
    make_ready(e, c);
  }
  //= rfc5682#2.1
  //# 5682:FRTO-3 a duplicate instead of the first ACK ends it at once
  a.watch = TimeoutWatch::off;
}

//= rfc4015#3.1
//# 4015:EIFR-6 however long it takes until there is new data
void rest_estimate(Connection& c, const InFlightState& a) {
  c.rto_suspect = true;
  set_aside(c.rtt, a.rtt_before);
}

void resume_estimate(Connection& c, InFlightState& a) {
  c.rto_suspect = false;
  a.rto_suspect = true;
  a.rtt_before = {c.rtt.srtt8_ns(), c.rtt.rttvar4_ns(), c.send.una};
}

void adapt_timeout(const Engine& e, Connection& c, Sequence ack, Duration measured) {
  InFlightState& a = e.active(c);
  //= rfc4015#3.1
  //# 4015:EIFR-6 the first sample of data sent after the timeout
  if (ack.after(a.rtt_before.sent)) {
    a.rto_suspect = false;
    restart_estimate(c.rtt, a.rtt_before, measured, e.config);
  }
}

}  // namespace lockstep::tcp::spurious
