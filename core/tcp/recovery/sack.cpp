// ACK processing and loss recovery with SACK (RFC 6675).
#include "core/tcp/recovery/sack.hpp"

#include <algorithm>
#include <array>

#include "core/tcp/accounts.hpp"
#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/adapter.hpp"
#include "core/tcp/congestion/control.hpp"
#include "core/tcp/congestion/reno.hpp"
#include "core/tcp/ecn.hpp"
#include "core/tcp/expiry.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/path_probe.hpp"
#include "core/tcp/record_ends.hpp"
#include "core/tcp/recovery/prr.hpp"
#include "core/tcp/recovery/rack.hpp"
#include "core/tcp/recovery/spurious.hpp"
#include "core/tcp/recovery/tail_probe.hpp"
#include "core/tcp/sack_report.hpp"
#include "core/tcp/timestamps.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

// The beginning of the range, at most one segment.
Bytes one_segment(const Connection& c, const Range& range) {
  return least(Bytes{c.mss}, range.end.since(range.begin));
}

// Whether the first block is a D-SACK: it is below the segment's ACK, or inside the second block.
//= rfc2883#5
//# 2883:DSACK-8, 2883:DSACK-2 relative to the segment's own ACK field, not to SND.UNA
bool reports_duplicate(const wire::Segment& segment) {
  if (segment.options.sack_count == 0) {
    return false;
  }
  wire::SackBlock const& first = segment.options.sack[0];
  if (!first.end.after(first.begin)) {
    return false;
  }
  if (first.end.at_or_before(segment.acknowledgment)) {
    return true;
  }
  wire::SackBlock const& second = segment.options.sack[1];
  return segment.options.sack_count > 1 && first.begin.at_or_after(second.begin) &&
         first.end.at_or_before(second.end);
}

// Marks the ranges of the blocks. Ignores invalid ones: data never sent or already acknowledged.
//= rfc2018#5
//# 2018:SACK-7 the blocks are recorded on the scoreboard
void process_sack_blocks(Engine& e, const Connection& c, Scoreboard& board,
                         const wire::Segment& segment, AckSample& news) {
  std::uint32_t first = 0;
  if (reports_duplicate(segment)) {
    news.has_duplicate = true;
    news.duplicate = segment.options.sack[0];
    first = 1;
  }
  std::array<wire::SackBlock, wire::sack_blocks_max> blocks{};
  std::uint32_t count = 0;
  for (std::uint32_t i = first; i < segment.options.sack_count; ++i) {
    wire::SackBlock const& block = segment.options.sack[i];
    bool const sent = block.end.after(block.begin) && block.end.at_or_before(c.send.nxt);
    if (!sent) {
      ++e.counters->sacks_ignored;
    } else if (block.begin.after(c.send.una)) {
      // Sorted, so that blocks of one ACK do not look like reordering.
      std::uint32_t at = count;
      for (; at != 0 && blocks[at - 1].begin.after(block.begin); --at) {
        blocks[at] = blocks[at - 1];
      }
      blocks[at] = block;
      ++count;
    }
  }
  for (std::uint32_t i = 0; i < count && board.tracks(); ++i) {
    board.sack(blocks[i].begin, blocks[i].end, news);
  }
}

//= rfc6675#5.1
//# 6675:S6675-25 not before all that a timeout marked as lost is acknowledged
bool may_begin(const Connection& c, const InFlightState& a) {
  return !c.congestion.recovering && !a.after_timeout &&
         (c.congestion.recover == c.send.iss || c.send.una.after(c.congestion.recover));
}

//= rfc6675#5
//# 6675:S6675-9 sets RecoveryPoint, ssthresh and cwnd; sends the first segment at once
void begin_recovery(Engine& e, Connection& c, Scoreboard& board, const AckSample& news) {
  InFlightState& a = e.active(c);
  CongestionVariables& v = c.congestion;
  //= rfc6675#5
  //# 6675:S6675-29 data sent by limited transmit is not part of the flight size
  //= rfc2018#5.1
  //# 2018:SACK-10 losses detected by SACK reduce the window like any other
  spurious::remember(e, c, false);
  if (!path_probe::only_probe_lost(e, c)) {
    congestion::on_loss(e, c);
  }
  reno::enter_recovery(v, Bytes{c.mss});
  v.cwnd = v.ssthresh;
  v.recover = c.send.nxt.previous();
  ++e.counters->fast_retransmits;
  prr::begin(e, c, a, news);
  tail_probe::forget(a);
  if (e.config.rack) {
    rack::responded(e, a);
  } else {
    board.forget_retransmissions();
  }
  Index const lost = board.next_lost();
  Sequence const begin = lost == nil ? c.send.una : board.at(lost).begin;
  Sequence const end = lost == nil ? board.first_end() : board.at(lost).end;
  a.retransmit_next = begin;
  a.retransmit_end = begin + within_record(e, c, a, begin, one_segment(c, {begin, end}));
  a.rescue = a.retransmit_end;
}

// Progress of a recovery, or growth of cwnd outside one, after an ACK. Returns whether a recovery
// has ended.
bool update_recovery(Engine& e, Connection& c, Bytes newly, bool marked) {
  InFlightState& a = e.active(c);
  CongestionVariables& v = c.congestion;
  bool const covers = c.send.una.after(v.recover);
  // In recovery nothing grows, but deliveries are measured.
  congestion::on_ack(e, c, newly, marked);
  if (v.recovering) {
    //= rfc6675#5
    //# 6675:S6675-10 recovery ends when RecoveryPoint is acknowledged
    //# 6675:S6675-19 scoreboard entries above it are kept
    if (covers) {
      reno::leave_recovery(v, reno::flight_of(c));
      //= rfc9937#6.4
      //# 9937:PRR-12 cwnd becomes ssthresh
      v.cwnd = v.ssthresh;
      path_probe::end_suppression(c, a);
    }
    return covers;
  }
  bool const over = a.after_timeout && covers;
  a.after_timeout = a.after_timeout && !covers;
  clamp_marks(c, a);
  return over;
}

// Detects losses after this ACK. Returns when RACK has to check again.
Instant detect_losses(Engine& e, Connection& c, Scoreboard& board, const AckSample& news,
                      bool over) {
  CongestionVariables& v = c.congestion;
  //= rfc6675#2
  //# 6675:S6675-13 a duplicate ACK is one that SACKs octets not known as received
  //= rfc3042#2
  //# 3042:LTX-3 nothing else lets limited transmit send
  //= rfc5681#3.2
  //# 5681:CC-19 nor counts as a duplicate
  bool const has_new_sacks = !news.newly_sacked.empty();
  if (has_new_sacks && !v.recovering) {
    v.duplicates = static_cast<std::uint8_t>(std::min(v.duplicates + 1, 255));
  }
  //= rfc8985#4
  //# 8985:RACK-1 by the scoreboard
  if (e.config.rack) {
    return rack::on_ack(e, c, board, news, over);
  }
  if (has_new_sacks) {
    board.lose_below_edge(c);
  }
  return Instant::never();
}

// Starts recovery if there is a reason.
void repair(Engine& e, Connection& c, Scoreboard& board, const AckSample& news) {
  if (e.active(c).path_probe.suppressed && path_probe::other_losses_known(e, e.active(c)))
      [[unlikely]] {
    path_probe::other_loss_found(e, c);
  }
  //= rfc6675#5
  //# 6675:S6675-18 DupThresh duplicates, or the first octet is lost
  //= rfc2018#5.1
  //# 2018:SACK-19 a single report of out-of-order data is not enough
  //= rfc3042#2
  //# 3042:LTX-4 the threshold is unchanged
  bool const has_new_sacks = !news.newly_sacked.empty();
  bool const enough =
      !e.config.rack && has_new_sacks && c.congestion.duplicates >= e.config.duplicate_acks.value;
  if (board.tracks() && (enough || !board.lost_not_retransmitted().empty()) &&
      may_begin(c, e.active(c))) {
    begin_recovery(e, c, board, news);
  }
}

// Sets the one timer for data in flight.
void settle_timer(Engine& e, Connection& c, Instant wait, bool advances) {
  InFlightState& a = e.active(c);
  if (c.send.una == c.send.nxt || a.mode == RetransmitMode::persist) {
    return;
  }
  //= rfc8985#8
  //# 8985:RACK-10 the earliest deadline, in one timer
  if (!wait.is_never()) {
    a.mode = RetransmitMode::reordering;
    // Linux adds two ticks to this timer.
    constexpr Duration ticks = Duration::milliseconds(2);
    a.retransmit_due =
        e.config.timer_steps ? stepped(e.state->now, wait.since(e.state->now) + ticks) : wait;
    arm(e, c);
    return;
  }
  bool const probing = a.mode == RetransmitMode::loss_probe && !repairs(c, a);
  if (a.mode != RetransmitMode::retransmit && !probing) {
    a.retransmit_due =
        a.mode == RetransmitMode::loss_probe ? a.timeout_due : due_in(e, c.rtt.rto());
    a.mode = RetransmitMode::retransmit;
    arm(e, c);
  }
  if (advances && e.config.tail_probe) {
    tail_probe::schedule(e, c);
  }
}

// The peer reported a duplicate, so it supports D-SACK.
[[gnu::cold]] void note_duplicate(Engine& e, Connection& c) {
  c.options.set(negotiated::duplicates);
  if (Account* account = account_of(e, c)) {
    ++account->duplicates_told;
  }
}

// An ACK reports a duplicate, and nothing is in flight: of a late segment and its retransmission
// the second often arrives after all else.
[[gnu::cold]] void process_idle_report(Engine& e, Connection& c, const wire::Segment& segment) {
  note_duplicate(e, c);
  if (c.active == nil || !e.active(c).undo_armed) {
    return;
  }
  AckSample news;
  news.has_duplicate = true;
  news.duplicate = segment.options.sack[0];
  bool const marked = c.ecn.tx && segment.flags.ece();
  if (spurious::on_idle_report(e, c, news, marked) && e.config.rack) {
    rack::on_idle_report(e, c, news);
  }
}

void prepare_for_rack(const Connection& c, const InFlightState& a, const wire::Segment& segment,
                      AckSample& news) {
  news.least_rtt = rack::least_rtt(c, a);
  //= rfc8985#6.2
  //# 8985:RACK-4 the echo shows which transmission was acknowledged
  news.has_echo = c.options.has(negotiated::timestamps) && segment.options.has_timestamps;
  news.echo = segment.options.timestamp_echo - c.options.ts_offset;
}

}  // namespace

bool judged_by_board(Engine& e, Connection& c, const wire::Segment& segment) {
  if (c.send.una == c.send.nxt) {
    if (e.config.tail_probe) {
      tail_probe::on_idle_ack(e, c, segment);
    }
    if (reports_duplicate(segment)) [[unlikely]] {
      process_idle_report(e, c, segment);
    }
    return false;
  }
  InFlightState const& a = e.active(c);
  Scoreboard board(e, e.active(c));
  if (board.tracks()) {
    return true;
  }
  // Not while retransmissions after a timeout run without a scoreboard: a new one would count all
  // of that data as in flight.
  bool const settled =
      a.retransmit_next.at_or_after(a.retransmit_end) && a.watch == TimeoutWatch::off;
  bool const begins = segment.options.sack_count != 0 && !c.congestion.recovering && settled;
  return begins && board.begin({c.send.una, c.send.nxt}, c.sent_at);
}

void process_sack(Engine& e, Connection& c, const wire::Segment& segment) {
  InFlightState& a = e.active(c);
  Scoreboard board(e, a);
  CongestionVariables& v = c.congestion;
  AckSample news;
  news.arrived = e.state->arrived;
  Sequence const ack = segment.acknowledgment;
  bool const advances = ack.after(c.send.una);
  bool const same = ack == c.send.una && segment.length().empty();
  if (e.config.rack) {
    prepare_for_rack(c, a, segment, news);
  }
  Bytes const newly = advances ? ack.since(c.send.una) : Bytes{};
  Bytes const before = board.pipe();
  if (advances) {
    //= rfc6675#4
    //# 6675:S6675-1 only cumulative ACKs remove data from the queue, SACKed or not
    //= rfc2018#8
    //# 2018:SACK-12 because a peer may renege
    process_echo(e, c, segment);
    advance_una(e, c, a, ack);
    board.acknowledge(ack, news);
    //= rfc6675#5
    //# 6675:S6675-17 a cumulative ACK resets the count of duplicates
    v.duplicates = 0;
    a.limited = {};
  }
  //= rfc6675#5
  //# 6675:S6675-21 in recovery and outside it; pipe follows each change
  if (segment.options.sack_count != 0) {
    process_sack_blocks(e, c, board, segment, news);
    if (news.has_duplicate) {
      note_duplicate(e, c);
    }
  }
  bool const has_new_sacks = !news.newly_sacked.empty();
  bool held = false;
  if (a.doubtful()) {
    bool const marked = c.ecn.tx && segment.flags.ece();
    held = spurious::on_ack(e, c, board, news, segment, {advances, same && !has_new_sacks, marked});
  }
  Bytes const restored = v.cwnd;
  bool const over = advances && update_recovery(e, c, newly, segment.flags.ece());
  v.cwnd = held ? restored : v.cwnd;
  Bytes const lost = board.lost_not_retransmitted();
  Instant const wait = detect_losses(e, c, board, news, over);
  bool const safe = advances && board.lost_not_retransmitted() <= lost;
  if (e.config.tail_probe) {
    tail_probe::on_ack(e, c, segment, news, same && segment.options.sack_count == 0);
  }
  repair(e, c, board, news);
  if (v.recovering && e.config.prr) {
    prr::on_ack(e, c, a, news, safe);
  }
  if (segment.flags.ece() && (advances || ack == c.send.una)) [[unlikely]] {
    ecn::process_ece(e, c, newly);
  }
  if (added::possible(e)) [[unlikely]] {
    added::on_ack(e, c, {newly, news.delivered, before, segment.flags.ece(), held, true});
  }
  if (advances) {
    // Unlike NewReno, each ACK of new data restarts the timer, not only the first partial ACK.
    v.partial_seen = false;
    restart_timer(e, c, a);
  }
  if (e.config.rack) {
    settle_timer(e, c, wait, advances);
  }
  make_ready(e, c);
}

//= rfc2018#5
//# 2018:SACK-8, 2018:SACK-9 discard all SACK information and retransmit the first segment
//= rfc2018#5.1
//# 2018:SACK-16 earlier SACKs have no influence any more
//= rfc6675#5.1
//# 6675:S6675-12 RecoveryPoint becomes HighData, and SACK recovery ends
bool lose_on_timeout(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  Scoreboard board(e, a);
  if (!c.sack || (!board.tracks() && !board.begin({c.send.una, c.send.nxt}, c.sent_at))) {
    a.watch = TimeoutWatch::off;
    return false;
  }
  tail_probe::forget(a);
  //= rfc5682#3.1
  //# 5682:FRTO-11 F-RTO starts with an empty scoreboard
  bool const keep = e.config.rack && !board.first_sacked() && a.watch == TimeoutWatch::off;
  if (keep) {
    rack::lose_on_timeout(e, c, board);
  } else {
    board.lose_all_and_forget();
  }
  a.after_timeout = true;
  a.retransmit_next = c.send.una;
  Bytes const first = one_segment(c, {c.send.una, board.first_end()});
  a.retransmit_end = c.send.una + within_record(e, c, a, c.send.una, first);
  return true;
}

void expire_reordering(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  Scoreboard board(e, a);
  a.mode = RetransmitMode::retransmit;
  a.retransmit_due = due_in(e, c.rtt.rto());
  //= rfc8985#6.2
  //# 8985:RACK-19 also when the reordering timer fires
  Instant const wait = rack::find_losses(e, c, board, e.state->now);
  repair(e, c, board, AckSample{});
  if (c.congestion.recovering && e.config.prr) {
    //= rfc8985#9.3
    //# 8985:RACK-20 PRR also paces losses found by the timer: nothing was delivered
    //= rfc9937#6.2
    //# 9937:PRR-10 these losses are not reported by an ACK
    prr::on_ack(e, c, a, AckSample{}, false);
  }
  if (added::possible(e)) [[unlikely]] {
    added::restore(e, c);
  }
  settle_timer(e, c, wait, false);
  make_ready(e, c);
}

bool send_all_again(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  Scoreboard board(e, a);
  if (!board.tracks()) {
    return false;
  }
  board.lose_all();
  a.after_timeout = true;
  c.congestion.recovering = false;
  path_probe::end_suppression(c, a);
  c.congestion.recover = c.send.nxt.previous();
  return true;
}

Bytes outstanding(Engine& e, const Connection& c) {
  InFlightState& a = e.active(c);
  //= rfc6675#5
  //# 6675:S6675-20 limited transmit: new data while pipe leaves space in cwnd
  //= rfc3042#2
  //# 3042:LTX-1, 3042:LTX-2 cwnd itself does not change
  bool const by_pipe = a.board.order.count != 0 &&
                       (repairs(c, a) || spurious::watches(a) || e.config.limited_transmit);
  return by_pipe ? a.board.pipe : flight_size(c);
}

SegmentPlan plan_range(const Engine& e, const Connection& c, const InFlightState& a,
                       const Range& range) {
  SegmentPlan plan;
  Sequence const data_end = c.send.una + a.send.length();
  Sequence const right = c.send.una + c.send.wnd;
  std::uint32_t const allowed = retransmission_room(e, c, a, range.begin);
  Bytes const data{std::min(first_of(range.end, data_end).since(range.begin).count, allowed)};
  plan.data = within_record(e, c, a, range.begin, data);
  plan.sequence = range.begin;
  plan.retransmitted = true;
  bool const at_end = range.begin + plan.data == data_end && range.end.after(data_end);
  plan.fin = c.fin_sent && at_end && (data_end.before(right) || range.begin == c.send.una);
  plan.kind = plan.data.empty() && !plan.fin ? PlanKind::none : PlanKind::data;
  return plan;
}

//= rfc6675#4
//# 6675:S6675-4 the lowest range that is lost and not retransmitted
//= rfc2018#5
//# 2018:SACK-18 SACKed data is skipped
//= rfc6675#5.1
//# 6675:S6675-26 after a timeout the missing data is retransmitted in order
SegmentPlan plan_lost(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  Scoreboard board(e, a);
  std::uint32_t const room = (c.congestion.cwnd - board.pipe()).count;
  Index const lost = board.next_lost();
  if (lost == nil) {
    return {};
  }
  //= rfc6675#5
  //# 6675:S6675-11, 6675:S6675-22 while cwnd has space for a segment
  Sent const& range = board.at(lost);
  std::uint32_t const least =
      e.config.prr ? std::min(std::uint32_t{c.mss}, range.end.since(range.begin).count)
                   : std::uint32_t{c.mss};
  return room < least ? SegmentPlan{} : plan_range(e, c, a, {range.begin, range.end});
}

//= rfc6675#4
//# 6675:S6675-5 only if new data cannot be sent, because of the peer's window or for lack of data
SegmentPlan plan_last_resort(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  Scoreboard board(e, a);
  //= rfc8985#9.2
  //# 8985:RACK-11 with RACK, data not known to be lost is not retransmitted
  bool const paced = e.state->now < a.pace_at;  // new data can be sent later
  if (!c.congestion.recovering || e.config.rack || paced ||
      (c.congestion.cwnd - board.pipe()).count < c.mss) {
    return {};
  }
  //= rfc6675#4
  //# 6675:S6675-6 not known to be lost, but below SACKed data
  Index const doubtful = board.next_doubtful();
  if (doubtful != nil) {
    return plan_range(e, c, a, {board.at(doubtful).begin, board.at(doubtful).end});
  }
  //= rfc6675#4
  //# 6675:S6675-7 one rescue per recovery: the segment with the highest missing octet
  //# 6675:S6675-16 nothing if that one was already sent
  Index const last = board.last_unsacked();
  if (!c.send.una.after(a.rescue) || last == nil) {
    return {};
  }
  Sent const& range = board.at(last);
  Sequence const begin = last_segment_of(e, c, {range.begin, range.end});
  SegmentPlan plan = plan_range(e, c, a, {begin, range.end});
  plan.rescue = true;
  return plan;
}

namespace {

// Data that a timeout marked as lost on the scoreboard is retransmitted in order as cwnd allows;
// otherwise it would take one timeout per segment. In fast recovery partial ACKs show what to
// repair.
[[gnu::cold]] void continue_without_board(const Connection& c, InFlightState& a,
                                          const Scoreboard& board) {
  // What is retransmitted from now on is not counted.
  a.undo_armed = false;
  if (a.after_timeout) {
    a.after_timeout = false;
    a.retransmit_next = board.lost_from();
    a.retransmit_end = c.send.nxt;
  }
}

}  // namespace

void note_on_board(Engine& e, Connection& c, const SegmentPlan& plan, Sequence end) {
  InFlightState& a = e.active(c);
  Scoreboard board(e, a);
  if (!synchronized(c.state)) {
    return;
  }
  if (!board.tracks()) {
    if (e.config.rack && c.send.una == c.send.nxt) {
      static_cast<void>(board.begin({plan.sequence, end}, e.state->now));
    }
    return;
  }
  if (c.congestion.recovering) {
    //= rfc9937#6.3
    //# 9937:PRR-11 data sent in recovery counts, new or retransmitted
    a.prr_out += plan.data;
  }
  if (plan.retransmitted) {
    spurious::note_again(e, c, a, {plan.sequence, plan.sequence + plan.data});
  }
  if (plan.loss_probe) {
    tail_probe::note_departure(c, a, plan, end);
    ++e.counters->loss_probes;
  }
  if (plan.rescue) {
    //= rfc6675#4
    //# 6675:S6675-28 a rescue does not advance HighRxt
    a.rescue = c.congestion.recover.next();
  } else if (plan.sequence.before(c.send.nxt)) {
    //= rfc6675#5
    //# 6675:S6675-23 every other retransmission does
    board.record_retransmission(plan.sequence, first_of(end, c.send.nxt));
  }
  //= rfc6675#5
  //# 6675:S6675-24 new data advances HighData and adds to pipe
  if (end.after(c.send.nxt) && board.tracks()) {
    board.sent(end);
  }
  if (board.gave_up()) [[unlikely]] {
    continue_without_board(c, a, board);
  }
}

}  // namespace lockstep::tcp
