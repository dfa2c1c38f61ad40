// Pending ACKs to the peer, and the window that they advertise.
#include "core/tcp/pending_ack.hpp"

#include <algorithm>

#include "core/tcp/ack_pace.hpp"
#include "core/tcp/expiry.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/resources.hpp"
#include "core/tcp/sack_report.hpp"
#include "core/tcp/window_scale.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

void append(Engine& e, const Connection& c, InFlightState& a, const PendingAck& record) {
  Index const index = e.pending_acks.take();
  if (index == nil) {
    // The pool is full: this ACK is merged into the next segment sent.
    ++e.counters->acks_merged;
    a.ack_now = true;
    return;
  }
  e.pending_acks[index] = record;
  e.pending_acks[index].next = nil;
  if (c.sack) {
    attach_report(e, c, a, index);
  }
  if (a.pending_ack_last == nil) {
    a.pending_ack_first = index;
  } else {
    e.pending_acks[a.pending_ack_last].next = index;
  }
  a.pending_ack_last = index;
  a.pending_ack_duplicates += record.kind == PendingAck::Kind::duplicate ? 1 : 0;
}

// How many segments one ACK may cover now.
std::uint32_t stretch_of(const Engine& e, const Connection& c) {
  bool const steady = c.ack_pace >= e.config.ack_stretch_after.count && !ack_pace::is_on(e);
  return steady ? e.config.ack_stretch_segments.value : 2;
}

void forget_delayed(InFlightState& a) {
  a.delayed = {};
  a.delayed_segments = 0;
  a.delayed_ack_due = Instant::never();
}

// Turns the delayed ACK into a record, or merges it into the previous record.
//= rfc9293#3.10.7.4
//# 9293:MUST-58 ACKs of one burst are aggregated
void cut_delayed(Engine& e, Connection& c, InFlightState& a) {
  align_edge(c);
  PendingAck record;
  record.ack = c.receive.nxt;
  record.edge = c.receive.edge;
  record.begin = a.delayed_begin;
  record.end = c.receive.nxt;
  record.segments = a.delayed_segments;
  record.echo = c.ecn.echo;
  forget_delayed(a);
  if (ack_pace::is_on(e)) [[unlikely]] {
    ack_pace::ack_leaves(e, c);
  }
  if (a.pending_ack_last != nil) {
    PendingAck& last = e.pending_acks[a.pending_ack_last];
    auto const merged = static_cast<std::uint32_t>(last.segments) + record.segments;
    if (last.kind == PendingAck::Kind::cumulative && !last.cut && merged <= stretch_of(e, c)) {
      record.begin = last.begin;
      record.segments = static_cast<std::uint16_t>(merged);
      record.next = nil;
      if (c.sack) {
        keep_duplicate(e, a, a.pending_ack_last);
      }
      last = record;
      if (c.sack) {
        attach_report(e, c, a, a.pending_ack_last);
      }
      return;
    }
  }
  append(e, c, a, record);
}

}  // namespace

//= rfc9293#3.10.3
//# 9293:P-RECV-ACK accepted data requires an ACK
void ack_for_data(Engine& e, Connection& c, InFlightState& a, Bytes data) {
  if (a.delayed_segments == 0) {
    a.delayed_begin = c.receive.nxt - data;
  }
  a.delayed += data;
  constexpr std::uint32_t unbroken_max = 1u << 30;
  bool const paced = ack_pace::is_on(e);
  if (!paced) {
    c.ack_pace = std::min(c.ack_pace + std::min(data.count, unbroken_max), unbroken_max);
  }
  a.delayed_segments = static_cast<std::uint8_t>(std::min(a.delayed_segments + 1, 255));
  make_ready(e, c, a);
  //= rfc9293#3.8.6.3
  //# 9293:SHLD-18, 9293:SHLD-19 an ACK for every second full-sized segment, otherwise delayed
  //= rfc5681#4.2
  //# 5681:CC-26, 5681:CC-27, 5681:CC-43 at least every second full-sized segment
  bool const second =
      a.delayed_segments > 1 && (a.delayed.count >= 2u * c.rcv_mss || e.config.ack_each_second);
  bool const quick = paced && ack_pace::data_arrived(e, c, a);
  if (!c.delayed_acks || second || a.ack_now || quick) {
    cut_delayed(e, c, a);
    return;
  }
  //= rfc9293#3.8.6.3
  //# 9293:MUST-40 less than half a second
  //= rfc5681#4.2
  //# 5681:CC-37 within 500 ms of the first unacknowledged segment
  if (a.delayed_segments == 1) {
    // leave_ready() sets the timer if the ACK is still pending then: usually data carries it.
    Duration const delay = paced ? ack_pace::delay_of(e, c) : e.config.delayed_ack;
    constexpr Duration most{499'999'999};
    a.delayed_ack_due = e.config.timer_steps
                            ? earlier(stepped(e.state->now, delay), e.state->now + most)
                            : e.state->now + delay;
  }
}

// Takes the only pending ACK back, which is one of data: it may be delayed after all.
[[gnu::cold]] static bool take_back(Engine& e, InFlightState& a) {
  if (a.pending_ack_first == nil) {
    return true;
  }
  PendingAck const& only = e.pending_acks[a.pending_ack_first];
  if (a.pending_ack_first != a.pending_ack_last || a.delayed_segments != 0 || only.cut ||
      only.kind != PendingAck::Kind::cumulative) {
    return false;
  }
  keep_duplicate(e, a, a.pending_ack_first);
  PendingAck const record = pop_pending_ack(e, a);
  a.delayed_begin = record.begin;
  a.delayed = record.end.since(record.begin);
  a.delayed_segments = static_cast<std::uint8_t>(std::min<std::uint32_t>(record.segments, 255));
  return true;
}

[[gnu::cold]] void ack_for_fin(Engine& e, Connection& c) {
  bool const open = c.state == State::established;
  InFlightState* const a = open ? ensure_active(e, c) : nullptr;
  if (a == nullptr || !c.delayed_acks || a->ack_now || !take_back(e, *a) ||
      ack_pace::fin_arrived(c, *a)) {
    ack_now(e, c);
    return;
  }
  if (a->delayed_segments == 0) {
    a->delayed_begin = c.receive.nxt.previous();
    a->delayed_segments = 1;
  }
  a->delayed += Bytes{1};
  a->delayed_ack_due = due_in(e, ack_pace::delay_of(e, c));
  make_ready(e, c, *a);
}

void ack_now(Engine& e, Connection& c) {
  if (InFlightState* a = ensure_active(e, c)) {
    if (c.fin_taken && a->pending_ack_last == nil) {
      // After a FIN no later ACK has to stay separate: one ACK for all, without a record.
      forget_delayed(*a);
      a->ack_now = true;
      make_ready(e, c, *a);
      return;
    }
    if (a->delayed_segments != 0) {
      cut_delayed(e, c, *a);
    }
    bool const cumulative =
        a->pending_ack_last != nil &&
        e.pending_acks[a->pending_ack_last].kind == PendingAck::Kind::cumulative;
    if (cumulative && !e.pending_acks[a->pending_ack_last].cut) {
      // Data and FIN of one segment get one ACK: the record for the data is updated.
      align_edge(c);
      PendingAck& last = e.pending_acks[a->pending_ack_last];
      last.ack = c.receive.nxt;
      last.edge = c.receive.edge;
      last.end = c.receive.nxt;
      if (c.sack) {
        keep_duplicate(e, *a, a->pending_ack_last);
        attach_report(e, c, *a, a->pending_ack_last);
      }
    } else {
      a->ack_now = true;
    }
    make_ready(e, c);
  }
}

[[gnu::cold]] void ack_duplicate(Engine& e, Connection& c, const wire::Segment& segment) {
  InFlightState* const a = ensure_active(e, c);
  if (a == nullptr) {
    return;
  }
  //= rfc9293#3.10.7.4
  //# 9293:MUST-58 replaces the delayed ACK and is sent at once
  forget_delayed(*a);
  if (!ack_pace::is_on(e)) {
    c.ack_pace = 0;
  } else if (!segment.length().empty() && segment.sequence.before(c.receive.nxt)) {
    ack_pace::hasten(e, c, e.config.quick_acks);
  }
  // A window closed because the store was full may be open again: report it to the probe.
  if (c.receive.edge == c.receive.nxt) {
    advance_edge(e, c);
  }
  align_edge(c);
  PendingAck record;
  record.kind = PendingAck::Kind::duplicate;
  record.ack = c.receive.nxt;
  record.edge = c.receive.edge;
  record.begin = segment.sequence;
  record.end = segment.end();
  record.segments = 1;
  record.echo = c.ecn.echo;
  // A segment entirely below RCV.NXT is a duplicate; accept_data has examined all others.
  if (c.sack && segment.end().at_or_before(c.receive.nxt)) {
    find_duplicate(e, c, *a, segment);
  }
  append(e, c, *a, record);
  make_ready(e, c);
}

void cut_by_echo(Engine& e, Connection& c) {
  if (c.active == nil) {
    return;
  }
  InFlightState& a = e.active(c);
  if (a.delayed_segments != 0) {
    cut_delayed(e, c, a);
  }
  if (a.pending_ack_last == nil) {
    return;
  }
  PendingAck& last = e.pending_acks[a.pending_ack_last];
  if (last.kind == PendingAck::Kind::cumulative && !last.cut) {
    last.cut = true;
    ++a.pending_ack_cut;
  }
}

void clear_duplicate_acks(Engine& e, const Connection& c, InFlightState& a) {
  if (a.pending_ack_duplicates == 0) {
    return;
  }
  a.pending_ack_duplicates = 0;
  Index kept_first = nil;
  Index kept_last = nil;
  for (Index index = a.pending_ack_first; index != nil;) {
    Index const next = e.pending_acks[index].next;
    if (e.pending_acks[index].kind == PendingAck::Kind::duplicate) {
      if (c.sack) {
        keep_duplicate(e, a, index);
      }
      e.pending_acks.give(index);
      a.ack_now = true;
    } else {
      (kept_last == nil ? kept_first : e.pending_acks[kept_last].next) = index;
      kept_last = index;
      e.pending_acks[index].next = nil;
    }
    index = next;
  }
  a.pending_ack_first = kept_first;
  a.pending_ack_last = kept_last;
}

void clear_delayed_acks(Engine& e, InFlightState& a) {
  while (a.pending_ack_first != nil &&
         e.pending_acks[a.pending_ack_first].kind == PendingAck::Kind::cumulative) {
    pop_pending_ack(e, a);
  }
  if (a.delayed_segments != 0 && ack_pace::is_on(e)) [[unlikely]] {
    ack_pace::ack_leaves(e, e.connection(a.owner));
  }
  forget_delayed(a);
  a.ack_now = false;
  a.window_update = false;
}

PendingAck pop_pending_ack(Engine& e, InFlightState& a) {
  CHECK(a.pending_ack_first != nil);
  Index const index = a.pending_ack_first;
  PendingAck const record = e.pending_acks[index];
  a.pending_ack_first = record.next;
  if (a.pending_ack_first == nil) {
    a.pending_ack_last = nil;
  }
  a.pending_ack_duplicates -= record.kind == PendingAck::Kind::duplicate ? 1 : 0;
  a.pending_ack_cut -= record.cut ? 1 : 0;
  e.pending_acks.give(index);
  return record;
}

void drop_pending_acks(Engine& e, InFlightState& a) {
  while (a.pending_ack_first != nil) {
    pop_pending_ack(e, a);
  }
  forget_delayed(a);
  a.ack_now = false;
  a.window_update = false;
}

// The most that this connection may hold unread, its window included: its buffer, but at most half
// of the free space plus its own. So a connection that reads nothing leaves as much to the others
// as it uses itself.
Bytes fair_buffer(const Engine& e, const Connection& c, Bytes unread, Count room) {
  std::uint64_t const free = std::uint64_t{room.value} << e.pools.blocks.block_shift();
  std::uint64_t const fair = (free + unread.count) / 2;
  return {static_cast<std::uint32_t>(std::min<std::uint64_t>(c.receive_buffer.count, fair))};
}

// What a connection without unread data may be offered however short the store is: one segment.
[[gnu::cold]] Bytes first_space(const Engine& e, const Connection& c) {
  Bytes const segment = most(e.config.block_bytes, Bytes{c.mss});
  return e.pools.blocks.room_to_receive() == 0 ? Bytes{} : least(segment, c.receive_buffer);
}

Bytes edge_gain(const Engine& e, const Connection& c) {
  //= rfc9293#3.8.6
  //# 9293:MAY-8 the window may stay closed as long as the store is under pressure
  std::uint32_t const room = e.pools.blocks.room_to_receive();
  std::uint32_t const kept = blocks_kept_from(e, reading_of(e, c, c.receive.read.next()));
  Bytes const unread = unread_of(c);
  Bytes space = fair_buffer(e, c, unread, {room - std::min(room, kept)}) - unread;
  if (unread.empty() && space < Bytes{c.mss}) [[unlikely]] {
    space = most(space, first_space(e, c));
  }
  Sequence const wanted = c.receive.nxt + least(space, window_max(c));
  return wanted.since(c.receive.edge);
}

namespace {

// Upper bound of edge_gain() that needs no look at the store: often enough to see that it is too
// little.
std::uint32_t gain_max(const Connection& c) {
  return (c.receive_buffer - c.receive.edge.since(c.receive.nxt)).count;
}

}  // namespace

void advance_edge(Engine& e, Connection& c) {
  //= rfc9293#3.8.6.2.2
  //# 9293:MUST-39, 9293:P-SWS-RCV the edge moves by at least half the buffer or one full segment
  std::uint32_t const segment = std::min(c.receive_buffer.count / 2, std::uint32_t{c.mss});
  bool const any = e.config.window_each_ack && c.receive.edge.since(c.receive.nxt).count >= segment;
  std::uint32_t const step = any ? 1 : segment;
  if (gain_max(c) >= step) {
    Bytes const gain = edge_gain(e, c);
    c.receive.edge = c.receive.edge + Bytes{gain.count >= step ? gain.count : 0};
  }
  align_edge(c);
}

void queue_window_update(Engine& e, Connection& c) {
  std::uint32_t const window = c.receive.edge.since(c.receive.nxt).count;
  // If the window is open, the next ACK reports the new edge, unless the gain is large. The peer's
  // segments may be larger than ours.
  std::uint32_t const full = std::max(std::uint32_t{c.mss}, e.config.mss.count);
  bool const shut = window < full;
  std::uint32_t const step = shut ? c.mss : 2u * full;
  std::uint32_t const least = std::max(std::min(c.receive_buffer.count / 2, step), 1u);
  bool const doubles = e.config.window_update_doubles && !shut;
  std::uint32_t const wanted = doubles ? std::max(least, window) : least;
  bool const worth = gain_max(c) >= wanted && edge_gain(e, c).count >= wanted;
  if (!worth && !hides_window(c)) {
    return;
  }
  if (InFlightState* a = ensure_active(e, c)) {
    a->window_update = true;
    make_ready(e, c);
  }
}

}  // namespace lockstep::tcp
