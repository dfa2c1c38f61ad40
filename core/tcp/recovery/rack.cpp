// Loss detection by time (RFC 8985): data is lost if data sent well after it was delivered.
#include "core/tcp/recovery/rack.hpp"

#include <algorithm>

#include "core/tcp/accounts.hpp"
#include "core/tcp/congestion/control.hpp"
#include "core/tcp/rtt.hpp"

namespace lockstep::tcp::rack {
namespace {

constexpr std::uint8_t persist_recoveries = 16;

//= rfc8985#6.2
//# 8985:RACK-3 the minimum of the current window of time and of the previous one
// At first SRTT stands in for samples from before the last idle period and from the handshake: the
// minimum is at most that.
void note_rtt(const Engine& e, const Connection& c, RackState& r, Duration rtt) {
  Instant const now = e.state->arrived;
  bool const first = r.least_now.ns == 0;
  if (now.since(r.least_since) > e.config.least_rtt_window) {
    r.least_before = r.least_now;
    r.least_now = rtt;
    r.least_since = now;
  }
  r.least_now = std::min(first ? srtt_of(c.rtt) : r.least_now, rtt);
}

//= rfc8985#6.2
//# 8985:RACK-13 of two with equal times the higher sequence number was sent later
bool left_after(const RackState& r, const Sent& sent) {
  return r.sent_at > sent.sent_at || (r.sent_at == sent.sent_at && r.end.after(sent.end));
}

// Updates RACK.xmit_ts and RACK.end_seq from the newest delivered data.
void note_newest(const Engine& e, const Connection& c, InFlightState& a, const Delivered& newest) {
  RackState& r = a.rack;
  bool const timed = is_timed(*e.state);
  Duration const rtt =
      timed ? e.state->arrived.since(newest.sent_at) : (r.delivered ? r.rtt : srtt_of(c.rtt));
  if (!newest.retransmitted && timed) {
    note_rtt(e, c, r, rtt);
  }
  //= rfc8985#6.2
  //# 8985:RACK-24 the RTT of the newest segment that this ACK delivers
  r.rtt = rtt;
  bool const later = !r.delivered || newest.sent_at > r.sent_at ||
                     (newest.sent_at == r.sent_at && newest.end.after(r.end));
  if (later) {
    r.delivered = true;
    r.sent_at = newest.sent_at;
    r.end = newest.end;
  }
}

//= rfc8985#6.2
//# 8985:RACK-15, 8985:RACK-22 a D-SACK widens the window, once per round
//# 8985:RACK-16 sixteen recoveries without one reset it
void adapt_window(Connection& c, RackState& r, bool duplicate, bool over) {
  if (r.in_round && c.send.una.at_or_after(r.round)) {
    r.in_round = false;
  }
  if (!r.in_round && duplicate) {
    r.in_round = true;
    // With nothing in flight the round ends with the next data.
    r.round = c.send.una == c.send.nxt ? c.send.nxt.next() : c.send.nxt;
    std::uint8_t& steps = c.congestion.reorder_steps;
    steps = static_cast<std::uint8_t>(std::min(steps + 1, 254));
    c.reorder_persist = persist_recoveries;
  } else if (over && c.reorder_persist != 0) {
    --c.reorder_persist;
    if (c.reorder_persist == 0) {
      c.congestion.reorder_steps = 0;
    }
  }
}

// Whether a D-SACK widens the window. To be asked before this ACK shows reordering.
bool widens(const Engine& e, const Connection& c, const AckSample& news) {
  return news.has_duplicate && (c.reordering_seen || e.config.dsack_before_reordering);
}

//= rfc8985#6.2
//# 8985:RACK-6 zero while no reordering was seen and losses are evident
//# 8985:RACK-17 after reordering only time decides
Duration reordering_window(const Engine& e, const Connection& c, const Scoreboard& board) {
  InFlightState const& a = e.active(c);
  bool const enough =
      board.sacked_enough(c) || c.congestion.duplicates >= e.config.duplicate_acks.value;
  if (!c.reordering_seen && (c.congestion.recovering || a.after_timeout || enough)) {
    return {};
  }
  std::uint64_t const steps = c.congestion.reorder_steps + std::uint64_t{1};
  return std::min(Duration{least_rtt(c, a).ns / 4 * steps}, srtt_of(c.rtt));
}

// A lost retransmission is a sign of more congestion than cwnd was reduced for.
//= rfc8985#9.3
//# 8985:RACK-20, 8985:RACK-21 PRR paces by what is delivered; without PRR cwnd is reduced again
void respond_to_lost_retransmission(Engine& e, Connection& c) {
  if (c.congestion.recovering && !e.config.prr) {
    Bytes const before = c.congestion.ssthresh;
    congestion::on_loss(e, c);
    Bytes const half = most(Bytes{before.count / 2}, Bytes{2u * c.mss});
    c.congestion.ssthresh = least(c.congestion.ssthresh, half);
    c.congestion.cwnd = c.congestion.ssthresh;
    responded(e, e.active(c));
  }
}

}  // namespace

Duration least_rtt(const Connection& c, const InFlightState& a) {
  RackState const& r = a.rack;
  Duration const least =
      r.least_before.ns == 0 ? r.least_now : std::min(r.least_now, r.least_before);
  return least.ns == 0 ? srtt_of(c.rtt) : least;
}

void responded(Engine& e, InFlightState& a) { a.rack.responded_at = e.state->now; }

//= rfc8985#6.2
//# 8985:RACK-7, 8985:RACK-23 sent before it, and not delivered within a reordering window
//# 8985:RACK-8 the timer waits for the last segment that may still become lost
Instant find_losses(Engine& e, Connection& c, Scoreboard& board, Instant at) {
  RackState const& r = e.active(c).rack;
  Instant wait = Instant::never();
  if (!r.delivered || !board.tracks()) {
    return wait;
  }
  Duration const loss_delay = r.rtt + reordering_window(e, c, board);
  bool lost_again = false;
  for (Index i = board.oldest(); i != nil && board.at(i).sent_at <= r.sent_at;) {
    Index const younger = board.younger(i);
    Sent const& sent = board.at(i);
    if (left_after(r, sent)) {
      Instant const due = sent.sent_at + loss_delay;
      if (due <= at) {
        lost_again = lost_again || (sent.retransmitted && sent.sent_at >= r.responded_at);
        //= rfc8985#6.2
        //# 8985:RACK-18 it no longer counts as in flight
        static_cast<void>(board.lose(i));
      } else {
        wait = wait.is_never() ? due : later(wait, due);
      }
    }
    i = younger;
  }
  if (lost_again) {
    respond_to_lost_retransmission(e, c);
  }
  return wait;
}

//= rfc8985#6.2
//# 8985:RACK-19 on every ACK
//# 8985:RACK-4 by what was delivered, but not by ACKs that may answer an earlier transmission
Instant on_ack(Engine& e, Connection& c, Scoreboard& board, const AckSample& news, bool over) {
  InFlightState& a = e.active(c);
  if (news.has_newest) {
    note_newest(e, c, a, news.newest);
  }
  //= rfc8985#6.2
  //# 8985:RACK-5 reordering was seen
  //= rfc8985#4
  //# 8985:RACK-22 or inferred: if every late segment is retransmitted at once, reordering is never
  //# 8985:RACK-22 seen and the window would stay zero, however many D-SACKs ask for a wider one
  bool const felt = news.has_duplicate && !a.after_timeout && !a.tail.out;
  bool const wider = widens(e, c, news);
  c.reordering_seen = c.reordering_seen || news.reordered || felt;
  if (news.reordered && accounts_kept(e)) [[unlikely]] {
    accounts::note_reordering(e, c, news.overtaken);
  }
  adapt_window(c, a.rack, wider, over);
  return find_losses(e, c, board, e.state->arrived);
}

void on_idle_report(Engine& e, Connection& c, const AckSample& news) {
  bool const wider = widens(e, c, news);
  c.reordering_seen = c.reordering_seen || news.reordered;
  adapt_window(c, e.active(c).rack, wider, false);
}

//= rfc8985#6.3
//# 8985:RACK-9 the first segment, and all older than an RTT plus the reordering window
void lose_on_timeout(Engine& e, Connection& c, Scoreboard& board) {
  RackState const& r = e.active(c).rack;
  Duration const rtt = r.delivered ? r.rtt : srtt_of(c.rtt);
  board.lose_older(rtt + reordering_window(e, c, board));
}

}  // namespace lockstep::tcp::rack
