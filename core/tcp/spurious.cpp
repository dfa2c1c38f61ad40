// Recoveries that were none: spurious timeouts (RFC 5682), and losses that arrived (RFC 2883).
#include "core/tcp/spurious.hpp"

#include <algorithm>

#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/reno.hpp"

namespace lockstep::tcp::spurious {
namespace {

// New text can leave at once: F-RTO learns nothing otherwise.
bool has_news(const Connection& c, const Active& a) {
  bool const unsent = (c.send.una + a.send.length()).after(c.send.nxt);
  return unsent && (c.send.una + c.send.wnd).after(c.send.nxt);
}

// The window is what it was before the answer; what is out is trusted to arrive.
void restore(Engine& e, Connection& c) {
  Active& a = e.active(c);
  c.congestion.ssthresh = most(c.congestion.ssthresh, a.undo_ssthresh);
  c.congestion.cwnd = most(c.congestion.cwnd, a.undo_cwnd);
  c.congestion.recovering = false;
  a.undo_armed = false;
}

//= rfc5682#3.1
//# 5682:FRTO-13 the timeout was spurious: what it found lost is in flight, RecoveryPoint SND.UNA
//= rfc5682#4
//# 5682:FRTO-14 the window is restored only if that is asked for; else RFC 5681's answer stands
void forgive_timeout(Engine& e, Connection& c, Board& board) {
  Active& a = e.active(c);
  board.revive();
  a.watch = TimeoutWatch::off;
  a.after_timeout = false;
  c.congestion.recover = c.send.una.previous();
  ++e.counters->spurious_timeouts;
  if (e.config.undo) {
    restore(e, c);
    // No burst: as much as is out, and what the ACK made room for.
    Bytes const room = flight_size(c) + reno::initial_window(Bytes{c.mss}, e.config.initial_window);
    c.congestion.cwnd = least(c.congestion.cwnd, room);
  }
}

// Step 2: the ACK of what was sent again.
void judge_first(Engine& e, Connection& c) {
  Active& a = e.active(c);
  bool const part = c.send.una.before(a.watch_end);
  //= rfc5682#3.1
  //# 5682:FRTO-11 it covers that, but not all that was out; else nothing is known
  if (part || c.send.una.after(c.congestion.recover) || !has_news(c, a)) {
    a.watch = TimeoutWatch::off;
    return;
  }
  a.watch = TimeoutWatch::news;
  a.watch_end = c.send.nxt;
  c.congestion.recover = c.send.nxt.previous();
}

// Step 3: the next one.
void judge_second(Engine& e, Connection& c, Board& board, const AckNews& news, Shown shown) {
  Active& a = e.active(c);
  if (!shown.advances && news.newly_sacked.empty() && !shown.duplicate) {
    return;
  }
  bool const beyond = c.send.una.after(a.watch_end) || board.highest_end(c).after(a.watch_end);
  if (!beyond && !news.delivered.empty()) {
    forgive_timeout(e, c, board);
    return;
  }
  //= rfc5682#3.1
  //# 5682:FRTO-12 what was sent since has overtaken it: it was lost, and slow start goes on
  a.watch = TimeoutWatch::off;
  c.congestion.cwnd = least(c.congestion.cwnd, Bytes{3u * c.mss});
}

// All that was sent again came twice.
void judge_duplicate(Engine& e, Connection& c, const AckNews& news) {
  Active& a = e.active(c);
  if (!a.undo_armed || !news.has_duplicate || news.duplicate.begin.before(a.undo_mark)) {
    return;
  }
  a.undo_octets -= news.duplicate.end.since(news.duplicate.begin);
  if (a.undo_octets.empty() && !a.after_timeout) {
    ++e.counters->recoveries_undone;
    restore(e, c);
  }
}

}  // namespace

//= rfc5682#3.1
//# 5682:FRTO-10 not if losses were being repaired already
//# 5682:FRTO-11 a further timeout begins anew
void remember(Engine& e, Connection& c, bool timeout) {
  Active& a = e.active(c);
  bool const again = timeout && a.after_timeout;
  if (!again) {
    a.undo_cwnd = c.congestion.cwnd;
    a.undo_ssthresh = c.congestion.ssthresh;
    a.undo_mark = c.send.una;
    a.undo_octets = {};
  }
  a.undo_armed = e.config.undo && !timeout;
  bool const fresh = !c.congestion.recovering && (!again || a.watch == TimeoutWatch::first);
  a.watch = timeout && e.config.frto && c.sack && fresh ? TimeoutWatch::first : TimeoutWatch::off;
  a.watch_end = first_of(c.send.una + Bytes{c.mss}, c.send.nxt);
}

void note_again(Active& a, Bytes octets) { a.undo_octets += a.undo_armed ? octets : Bytes{}; }

void on_ack(Engine& e, Connection& c, Board& board, const AckNews& news, Shown shown) {
  Active& a = e.active(c);
  if (a.watch == TimeoutWatch::first && shown.advances) {
    judge_first(e, c);
  } else if (a.watch == TimeoutWatch::news) {
    judge_second(e, c, board, news, shown);
  }
  judge_duplicate(e, c, news);
}

}  // namespace lockstep::tcp::spurious
