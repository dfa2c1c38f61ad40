// Invariants of every connection, which hold between any two events whatever the peer does.
#include "core/tcp/accounts.hpp"
#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/congestion/visit.hpp"
#include "core/tcp/inspect.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/opening/syn_cache.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/recovery/sack.hpp"
#include "core/tcp/recovery/scoreboard.hpp"
#include "core/units/check.hpp"

namespace lockstep::tcp {
namespace {

void check_sending(const Connection& c) {
  CHECK(c.send.una.at_or_before(c.send.nxt));
  CHECK(synchronized(c.state) || c.send.iss.at_or_before(c.send.una));
  CHECK(!c.fin_sent || c.fin_queued);
  CHECK(c.send.wnd <= c.send.wnd_max);
  CHECK(!synchronized(c.state) || c.congestion.cwnd.count >= c.mss);
}

void check_receiving(const Connection& c) {
  CHECK(c.receive.nxt.at_or_before(c.receive.edge));
  CHECK(c.receive.read.at_or_before(c.receive.nxt));
  CHECK(!c.fin_taken || !peer_may_send(c.state));
  CHECK(c.options.receive_scale.shift <= 14 && c.options.send_scale.shift <= 14);
  CHECK(c.options.has(negotiated::window_scale) ||
        (c.options.receive_scale.shift == 0 && c.options.send_scale.shift == 0));
  CHECK(c.receive.edge.since(c.receive.nxt).count <= 0xffffu << c.options.receive_scale.shift);
}

void check_extents(const Engine& e, const Connection& c, const InFlightState& a) {
  Sequence above = c.receive.nxt;
  std::uint32_t count = 0;
  for (Index i = a.extents; i != nil; i = e.extents[i].next) {
    Extent const& extent = e.extents[i];
    CHECK(extent.begin.after(above));
    CHECK(extent.end.after(extent.begin));
    CHECK(extent.end.at_or_before(c.receive.edge));
    CHECK((extent.next == nil) == (i == a.extent_last));
    above = extent.end;
    ++count;
  }
  CHECK(count == a.extent_count);
}

void check_records(const Engine& e, const InFlightState& a) {
  std::uint32_t records = 0;
  for (Index i = a.send.head; i != nil; i = e.pools.pieces[i].next) {
    records += e.pools.pieces[i].ends_record ? 1u : 0u;
  }
  CHECK(records == a.send.record_ends);
}

// Whether there is something to send: new data, a retransmission, or an ACK.
bool has_more(const Connection& c, const InFlightState& a) {
  Sequence const end = queue_begin(c) + a.send.length();
  bool const unsent = !c.fin_sent && (end.after(c.send.nxt) || c.fin_queued);
  return unsent || a.retransmit_next.before(a.retransmit_end) || repairs(c, a);
}

// Liveness: a connection with something to send is in a transmit queue, or has a timer running that
// will let it continue. Data in flight always has a timer.
void check_liveness(const Engine& e, const Connection& c, const InFlightState& a) {
  bool const queued = c.place != SendPlace::none;
  bool const timed = a.mode != RetransmitMode::idle || !a.pace_due.is_never();
  CHECK(queued || timed || !has_more(c, a));
  CHECK(queued || a.pending_ack_first == nil || !synchronized(c.state));
  CHECK(queued || !a.any() || !synchronized(c.state));
  // The timers are on the wheel; a delayed ACK's is set when the connection leaves the queue.
  Instant const sending = earlier(a.pace_due, earlier(a.retransmit_due, a.give_up_due));
  CHECK(e.wheel.due(a.owner) <= earlier(sending, a.slow_due));
  CHECK(queued || e.wheel.due(a.owner) <= a.delayed_ack_due);
  // With less than one segment neither timer nor queue could ever send one.
  CHECK(!synchronized(c.state) || c.congestion.ssthresh.count >= c.mss);
}

void check_active(Engine& e, const Connection& c) {
  InFlightState const& a = e.active(c);
  CHECK((a.mode == RetransmitMode::idle) == a.retransmit_due.is_never());
  // Data in flight always has a timer.
  CHECK(c.send.una == c.send.nxt || a.mode != RetransmitMode::idle);
  CHECK((a.delayed_segments == 0) == a.delayed.empty());
  CHECK(a.delayed_segments == 0 || !a.delayed_ack_due.is_never());
  CHECK(a.retransmit_next.at_or_before(c.send.nxt));
  CHECK(a.small_end.at_or_after(c.send.una));
  CHECK(a.small_end.at_or_before(c.send.nxt));
  Sequence const begin = queue_begin(c);
  Sequence const end = begin + a.send.length();
  bool const acknowledged = c.fin_sent && c.send.una == c.send.nxt;
  CHECK(acknowledged || (syn_unacknowledged(c) && c.send.nxt == c.send.iss) ||
        c.send.nxt.at_or_before(c.fin_sent ? end.next() : end));
  CHECK(a.path_probe.size == 0 ||
        (a.path_probe.begin.at_or_after(c.send.una) && a.path_probe.end.at_or_before(c.send.nxt)));
  CHECK(!a.echo_armed || (c.options.has(negotiated::timestamps) && c.send.una != c.send.nxt));
  CHECK(a.watch != TimeoutWatch::news || a.watch_end.at_or_before(c.send.nxt));
  check_records(e, a);
  check_liveness(e, c, a);
  check_extents(e, c, a);
  congestion::check_invariants(e, c, a);
  Scoreboard(e, e.active(c)).check(c);
}

void check_account(const Engine& e, const Connection& c, const Account& account) {
  CHECK(account.repairs <= account.timeouts);
  CHECK(account.repairs_since.is_never() || account.repairs_since <= e.state->now);
  CHECK(account.repairs_since.is_never() || account.repair_end.after(c.send.una));
  CHECK(account.rwnd_limited_since.is_never() || account.rwnd_limited_since <= e.state->now);
  CHECK(account.data_segments_out <= c.segments_sent);
  CHECK(account.data_segments_in <= c.segments_received);
  CHECK(account.mss == 0 || c.mss_max <= account.mss);
}

}  // namespace

void check_invariants(Engine& e, Connection& c) {
  CHECK(e.connections.taken(e.slot_of(c)));
  CHECK(c.active == nil || e.active(c).owner == e.slot_of(c));
  CHECK(c.place == SendPlace::none || c.active != nil);
  check_receiving(c);
  if (c.detached) {
    return;
  }
  check_sending(c);
  if (Account const* account = account_of(e, c)) {
    check_account(e, c, *account);
  }
  if (c.active == nil) {
    CHECK(!c.slow || e.wheel.is_set(e.slot_of(c)));
    CHECK(!c.receive_urgent);
    CHECK(c.send.una == c.send.nxt);
    CHECK(unread_of(c).empty());
    return;
  }
  check_active(e, c);
}

// Each half-open connection is in its queue, in the table, and counted by its listener. Only the
// first and the last of a queue are looked up: each one is the last when it comes and the first
// before it goes, and a hash of every one would take half the time of a simulation under all
// checks.
void check_syn_cache(const Engine& e) {
  // Weighted by listener, so that errors of two listeners' counts cannot cancel out.
  auto const weight = [](Index listener) { return (2ull * listener + 1) * 0x9e37'79b9'7f4a'7c15; };
  std::uint64_t weighed = 0;
  std::uint32_t queued = 0;
  for (std::uint8_t tries = 0; tries < e.half_open_queues.count(); ++tries) {
    auto const queue = e.half_open_queue(tries);
    CHECK(queue.empty() == ((e.state->half_open_tries >> tries & 1) == 0));
    queued += queue.count();
    Instant due;
    for (Index at = queue.first(); at != nil; at = queue.next(at)) {
      HalfOpen const& h = e.half_opens[at];
      CHECK(h.tries == tries);
      CHECK(h.due >= due);
      CHECK(h.due >= e.wheel.due(e.half_open_timer()));
      CHECK(e.listeners.taken(h.listener));
      weighed += weight(h.listener);
      bool const outer = at == queue.first() || queue.next(at) == nil;
      CHECK(!outer || find_half_open(e, e.tuple_of(h), h.local_address) == at);
      due = h.due;
    }
  }
  CHECK(queued == e.half_opens.used());
  for (Index at = 0; at < e.listeners.high_water(); ++at) {
    weighed -= e.listeners.taken(at) ? e.listeners[at].half_open * weight(at) : 0;
  }
  CHECK(weighed == 0);
}

namespace {

// Adds those of a connection to `all`.
void count_pending_acks(const Engine& e, const InFlightState& a, std::uint32_t& all) {
  std::uint32_t cut = 0;
  std::uint32_t duplicates = 0;
  for (Index i = a.pending_ack_first; i != nil; i = e.pending_acks[i].next) {
    ++all;
    duplicates += e.pending_acks[i].kind == PendingAck::Kind::duplicate ? 1u : 0u;
    cut += e.pending_acks[i].cut ? 1u : 0u;
  }
  CHECK(cut == a.pending_ack_cut);
  CHECK(duplicates == a.pending_ack_duplicates);
}

}  // namespace

void check_conservation(Engine& e) {
  check_syn_cache(e);
  std::uint32_t extents = 0;
  std::uint32_t pending_acks = 0;
  std::uint32_t marks = 0;
  std::uint32_t sent = 0;
  std::uint32_t actives = 0;
  std::uint32_t listed = 0;
  std::uint32_t gap_blocks = 0;
  std::uint32_t refused = 0;
  std::uint32_t half_open = 0;
  std::uint32_t promised = 0;
  std::uint32_t receivers = 0;
  std::uint32_t writers = 0;
  for (Index at = 0; at < e.connections.high_water(); ++at) {
    if (!e.connections.taken(at)) {
      continue;
    }
    Connection const& c = e.connection(at);
    listed += c.place == SendPlace::ready ? 1u : 0u;
    half_open += c.telling == TellPlace::half_open ? 1u : 0u;
    bool const unknown = c.state == State::syn_received && c.passive && !opened_fast(c);
    CHECK((c.telling == TellPlace::half_open) == unknown);
    refused += c.wants != Resource::none ? 1u : 0u;
    if (c.active == nil) {
      continue;
    }
    ++actives;
    InFlightState const& a = e.active(c);
    extents += a.extent_count;
    gap_blocks += a.gap_blocks;
    sent += a.board.order.count;
    CHECK(a.gap_blocks == 0 || a.extents != nil);
    CHECK(e.gaps().linked(c.active) == (a.extents != nil));
    marks += a.marks.count;
    promised += a.promised;
    receivers += a.receive.empty() ? 0u : 1u;
    writers += a.send.blocks_held != 0 ? 1u : 0u;
    count_pending_acks(e, a, pending_acks);
  }
  CHECK(actives == e.actives.used());
  CHECK(extents == e.extents.used());
  CHECK(pending_acks == e.pending_acks.used());
  CHECK(marks == e.marks.used());
  CHECK(promised == e.pools.blocks.promised());
  CHECK(receivers == e.pools.blocks.receivers());
  CHECK(writers == e.pools.blocks.writers());
  CHECK(sent == e.sent.used());
  CHECK(gap_blocks == e.state->gap_blocks);
  for (GapUse const& use : e.gap_uses.all()) {
    gap_blocks -= use.blocks;
    extents -= use.ranges;
  }
  CHECK(gap_blocks == 0);
  CHECK(extents == 0);
  CHECK(listed == e.ready().count());
  CHECK(refused == e.state->refused);
  CHECK(half_open == e.half_open_records().count());
  if (e.connections.used() == 0) {
    CHECK(e.pools.blocks.used() == 0);
    CHECK(e.pools.pieces.used() == 0);
  }
}

}  // namespace lockstep::tcp
