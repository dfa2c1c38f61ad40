// The life of connections: records, state changes, active parts, the end.
#include "core/tcp/lifecycle.hpp"

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

// Rounded up: 0 has a meaning of its own.
std::uint32_t milliseconds_of(Duration duration) {
  return static_cast<std::uint32_t>(duration.ns / 1'000'000 + (duration.ns % 1'000'000 != 0));
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
//# 9293:P-SEND-IMPLIED the remote socket never changes; a listener has none to send to
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
  a.small_end = c.send.una;
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

void release_if_idle(Engine& e, Connection& c, InFlightState& a) {
  // Variables about data in flight and its ACKs are not needed: nothing is in flight.
  bool const idle = c.send.una == c.send.nxt && a.send.empty() && a.extents == nil &&
                    a.pending_ack_first == nil && a.delayed_segments == 0 && !a.any() &&
                    !a.fin_known && a.reused_time_wait == nil && a.loan_first == 0xffff &&
                    unread_of(c).empty() && (!c.fin_queued || c.fin_sent) &&
                    synchronized(c.state) && !c.receive_urgent && c.place != SendPlace::waiting;
  if (idle && ecn::holds_back(e, c, a)) [[unlikely]] {
    //= rfc3168#6.1.2
    //# 3168:ECN-8 new data of the application waits for the timer, too
    pacing::wait(e, c);
    return;
  }
  if (idle && a.undo_armed && spurious::awaits_report(e, a)) [[unlikely]] {
    a.pace_due = a.undo_until;
    arm(e, c);
    return;
  }
  // Pacing alone is no reason to keep it: with nothing in flight the next burst may leave at once.
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

void release(Engine& e, Connection& c) {
  CHECK(c.detached);
  Index const at = e.slot_of(c);
  if (c.telling != TellPlace::none) {
    leave_event_list(e, c);
  }
  leave_backlog(e, c);
  if (c.active != nil) {
    InFlightState& a = e.active(c);
    a.receive.clear(e.pools.blocks);
    e.actives.give(c.active);
    c.active = nil;
  }
  // detach() has cancelled its timers.
  e.connections.give(at);
  ++e.counters->connections_closed;
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
      //# 9293:P-TW-REUSE-DUP the SYN was an old duplicate: back to TIME-WAIT
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
      Scoreboard(e, a).clear();
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
  // The application is not notified of a connection that was never reported (RFC 9293 3.10.7.4,
  // SYN-RECEIVED).
  bool const unknown =
      c.passive && c.accepted_unreported && (c.pending & bit_of(EventKind::accepted)) == 0;
  if (unknown) {
    release(e, c);
    return;
  }
  notify_closed_if_due(e, c);
}

bool in_quiet_time(const Engine& e) {
  //= rfc9293#3.4.3
  //# 9293:P-QUIET-SKIP a quiet time of zero skips it
  if (e.config.quiet_time.ns == 0) {
    return false;
  }
  //= rfc6528#3
  //# 6528:ISN-3 the secret changes only with a new stack, which can keep a quiet time first
  return !e.state->started || e.state->now.since(e.state->booted) < e.config.quiet_time;
}

}  // namespace lockstep::tcp
