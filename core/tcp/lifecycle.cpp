// Birth and death of connections: records, state changes, events, readiness, the one timer.
#include "core/tcp/lifecycle.hpp"

#include <bit>

#include "core/tcp/accounts.hpp"
#include "core/tcp/congestion/pacing.hpp"
#include "core/tcp/congestion/rate.hpp"
#include "core/tcp/ecn.hpp"
#include "core/tcp/opening/fast_open.hpp"
#include "core/tcp/pending_ack.hpp"
#include "core/tcp/reassembly.hpp"
#include "core/tcp/recovery/scoreboard.hpp"
#include "core/tcp/recovery/spurious.hpp"
#include "core/tcp/resources.hpp"
#include "core/tcp/time_wait.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

// Rounded up, for 0 would mean something else: for ever, or always.
std::uint32_t milliseconds_of(Duration duration) {
  return static_cast<std::uint32_t>(duration.ns / 1'000'000 + (duration.ns % 1'000'000 != 0));
}

// The list that holds the connection by its `tell` link goes without it.
void untell(Engine& e, Connection& c) {
  switch (c.telling) {
    case TellPlace::none:
      return;
    case TellPlace::now:
      e.notify_now().remove(e.slot_of(c));
      break;
    case TellPlace::next:
      e.notify_next().remove(e.slot_of(c));
      break;
    case TellPlace::held:
      e.held(e.listeners[c.backlog.listener]).remove(e.slot_of(c));
      break;
    case TellPlace::wanting:
      e.wanting(c.wants).remove(e.slot_of(c));
      break;
    case TellPlace::half_open:
      e.half_open_records().remove(e.slot_of(c));
      break;
  }
  c.telling = TellPlace::none;
}

void leave_backlog(Engine& e, Connection& c) {
  if (c.established_untold) {
    if (Listener* listener = listener_of(e, c)) {
      --listener->pending;
    }
    c.established_untold = false;
  }
}

void release(Engine& e, Connection& c) {
  CHECK(c.detached);
  Index const at = e.slot_of(c);
  if (c.telling != TellPlace::none) {
    untell(e, c);
  }
  leave_backlog(e, c);
  if (c.active != nil) {
    InFlightState& a = e.active(c);
    a.receive.clear(e.pools.blocks);
    e.actives.give(c.active);
    c.active = nil;
  }
  // detach() has ended its timers. From here on every id of this life is stale.
  e.connections.give(at);
  ++e.counters->connections_closed;
}

// The accepted event waits for Stack::admit; the others are held back with it.
bool must_hold(Engine& e, const Connection& c) {
  if ((c.pending & bit_of(EventKind::accepted)) == 0) {
    return false;
  }
  Listener const* const listener = listener_of(e, c);
  return listener != nullptr && listener->admitted == 0;
}

void begin_draining(Engine& e) {
  if (e.state->refused != 0) {
    notify_resources(e);
  }
  e.state->draining = true;
  while (!e.notify_next().empty()) {
    Index const at = e.notify_next().pop_front();
    Connection& c = e.connection(at);
    c.pending = static_cast<std::uint16_t>(c.pending | c.deferred);
    c.deferred = 0;
    c.telling = TellPlace::now;
    e.notify_now().push_back(at);
  }
}

// Takes the first connection out of this turn's list, to where it must wait, if anywhere.
void set_aside(Engine& e) {
  Index const at = e.notify_now().pop_front();
  Connection& c = e.connection(at);
  c.telling = TellPlace::none;
  if (c.pending != 0) {
    c.telling = TellPlace::held;
    e.held(e.listeners[c.backlog.listener]).push_back(at);
  } else if (c.deferred != 0) {
    c.telling = TellPlace::next;
    e.notify_next().push_back(at);
  } else if (c.wants != Resource::none) [[unlikely]] {
    wait_for_room(e, c);
  }
}

Bytes bytes_of(Engine& e, Connection& c, EventKind kind) {
  switch (kind) {
    case EventKind::received:
      return unread_of(c);
    case EventKind::acknowledged: {
      Bytes const acknowledged = c.writing.acknowledged_untold;
      c.writing.acknowledged_untold = {};
      return acknowledged;
    }
    case EventKind::urgent:
      return c.receive_urgent && c.active != nil ? e.active(c).receive_up.since(c.receive.read)
                                                 : Bytes{};
    default:
      return {};
  }
}

Event make_event(Engine& e, Index at, EventKind kind) {
  Connection& c = e.connection(at);
  Event event;
  event.kind = kind;
  event.id = {at, c.generation};
  event.bytes = bytes_of(e, c, kind);
  if (kind == EventKind::closed) {
    event.cause = c.cause;
    event.heard_at = c.heard_at;
  } else if (kind == EventKind::soft_error) {
    event.cause = c.soft_cause;
    c.soft_cause = Cause::none;
  } else if (kind == EventKind::accepted) {
    CHECK(c.established_untold);
    event.listener = {c.backlog.listener, c.backlog.generation};
    if (Listener* listener = listener_of(e, c)) {
      CHECK(listener->admitted != 0);
      listener->admitted -= listener->admitted == Count::unlimited().value ? 0 : 1;
      --listener->complete;
      --listener->pending;
    }
    c.established_untold = false;
    c.writing = {e.config.send_buffer, Bytes{}};
  }
  return event;
}

// The oldest half-open connection goes without a word, as if it had given up; false if there is
// none, or if its peer may still be about to answer the first SYN-ACK.
[[gnu::cold]] bool shed_half_open(Engine& e) {
  if (e.half_open_records().empty()) {
    return false;
  }
  Connection& c = e.connection(e.half_open_records().first());
  if (c.retries == 0) {
    return false;
  }
  enter(e, c, State::closed);
  detach(e, c, Cause::refused);
  ++e.counters->half_opens_evicted;
  return true;
}

}  // namespace

void enter(Engine& e, Connection& c, State to) {
  std::uint8_t const edge =
      legal_edge[static_cast<std::uint32_t>(c.state)][static_cast<std::uint32_t>(to)];
  CHECK(edge != illegal_edge);
  ++e.counters->transitions_taken[edge];
  c.state = to;
}

Connection fresh_connection(const Config& config) {
  Connection c;
  c.rtt.set_rto(config.rto_initial);
  c.user_timeout_ms = milliseconds_of(config.user_timeout);
  c.keepalive_idle_ms = milliseconds_of(config.keepalive_idle);
  c.receive_buffer = config.receive_buffer;
  c.writing.send_buffer = config.send_buffer;
  c.ttl = config.ttl;
  c.nagle = config.nagle;
  c.delayed_acks = config.delayed_acks;
  c.keepalive = config.keepalive;
  return c;
}

//= rfc9293#3.9.1.2
//# 9293:P-SEND-IMPLIED the remote socket is the connection's for good; a listener can send to none
Connection* open_connection(Engine& e, const Socket& socket) {
  Index const at = e.connections.take();
  if (at == nil) {
    return nullptr;
  }
  Connection& c = e.connection(at);
  std::uint32_t const generation = c.generation;
  c = e.fresh;
  c.generation = generation;
  e.wheel.open({at});
  c.remote = socket.tuple.remote.address;
  c.remote_port = socket.tuple.remote.port;
  c.local_port = socket.tuple.local.port;
  c.local_address = socket.local_address;
  c.hash = socket.hash;
  c.ttl = e.ttl_to(c.remote);
  c.heard_at = e.state->now;
  e.demux.insert(c.hash, {EntryKind::connection, at});
  ++e.counters->connections_opened;
  if (accounts_kept(e)) [[unlikely]] {
    accounts::open(e, c);
  }
  return &c;
}

Listener* listener_of(Engine& e, const Connection& c) {
  if (!c.established_untold) {
    return nullptr;
  }
  Listener* const listener = e.listeners.find(c.backlog.listener);
  bool const same = listener != nullptr && listener->generation == c.backlog.generation;
  return same ? listener : nullptr;
}

bool may_complete(Engine& e, const Connection& c) {
  // What has opened fast counts already.
  if (!c.passive || opened_fast(c)) {
    return true;
  }
  Listener const* const listener = listener_of(e, c);
  return listener == nullptr || !accept_queue_full(*listener);
}

void complete_in_backlog(Engine& e, const Connection& c) {
  if (c.passive) {
    if (Listener* listener = listener_of(e, c)) {
      ++listener->complete;
    }
  }
}

InFlightState* alloc_in_flight(Engine& e, Connection& c) {
  CHECK(c.active == nil);
  c.active = e.actives.take();
  if (c.active == nil && shed_half_open(e)) [[unlikely]] {
    c.active = e.actives.take();
  }
  if (c.active == nil) {
    return nullptr;
  }
  InFlightState& a = e.active(c);
  a = InFlightState{};
  a.owner = e.slot_of(c);
  if (c.slow) {
    a.slow_due = e.wheel.due(a.owner);
  }
  a.pushed = c.send.nxt;
  a.retransmit_next = c.send.nxt;
  a.retransmit_end = c.send.nxt;
  a.last_ack_sent = c.receive.nxt;
  a.reduced_to = c.send.una.previous();
  a.marks.limited_until = c.send.una;
  a.unacked_since = e.state->now;
  if (c.probe_doubtful) {
    c.probe_doubtful = false;
    a.tail.out = true;
    a.tail.retransmitted = true;
    a.tail.end = c.send.una;
  }
  if (c.rto_suspect) [[unlikely]] {
    spurious::resume_estimate(c, a);
  }
  return &a;
}

void hold_half_open(Engine& e, Connection& c) {
  // What opened fast is told already.
  if (c.telling == TellPlace::none) {
    c.telling = TellPlace::half_open;
    e.half_open_records().push_back(e.slot_of(c));
  }
}

bool make_room_for_one(Engine& e) {
  bool const room = e.connections.available() != 0 && e.actives.available() != 0;
  // One that goes leaves a record and its active part.
  return room || (shed_half_open(e) && e.connections.available() != 0);
}

void release_if_idle(Engine& e, Connection& c, InFlightState& a) {
  // What says more of the data that was in flight or of its ACKs is nothing without it: the flight
  // is empty, so limited transmit has sent none of it.
  bool const idle = c.send.una == c.send.nxt && a.send.empty() && a.extents == nil &&
                    a.pending_ack_first == nil && a.delayed_segments == 0 && !a.any() &&
                    !a.fin_known && a.reused_time_wait == nil && a.loan_first == 0xffff &&
                    unread_of(c).empty() && (!c.fin_queued || c.fin_sent) &&
                    synchronized(c.state) && !c.receive_urgent && c.place != SendPlace::waiting;
  if (idle && ecn::holds_back(e, c, a)) [[unlikely]] {
    //= rfc3168#6.1.2
    //# 3168:ECN-8 nor does what the application writes meanwhile leave before the timer is over
    pacing::wait(e, c);
    return;
  }
  // Pacing alone holds nothing back any more: with an empty flight nothing would be crowded.
  if (idle) {
    if (c.place == SendPlace::ready) {
      e.ready().remove(c.active);
      c.place = SendPlace::none;
    }
    if (a.rto_suspect) [[unlikely]] {
      spurious::rest_estimate(c, a);
    }
    c.probe_doubtful = a.tail.out && a.tail.retransmitted;
    CHECK(a.board.order.count == 0);
    a.receive.clear(e.pools.blocks);
    if (c.slow && e.wheel.due(a.owner) != a.slow_due) {
      e.wheel.set(a.owner, a.slow_due);
    }
    e.actives.give(c.active);
    c.active = nil;
  }
}

void set_slow(Engine& e, Connection& c, Instant due) {
  c.slow = !due.is_never();
  if (c.active != nil) {
    e.active(c).slow_due = due;
  } else if (c.slow) {
    e.wheel.set(e.slot_of(c), due);
  }
}

void detach(Engine& e, Connection& c, Cause cause) {
  CHECK(!c.detached);
  Index const at = e.slot_of(c);
  if (c.state != State::time_wait) {
    e.leave_table(c.hash, {EntryKind::connection, at});
  }
  unready(e, c);
  forget_room(e, c);
  e.wheel.cancel(at);
  leave_fast_open(e, c, cause == Cause::refused || cause == Cause::reset);
  c.detached = true;
  c.cause = cause;
  c.slow = false;
  bool const readable = cause == Cause::finished && !c.reading_over;
  if (c.active != nil) {
    InFlightState& a = e.active(c);
    if (a.reused_time_wait != nil) {
      //= rfc9293#3.6.1
      //# 9293:P-TW-REUSE-DUP the SYN was an old duplicate: TIME-WAIT again
      resume_time_wait(e, a.reused_time_wait);
      a.reused_time_wait = nil;
    }
    a.send.clear(e.pools);
    if (a.extents != nil || a.fin_known) {
      drop_extents(e, c, a);
    }
    drop_pending_acks(e, a);
    if (a.marks.first != nil) {
      drop_marks(e, a);
    }
    a.slow_due = Instant::never();
    a.pace_due = Instant::never();
    if (a.board.order.count != 0) {
      Board(e, a).clear();
    }
    a.mode = RetransmitMode::idle;
    a.retransmit_due = Instant::never();
    a.give_up_due = Instant::never();
    if (!readable) {
      drop_unread(e, c);
    }
  } else if (!readable) {
    c.receive.read = c.receive.nxt;
  }
  // An attempt that no application knows of yet ends in silence (RFC 9293 3.10.7.4, SYN-RECEIVED).
  bool const unknown =
      c.passive && c.established_untold && (c.pending & bit_of(EventKind::accepted)) == 0;
  if (unknown) {
    release(e, c);
    return;
  }
  notify_closed_if_due(e, c);
}

void notify_closed_if_due(Engine& e, Connection& c) {
  if (c.detached && unread_of(c).empty()) {
    notify(e, c, EventKind::closed);
  }
}

bool next_event(Engine& e, Event& out) {
  if (!e.state->draining) {
    begin_draining(e);
  }
  while (!e.notify_now().empty()) {
    Index const at = e.notify_now().first();
    Connection& c = e.connection(at);
    if (c.pending == 0 || must_hold(e, c)) {
      set_aside(e);
      continue;
    }
    auto const kind = static_cast<EventKind>(std::countr_zero(c.pending));
    c.pending = static_cast<std::uint16_t>(c.pending & ~bit_of(kind));
    out = make_event(e, at, kind);
    if (kind == EventKind::closed) {
      e.notify_now().pop_front();
      c.telling = TellPlace::none;
      release(e, c);
    } else if (c.pending == 0) {
      set_aside(e);
    }
    return true;
  }
  e.state->draining = false;
  return false;
}

bool events_pending(const Engine& e) {
  return !e.notify_now().empty() || !e.notify_next().empty() ||
         (e.state->refused != 0 && room_to_tell(e));
}

void leave_ready(Engine& e, Connection& c) {
  Index const first = e.ready().pop_front();
  CHECK(first == c.active);
  c.place = SendPlace::none;
  InFlightState const& a = e.active(c);
  if (a.delayed_segments != 0) {
    arm_for(e, a, a.delayed_ack_due);
  }
}

void unready(Engine& e, Connection& c) {
  if (c.place == SendPlace::ready) {
    e.ready().remove(c.active);
  } else if (c.place == SendPlace::waiting) {
    e.waiting(e.active(c).waiting_for).remove(c.active);
  }
  c.place = SendPlace::none;
}

bool in_quiet_time(const Engine& e) {
  //= rfc9293#3.4.3
  //# 9293:P-QUIET-SKIP a quiet time of zero skips it, and once over it is over
  if (e.config.quiet_time.ns == 0) {
    return false;
  }
  //= rfc6528#3
  //# 6528:ISN-3 a stack has one secret for life; the next one, with another, can stay quiet first
  return !e.state->started || e.state->now.since(e.state->booted) < e.config.quiet_time;
}

}  // namespace lockstep::tcp
