// Received data: lent frames within the turn, the block store after it; out-of-order data; FIN.
#include "core/tcp/reassembly.hpp"

#include <algorithm>

#include "core/tcp/accounts.hpp"
#include "core/tcp/ack_pace.hpp"
#include "core/tcp/autotune.hpp"
#include "core/tcp/ecn.hpp"
#include "core/tcp/gaps.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/pending_ack.hpp"
#include "core/tcp/resources.hpp"
#include "core/tcp/sack_report.hpp"
#include "core/tcp/time_wait.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

// The part of `data` inside [begin, end).
std::span<const std::byte> part_of(const SegmentData& data, Sequence begin, Sequence end) {
  return data.bytes.subspan(begin.since(data.begin).count, end.since(begin).count);
}

// Refers to in-order bytes in their frame: copied only if the application does not read them in
// time.
void lend_data(Engine& e, InFlightState& a, const Loan& loan) {
  CHECK(e.state->loan_count < e.loans.size());
  std::uint16_t const index = e.state->loan_count++;
  e.loans[index] = loan;
  if (a.loan_last == no_loan) {
    a.loan_first = index;
  } else {
    e.loans[a.loan_last].next = index;
  }
  a.loan_last = index;
}

// Makes sure that data lent now, for which there is room, can be stored when the turn ends. Usually
// it is read before, so blocks are only promised; if the connection already holds blocks, the
// missing ones are allocated. False: there are none.
[[nodiscard]] bool reserve_for_loan(Engine& e, InFlightState& a, Sequence begin, Bytes length) {
  memory::Blocks& blocks = e.pools.blocks;
  if (!a.receive.empty()) {
    return a.receive.reserve(blocks, begin, length);
  }
  // Data lent before may end in the block in which this begins.
  bool const joins = a.loan_last != no_loan && a.receive.place_of(blocks, begin) != 0;
  std::uint32_t const wanted = a.receive.blocks_touched(blocks, begin, length) - (joins ? 1 : 0);
  blocks.promise(Count{wanted});
  a.promised += wanted;
  return true;
}

// Clears the list of loans.
void end_loans(Engine& e, InFlightState& a) {
  a.loan_first = no_loan;
  a.loan_last = no_loan;
  a.loan_read = no_loan;  // data lent next is not linked to what was read
  e.pools.blocks.release(Count{a.promised});
  a.promised = 0;
}

// Corrects the count of blocks above gaps: their data may have come into order or been released.
void recount_gap_blocks(Engine& e, const Connection& c, InFlightState& a) {
  std::uint32_t const most = a.extents == nil ? 0 : a.receive.blocks_held;
  if (a.gap_blocks > most) {
    gaps::remove_blocks(e, c, a, Count{a.gap_blocks - most});
  }
}

// Advances RCV.NXT over the ranges that it has reached. True if there were any.
[[gnu::cold]] bool join_extents(Engine& e, Connection& c, InFlightState& a) {
  bool joined = false;
  while (a.extents != nil && e.extents[a.extents].begin.at_or_before(c.receive.nxt)) {
    Index const index = a.extents;
    c.receive.nxt = last_of(c.receive.nxt, e.extents[index].end);
    a.extents = e.extents[index].next;
    gaps::remove_range(e, c, a);
    e.extents.give(index);
    joined = true;
  }
  if (joined) {
    recount_gap_blocks(e, c, a);
  }
  return joined;
}

// The beginning of the next range above `from`, at most `limit`.
Sequence next_extent(const Engine& e, const InFlightState& a, Sequence from, Sequence limit) {
  for (Index index = a.extents; index != nil; index = e.extents[index].next) {
    if (e.extents[index].end.after(from)) {
      return first_of(limit, last_of(from, e.extents[index].begin));
    }
  }
  return limit;
}

// The next part of a segment that can be accepted, from RCV.NXT on.
struct Part {
  Bytes length;
  bool cut = false;  // the store is too short for more
};

// The part before the next range above a gap, or less of it if the store is short.
Part next_part(Engine& e, Connection& c, const InFlightState& a, Sequence limit) {
  memory::Blocks const& blocks = e.pools.blocks;
  Sequence const begin = c.receive.nxt;
  Bytes length = next_extent(e, a, begin, limit).since(begin);
  CHECK(!length.empty());
  std::uint32_t const most = a.receive.blocks_touched(blocks, begin, length);
  if (most + e.reserves.all() <= blocks.room_to_receive()) [[likely]] {
    return {length};
  }
  bool const had_ranges = a.extents != nil;
  Bytes granted = octets_to_receive(e, c, begin, length);
  if (had_ranges && a.extents == nil) {
    // The connection lost its own ranges, so all of the segment is missing now.
    length = limit.since(begin);
    granted = octets_to_receive(e, c, begin, length);
  }
  return {granted, granted != length};
}

// A segment brought this much in order: what counts as full-sized grows.
void note_full_size(const Engine& e, Connection& c, Bytes octets) {
  c.rcv_mss = static_cast<std::uint16_t>(
      std::max<std::uint32_t>(c.rcv_mss, std::min(octets.count, e.config.mss.count)));
}

//= rfc9293#3.10.7.4
//# 9293:P-TEXT-DELIVER, 9293:P-TEXT-RCVNXT deliver in-order data and advance RCV.NXT
//= rfc9293#3.4
//# 9293:P-ACK-CUMUL RCV.NXT covers an octet only when all before it were received
Drop accept_in_order(Engine& e, Connection& c, InFlightState& a, const SegmentData& data) {
  memory::Blocks& blocks = e.pools.blocks;
  Sequence const before = c.receive.nxt;
  bool first = true;
  bool filled = false;
  bool cut = false;
  while (!cut && c.receive.nxt.before(data.end())) {
    Sequence const begin = c.receive.nxt;
    Part const part = next_part(e, c, a, data.end());
    Bytes const length = part.length;
    cut = part.cut;
    if (length.empty()) {
      break;
    }
    auto const bytes = part_of(data, begin, begin + length);
    bool const lent = first && synchronized(c.state);
    if (!(lent ? reserve_for_loan(e, a, begin, length)
               : a.receive.reserve(blocks, begin, length))) {
      break;
    }
    if (lent) {
      lend_data(e, a, {bytes.data(), begin, length, e.slot_of(c), c.generation, no_loan});
    } else {
      a.receive.put(blocks, begin, bytes);
    }
    c.receive.nxt = begin + length;
    filled = join_extents(e, c, a) || filled;
    first = false;
  }
  Bytes const gained = c.receive.nxt.since(before);
  if (gained.empty()) {
    return Drop::tcp_store_full;
  }
  e.counters->bytes_delivered += gained.count;
  //= rfc5681#3.2
  //# 5681:CC-15 a segment that fills all or part of a gap is acknowledged at once
  //= rfc9293#3.8.6.3
  //# 9293:P-DELACK-OOO so is one above a gap
  //= rfc6582#5
  //# 6582:NR-11 so the sender's partial ACKs are not delayed
  // Of a segment that was cut the peer learns at once how much was accepted.
  a.ack_now = a.ack_now || cut || filled || a.extents != nil;
  if (a.extents != nil) [[unlikely]] {
    gaps::renew(e, a);
  }
  // Octets of this segment only: a filled gap does not count.
  note_full_size(e, c, {static_cast<std::uint32_t>(data.bytes.size())});
  clear_duplicate_acks(e, c, a);
  ack_for_data(e, c, a, gained);
  if (synchronized(c.state) || opened_fast(c)) {
    notify(e, c, EventKind::received);
  }
  return Drop::none;
}

// Records [begin, end) as received, merged with the ranges that it touches. `before` is the last
// range below it.
[[gnu::cold]] void insert_extent(Engine& e, const Connection& c, InFlightState& a,
                                 const SegmentData& data, Index before) {
  Sequence const begin = data.begin;
  Sequence const end = data.end();
  ++a.extent_stamp;
  Index const index = extent_after(e, a, before);
  if (index == nil || e.extents[index].begin.after(end)) {
    Index const fresh = e.extents.take();
    CHECK(fresh != nil);
    e.extents[fresh] = {begin, end, index, a.extent_stamp};
    (before == nil ? a.extents : e.extents[before].next) = fresh;
    a.extent_last = index == nil ? fresh : a.extent_last;
    gaps::add_range(e, c, a);
    return;
  }
  Extent& joined = e.extents[index];
  joined.begin = first_of(joined.begin, begin);
  joined.end = last_of(joined.end, end);
  joined.stamp = a.extent_stamp;
  while (joined.next != nil && e.extents[joined.next].begin.at_or_before(joined.end)) {
    Index const swallowed = joined.next;
    joined.end = last_of(joined.end, e.extents[swallowed].end);
    joined.next = e.extents[swallowed].next;
    a.extent_last = a.extent_last == swallowed ? index : a.extent_last;
    gaps::remove_range(e, c, a);
    e.extents.give(swallowed);
  }
}

// Stores the octets of [begin, end), which are new; does nothing if it is empty.
[[gnu::cold]] void put_new(Engine& e, InFlightState& a, const SegmentData& data, Extent range) {
  if (!range.begin.before(range.end)) {
    return;
  }
  Bytes const length = range.end.since(range.begin);
  bool const reserved = a.receive.reserve(e.pools.blocks, range.begin, length);
  CHECK(reserved);
  //= rfc9293#3.10
  //# 9293:P-EV-OVERLAP only the new part of an overlapping segment is stored
  a.receive.put(e.pools.blocks, range.begin, part_of(data, range.begin, range.end));
}

//= rfc9293#3.10.7.4
//# 9293:SHLD-31 out-of-order segments inside the window are queued
[[gnu::cold]] Drop accept_above_gap(Engine& e, const Connection& c, InFlightState& a,
                                    const SegmentData& data) {
  Bytes const length = data.end().since(data.begin);
  Count const missing = a.receive.blocks_missing(e.pools.blocks, data.begin, length);
  recount_gap_blocks(e, c, a);
  Index const below = extent_below(e, a, data.begin);
  Index const next = extent_after(e, a, below);
  bool const fresh = next == nil || e.extents[next].begin.after(data.end());
  if ((fresh && !gaps::may_add_range(e, a)) || !gaps::make_room(e, c, a, missing, fresh)) {
    return Drop::tcp_out_of_order_refused;
  }
  gaps::add_blocks(e, c, a, missing);
  Sequence from = data.begin;
  for (Index i = next; i != nil && from.before(data.end()); i = e.extents[i].next) {
    Extent const& extent = e.extents[i];
    put_new(e, a, data, {from, first_of(extent.begin, data.end())});
    from = last_of(from, extent.end);
  }
  put_new(e, a, data, {from, data.end()});
  insert_extent(e, c, a, data, below);
  return Drop::none;
}

// A FIN below octets that were already received is invalid.
bool ends_the_stream(const Engine& e, const Connection& c, const InFlightState& a, Sequence at) {
  return at.at_or_after(c.receive.nxt) &&
         (a.extents == nil || at.at_or_after(e.extents[a.extent_last].end));
}

Drop remember_fin(const Engine& e, const Connection& c, InFlightState& a, Sequence at) {
  if (!ends_the_stream(e, c, a, at)) {
    return Drop::tcp_data_after_fin;
  }
  if (!a.fin_known) {
    a.fin_known = true;
    a.fin_at = at;
  }
  return Drop::none;
}

}  // namespace

Drop accept_data(Engine& e, Connection& c, const SegmentData& whole, const wire::Segment& segment) {
  InFlightState* const active = ensure_active(e, c);
  if (active == nullptr) {
    return Drop::tcp_store_full;
  }
  InFlightState& a = *active;
  SegmentData data = whole;
  if (a.receive.empty() && a.promised == 0) {
    // So a segment as large as a block needs only one.
    a.receive.begin_at(e.pools.blocks, c.receive.nxt);
  }
  if (a.fin_known && data.end().after(a.fin_at)) {
    //= rfc9293#3.4
    //# 9293:P-CTL-ONCE the first FIN determines where the stream ends
    data.fin = false;
    if (data.begin.at_or_after(a.fin_at)) {
      ack_duplicate(e, c, segment);
      return Drop::tcp_data_after_fin;
    }
    data.bytes = data.bytes.first(a.fin_at.since(data.begin).count);
  }
  if (c.sack && (a.extents != nil || segment.sequence.before(c.receive.nxt))) {
    find_duplicate(e, c, a, segment);
  }
  Drop drop = Drop::none;
  Sequence const before = c.receive.nxt;
  bool const in_order = data.begin == before;
  if (!data.bytes.empty()) {
    drop = in_order ? accept_in_order(e, c, a, data) : accept_above_gap(e, c, a, data);
    if (c.rtt.echo_wanted() && in_order) [[unlikely]] {
      measure_echo(e, c, segment);
    }
    if (accounts_kept(e) && drop == Drop::none) [[unlikely]] {
      accounts::note_data(e, c, segment, in_order);
    }
  }
  if (data.fin && drop == Drop::none) {
    drop = remember_fin(e, c, a, data.end());
  }
  //= rfc5681#3.2
  //# 5681:CC-14 an out-of-order segment is answered by a duplicate ACK at once
  //= rfc5681#4.2
  //# 5681:CC-28 only one: accepted data already has its ACK, whatever happened to its FIN
  if (c.receive.nxt == before && (!in_order || drop != Drop::none)) {
    ack_duplicate(e, c, segment);
  }
  if (a.fin_known) {
    process_fin_if_due(e, c);
  }
  return drop;
}

bool accept_follower(Engine& e, const Follower& s) {
  if (e.latest == nullptr) {
    return false;
  }
  Connection& c = *e.latest;
  auto const length = Bytes{static_cast<std::uint32_t>(s.bytes.size())};
  Sequence const end = s.sequence + length;
  bool const in_order = s.sequence == c.receive.nxt && !end.after(c.receive.edge);
  // Nothing is in flight, so the ACK field says nothing; and the segment before has set the window.
  bool const only_data = c.send.una == c.send.nxt && s.acknowledgment == c.send.una &&
                         c.send.wl2 == c.send.una && c.send.wl1 + length == s.sequence;
  bool const marks = c.ecn.rx && (s.ecn == ecn::ce || c.ecn.echo);
  if (c.state != State::established || c.active == nil || !in_order || !only_data || marks ||
      c.reading_over || c.rtt.echo_wanted() || accounts_kept(e)) {
    return false;
  }
  InFlightState& a = e.active(c);
  memory::Blocks const& blocks = e.pools.blocks;
  bool const reported = (c.pending & bit_of(EventKind::received)) != 0 && !e.state->draining;
  bool const begun = !a.receive.empty() || a.promised != 0;
  if (!reported || !begun || a.extents != nil || a.fin_known || a.pending_ack_duplicates != 0 ||
      a.receive.blocks_touched(blocks, s.sequence, length) + e.reserves.all() >
          blocks.room_to_receive() ||
      !reserve_for_loan(e, a, s.sequence, length)) {
    return false;
  }
  ++e.counters->segments_received;
  ++c.segments_received;
  e.state->arrived = s.arrived;
  c.send.wl1 = s.sequence;
  lend_data(e, a, {s.bytes.data(), s.sequence, length, e.slot_of(c), c.generation, no_loan});
  c.receive.nxt = end;
  e.counters->bytes_delivered += length.count;
  note_full_size(e, c, length);
  ack_for_data(e, c, a, length);
  return true;
}

void process_fin_if_due(Engine& e, Connection& c) {
  if (c.active == nil || !peer_may_send(c.state)) {
    return;
  }
  InFlightState& a = e.active(c);
  //= rfc9293#3.10.7.4
  //# 9293:P-FIN a FIN in order is accepted, reported to the application, and acknowledged
  if (!a.fin_known || a.fin_at != c.receive.nxt || c.fin_taken) {
    return;
  }
  a.fin_known = false;
  c.fin_taken = true;
  if (c.receive_urgent && a.receive_up.after(a.fin_at)) {
    //= rfc9293#3.8.5
    //# 9293:P-URG-MODE an urgent pointer beyond the end of the stream is limited to it
    a.receive_up = a.fin_at;
    // The one octet that is apart never comes.
    c.receive_urgent = c.receive.read.before(a.fin_at) && !e.config.urgent_apart;
  }
  c.receive.nxt = c.receive.nxt.next();
  c.receive.edge = last_of(c.receive.edge, c.receive.nxt);
  clear_duplicate_acks(e, c, a);
  if (ack_pace::is_on(e)) [[unlikely]] {
    ack_for_fin(e, c);
  } else {
    ack_now(e, c);
  }
  //= rfc9293#3.6
  //# 9293:P-CLOSE-SIGNAL the peer's close is reported even if the application is not reading
  notify(e, c, EventKind::peer_finished);
  switch (c.state) {
    case State::established:
      //= rfc9293#3.10.7.4
      //# 9293:P-FIN-EST FIN in ESTABLISHED
      enter(e, c, State::close_wait);
      break;
    case State::fin_wait_1:
      // Our FIN is not acknowledged: otherwise step 5 would have entered FIN-WAIT-2.
      //= rfc9293#3.10.7.4
      //# 9293:P-FIN-FW1-CLOSING CLOSING
      enter(e, c, State::closing);
      break;
    default:
      //= rfc9293#3.10.7.4
      //# 9293:P-FIN-FW2, 9293:P-FIN-FW1-TW FIN in FIN-WAIT-2, perhaps entered by this segment's ACK
      //= rfc9293#3.3.2
      //# 9293:P-FIG5-NOTE2 so one segment leads from FIN-WAIT-1 to TIME-WAIT
      CHECK(c.state == State::fin_wait_2);
      begin_time_wait(e, c);
      break;
  }
}

//= rfc9293#3.10.3
//# 9293:P-RECV-EST, 9293:P-RECV-CLOSEWAIT, 9293:P-RECV-CLOSING in-order data, also after the FIN
std::span<const std::byte> readable(Engine& e, Connection& c, Bytes skip) {
  Bytes const unread = unread_of(c);
  if (skip >= unread || c.active == nil) {
    return {};
  }
  InFlightState& a = e.active(c);
  Sequence const position = c.receive.read + skip;
  Bytes limit = unread - skip;
  bool const further = a.loan_read != no_loan && position.at_or_after(e.loans[a.loan_read].begin);
  for (std::uint16_t i = further ? a.loan_read : a.loan_first; i != no_loan; i = e.loans[i].next) {
    Loan const& loan = e.loans[i];
    if (position.inside(loan.begin, loan.length)) {
      a.loan_read = i;
      std::uint32_t const offset = position.since(loan.begin).count;
      return {loan.bytes + offset, loan.length.count - offset};
    }
    if (loan.begin.after(position)) {
      limit = least(limit, loan.begin.since(position));
      break;
    }
  }
  return a.receive.at(e.pools.blocks, position, limit);
}

void consume(Engine& e, Connection& c, Bytes bytes) {
  Bytes const unread = unread_of(c);
  c.receive.read = c.receive.read + least(bytes, unread);
  if (c.active == nil) {
    return;
  }
  InFlightState& a = e.active(c);
  while (a.loan_first != no_loan) {
    Loan const& loan = e.loans[a.loan_first];
    if ((loan.begin + loan.length).after(c.receive.read)) {
      break;
    }
    a.loan_first = loan.next;
    if (a.loan_first == no_loan) {
      end_loans(e, a);
    }
  }
  if (c.receive_urgent && c.receive.read.at_or_after(a.receive_up)) {
    //= rfc9293#3.8.5
    //# 9293:P-URG-MODE urgent mode ends at the urgent pointer
    //= rfc9293#3.9.1.3
    //# 9293:P-RECV-URGFLAG and so does the indication in RECEIVE
    c.receive_urgent = false;
  }
  if (unread_of(c).empty() && a.extents == nil) {
    if (!a.receive.empty()) {
      a.receive.clear(e.pools.blocks);
    }
  } else {
    a.receive.release_before(e.pools.blocks, c.receive.read);
    recount_gap_blocks(e, c, a);
  }
  if (c.detached) {
    notify_closed_if_due(e, c);
    return;
  }
  if (!c.fin_taken) {
    if (receive_buffer_grows(e, c)) {
      tune_receive_buffer(e, c);
    }
    queue_window_update(e, c);
  }
  release_if_idle(e, c);
}

void settle_loans(Engine& e) {
  for (std::uint16_t i = 0; i < e.state->loan_count; ++i) {
    Loan const& loan = e.loans[i];
    Connection const* const c = find(e, {loan.slot, loan.generation});
    if (c == nullptr || c->active == nil) {
      continue;
    }
    InFlightState& a = e.active(*c);
    a.loan_read = no_loan;
    if (a.loan_first == no_loan) {
      continue;
    }
    Sequence const begin = last_of(loan.begin, c->receive.read);
    Sequence const end = loan.begin + loan.length;
    if (begin.before(end)) {
      // Allocate the blocks promised to it, unless data above a gap has allocated them since.
      std::uint32_t const kept =
          std::min(a.promised, a.receive.blocks_touched(e.pools.blocks, begin, end.since(begin)));
      e.pools.blocks.release(Count{kept});
      a.promised -= kept;
      bool const reserved = a.receive.reserve(e.pools.blocks, begin, end.since(begin));
      CHECK(reserved);
      a.receive.put(e.pools.blocks, begin,
                    {loan.bytes + begin.since(loan.begin).count, end.since(begin).count});
    }
    if (i == a.loan_last) {
      end_loans(e, a);
    }
  }
  e.state->loan_count = 0;
}

void drop_extents(Engine& e, const Connection& c, InFlightState& a) {
  while (a.extents != nil) {
    Index const next = e.extents[a.extents].next;
    gaps::remove_range(e, c, a);
    e.extents.give(a.extents);
    a.extents = next;
  }
  a.fin_known = false;
  recount_gap_blocks(e, c, a);
}

//= rfc2018#8
//# 2018:SACK-17 discarded data is no longer reported, except in the newest segment's block
[[gnu::cold]] void discard_above_gap(Engine& e, const Connection& c, InFlightState& a) {
  drop_extents(e, c, a);
  a.receive.release_from(e.pools.blocks, c.receive.nxt);
  for (Index i = a.pending_ack_first; i != nil; i = e.pending_acks[i].next) {
    PendingAck& pending = e.pending_acks[i];
    std::uint8_t const most = pending.report_duplicate ? 2 : 1;
    pending.report_count = std::min(pending.report_count, most);
  }
}

[[gnu::cold]] void give_up_gaps(Engine& e, Connection& c) {
  discard_above_gap(e, c, e.active(c));
  release_if_idle(e, c);
}

void drop_unread(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  c.receive.read = c.receive.nxt;
  end_loans(e, a);
  a.receive.clear(e.pools.blocks);
}

}  // namespace lockstep::tcp
