// The user's calls: RFC 9293 3.10.1 to 3.10.6.
#include "core/tcp/calls.hpp"

#include <algorithm>

#include "core/tcp/acknowledgement.hpp"
#include "core/tcp/autotune.hpp"
#include "core/tcp/expiry.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/opening/fast_open.hpp"
#include "core/tcp/opening/isn.hpp"
#include "core/tcp/opening/syn_cache.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/pending_ack.hpp"
#include "core/tcp/reassembly.hpp"
#include "core/tcp/replies.hpp"
#include "core/tcp/resources.hpp"
#include "core/units/check.hpp"
#include "core/units/shard.hpp"

namespace lockstep::tcp {
namespace {

Index find_listener(const Engine& e, ListenerId id) {
  bool const live = e.listeners.taken(id.slot) && e.listeners[id.slot].open &&
                    e.listeners[id.slot].generation == id.generation;
  return live ? id.slot : nil;
}

bool is_taken(const Engine& e, const Socket& socket) {
  FourTuple const& tuple = socket.tuple;
  TableEntry const found = e.demux.find(socket.hash, [&](TableEntry candidate) {
    if (candidate.kind == EntryKind::connection) {
      Connection const& c = e.connections[candidate.index];
      return c.remote == tuple.remote.address && c.remote_port == tuple.remote.port &&
             c.local_port == tuple.local.port && c.local_address == socket.local_address;
    }
    if (candidate.kind == EntryKind::time_wait) {
      TimeWait const& t = e.time_waits[candidate.index];
      return t.remote == tuple.remote.address && t.remote_port == tuple.remote.port &&
             t.local_port == tuple.local.port && t.local_address == socket.local_address;
    }
    if (candidate.kind == EntryKind::half_open) {
      HalfOpen const& h = e.half_opens[candidate.index];
      return h.remote == tuple.remote.address && h.remote_port == tuple.remote.port &&
             h.local_port == tuple.local.port && h.local_address == socket.local_address;
    }
    return false;
  });
  return found.kind != EntryKind::none;
}

// Whether segments from the peer arrive at this shard.
bool is_ours(const Engine& e, const FourTuple& tuple) {
  Count const shards = e.config.shards;
  return shards == Count{1} || shard_of(tuple, {shards.value}).value == e.config.shard.value;
}

//= rfc6056#2.2
//# 6056:PORT-4 a port that makes the four-tuple unique
//= rfc6056#3.3
//# 6056:PORT-1 and is unpredictable
//= rfc5927#4.2
//# 5927:ICMP-2 so that a forged ICMP error has to guess it
//= rfc6056#3.3.3
//# 6056:PORT-5 the next port if it is taken; an error once all (or Config's limit) were tried; the
//# next call starts behind them
Refusal draw_port(Engine& e, Socket& socket) {
  FourTuple const& tuple = socket.tuple;
  if (e.ports.remote != tuple.remote || e.ports.local != tuple.local.address) {
    e.ports = {tuple.local.address, tuple.remote, port_offset(e.config, tuple)};
  }
  // On average one of this many ports belongs to our shard. No more tries than ports are needed.
  std::uint32_t const span = e.config.port_last.value - e.config.port_first.value + 1u;
  std::uint32_t const tries = std::min(e.config.port_tries.value * e.config.shards.value, span);
  for (std::uint32_t i = 0; i < tries; ++i) {
    socket.tuple.local.port =
        candidate_port(e.config, e.ports.offset, e.state->ports_drawn, Count{i});
    if (!is_ours(e, socket.tuple)) {
      continue;
    }
    socket.hash = e.demux.hash_of(socket.tuple);
    if (!is_taken(e, socket)) [[likely]] {
      e.state->ports_drawn += i + 1;
      return Refusal::none;
    }
  }
  e.state->ports_drawn += tries;
  return Refusal::ports_exhausted;
}

// The application chose the port.
Refusal alloc_port(Engine& e, Socket& socket) {
  if (!is_ours(e, socket.tuple)) {
    return Refusal::bad_local;
  }
  socket.hash = e.demux.hash_of(socket.tuple);
  //= rfc9293#3.10.1
  //# 9293:P-OPEN-EXISTS connection already exists
  //= rfc9293#3.9.1.4
  //# 9293:P-CLOSE-REOPEN also while the old connection is closing
  return is_taken(e, socket) ? Refusal::exists : Refusal::none;
}

//= rfc9293#3.9.1.1
//# 9293:MUST-46 no connection to a multicast, broadcast or unspecified address
bool bad_remote(const Endpoint& remote) {
  IpAddress const address = remote.address;
  bool const reserved = address.is_v4() && (address.as_v4().is_reserved());
  return remote.port.value == 0 || address.is_unspecified() || address.is_multicast() || reserved;
}

// Whether the application may still queue data; otherwise the reason.
Refusal may_send(const Connection& c) {
  //= rfc9293#3.10.2
  //# 9293:P-SEND-CLOSING connection closing
  //= rfc9293#3.6
  //# 9293:P-CLOSE-NOSEND nothing may be sent after a close
  if (c.detached || c.fin_queued || !we_may_send(c.state)) {
    return Refusal::closing;
  }
  return Refusal::none;
}

// A record end counts as one block, because each record uses blocks of its own: otherwise many
// small records could use up the blocks of all connections.
std::uint32_t send_space(const Engine& e, const Connection& c, const InFlightState* a) {
  if (a == nullptr) {
    return send_limit(e, c).count;
  }
  std::uint32_t const block = e.config.block_bytes.count;
  std::uint64_t const held = a->send.length().count + std::uint64_t{a->send.record_ends} * block;
  std::uint32_t const limit = send_limit(e, c).count;
  return held < limit ? limit - static_cast<std::uint32_t>(held) : 0;
}

// Data was queued: it is pushed unless more follows at once.
//= rfc9293#3.10.2
//# 9293:P-SEND-EST, 9293:P-SEND-PRE sent as soon as state and windows allow
void queued(Engine& e, Connection& c, InFlightState& a, More more) {
  Sequence const begin = queue_begin(c);
  if (ends_record(more)) [[unlikely]] {
    a.send.end_record(e.pools);
  }
  if (pushes(more)) {
    //= rfc9293#3.9.1.2
    //# 9293:MAY-15, 9293:MAY-16 push, or aggregate with later data
    a.pushed = begin + a.send.length();
  }
  make_ready(e, c, a);
}

Taken nothing(Refusal refusal) { return {Bytes{}, refusal}; }

// A pool is exhausted: a `room` event will follow.
Refusal no_resource(Engine& e, Connection& c, Resource kind) {
  want_resource(e, c, kind);
  return Refusal::no_room;
}

// Nothing was accepted. If the send buffer is full, or the share of the store for connections that
// already have data queued, then `acknowledged` will notify; otherwise `room`.
//= rfc9293#3.10.2
//# 9293:P-SEND-NORES insufficient resources
Taken full(Engine& e, Connection& c, Resource kind) {
  bool const share =
      kind == Resource::block ? blocks_to_write(e) != 0 : e.pools.pieces.available() != 0;
  bool const buffer = share || send_space(e, c, &e.active(c)) == 0;
  release_if_idle(e, c);
  return nothing(buffer ? Refusal::no_room : no_resource(e, c, kind));
}

// Closes our half, in the states in which RFC 9293 3.10.4 permits it.
//= rfc9293#3.6
//# 9293:P-CLOSE-SIMPLEX, 9293:P-CLOSE-NOAUTOFIN our half only, and only on request
//= rfc9293#3.6.1
//# 9293:P-HALFCLOSED the other half stays open
Refusal close_our_half(Engine& e, Connection& c) {
  //= rfc9293#3.10.4
  //# 9293:P-CLOSE-FINWAIT, 9293:P-CLOSE-CLOSING already closing: no second FIN
  if (c.detached || c.fin_queued) {
    return Refusal::closing;
  }
  if (c.state == State::syn_sent) {
    //= rfc9293#3.10.4
    //# 9293:P-CLOSE-SYNSENT deletes the record and its queue
    enter(e, c, State::closed);
    detach(e, c, Cause::aborted);
    return Refusal::none;
  }
  if (ensure_active(e, c) == nullptr) {
    return no_resource(e, c, Resource::active);
  }
  c.fin_queued = true;
  if (c.state == State::established) {
    enter(e, c, State::fin_wait_1);
  }
  //= rfc9293#3.10.4
  //# 9293:P-CLOSE-SYNRCVD before ESTABLISHED the FIN is sent after the handshake
  make_ready(e, c);
  return Refusal::none;
}

// Whether this stack can provide the settings of a listener.
Refusal may_offer(const Config& config, const Backlog& backlog) {
  bool const account_wanted = !backlog.mss.empty() && !config.accounts;
  if (account_wanted || (backlog.fast_open.value != 0 && !config.fast_open_server)) {
    return Refusal::switched_off;
  }
  bool const fine = (backlog.mss.empty() || may_limit_mss(backlog.mss.count)) &&
                    backlog.dscp <= 63 && backlog.receive_buffer.count <= 0x3fff'ffff;
  return fine ? Refusal::none : Refusal::bad_argument;
}

void offer(Listener& listener, const Backlog& backlog) {
  listener.fast_open_max = backlog.fast_open.value;
  listener.mss = static_cast<std::uint16_t>(backlog.mss.count);
  listener.receive_buffer = backlog.receive_buffer;
  listener.ttl = backlog.ttl;
  listener.dscp = backlog.dscp;
}

}  // namespace

Refusal listen(Engine& e, const Local& local, std::uint16_t local_address, Backlog backlog,
               ListenerId& out) {
  if (local.port.value == 0) {
    return Refusal::bad_local;
  }
  if (Refusal const refused = may_offer(e.config, backlog); refused != Refusal::none) {
    return refused;
  }
  std::uint32_t const hash = Demux::listener_hash(local);
  TableEntry const found = e.demux.find(hash, [&](TableEntry candidate) {
    if (candidate.kind != EntryKind::listener) {
      return false;
    }
    Local const& other = e.listeners[candidate.index].local;
    return other.address == local.address && other.port == local.port &&
           other.remote == local.remote;
  });
  //= rfc9293#3.9.1.1
  //# 9293:MUST-41 a passive open makes a new record or fails; existing ones do not change
  //# 9293:MUST-42 connections on the same port do not prevent it
  if (found.kind != EntryKind::none) {
    return Refusal::exists;
  }
  Index const slot = e.listeners.take();
  if (slot == nil) {
    return Refusal::no_room;
  }
  Listener& listener = e.listeners[slot];
  std::uint32_t const generation = listener.generation;
  listener = Listener{};
  listener.generation = generation;
  listener.local = local;
  listener.local_address = local_address;
  listener.pending_max = backlog.pending.value;
  listener.records_max = half_open_records(e.config, backlog.pending);
  listener.admitted = backlog.admitted.value;
  offer(listener, backlog);
  listener.open = true;
  e.demux.insert(hash, {EntryKind::listener, slot});
  ++e.state->listeners_of_kind[listener_kind(local)];
  out = {slot, generation};
  return Refusal::none;
}

Refusal change(Engine& e, ListenerId id, const Backlog& to) {
  Index const slot = find_listener(e, id);
  if (slot == nil) {
    return Refusal::stale_id;
  }
  Refusal const refused = may_offer(e.config, to);
  if (refused == Refusal::none) {
    offer(e.listeners[slot], to);
  }
  return refused;
}

//= rfc9293#3.10.4
//# 9293:P-CLOSE-LISTEN deletes the record of LISTEN
//= rfc9293#3.10.5
//# 9293:P-ABORT-LISTEN and sends nothing
Refusal unlisten(Engine& e, ListenerId id) {
  Index const slot = find_listener(e, id);
  if (slot == nil) {
    return Refusal::stale_id;
  }
  Listener& listener = e.listeners[slot];
  forget_half_opens(e, slot);
  e.leave_table(Demux::listener_hash(listener.local), {EntryKind::listener, slot});
  --e.state->listeners_of_kind[listener_kind(listener.local)];
  // Connections that wait to be admitted are reported now: the listener no longer limits them.
  admit(e, id, Count::unlimited());
  listener.open = false;
  ++listener.generation;
  e.listeners.give(slot);
  return Refusal::none;
}

void admit(Engine& e, ListenerId id, Count more) {
  Index const slot = find_listener(e, id);
  if (slot == nil) {
    return;
  }
  Listener& listener = e.listeners[slot];
  std::uint32_t const room = Count::unlimited().value - listener.admitted;
  listener.admitted += std::min(room, more.value);
  while (!e.held(listener).empty()) {
    Index const at = e.held(listener).pop_front();
    e.connection(at).telling = TellPlace::now;
    e.notify_now().push_back(at);
  }
}

Refusal connect(Engine& e, const Open& open, std::uint16_t local_address, ConnectionId& out) {
  //= rfc9293#3.10.1
  //# 9293:P-OPEN-CLOSED-NOREM remote socket unspecified
  if (bad_remote(open.remote)) {
    return Refusal::bad_remote;
  }
  //= rfc9293#3.10.1
  //# 9293:P-OPEN-CLOSED-DENY an invalid DSCP is refused
  if (open.dscp > 63) {
    return Refusal::bad_argument;
  }
  if (open.fast_open && !e.config.fast_open_client) {
    return Refusal::switched_off;
  }
  //= rfc9293#3.4.2
  //# 9293:P-QUIET no sequence number is assigned during the quiet time after boot
  if (in_quiet_time(e)) {
    return Refusal::quiet_time;
  }
  Socket socket{{open.local, open.remote}, 0, local_address};
  Refusal const refused = open.local.port.value == 0 ? draw_port(e, socket) : alloc_port(e, socket);
  if (refused != Refusal::none) [[unlikely]] {
    return refused;
  }
  //= rfc9293#3.10.1
  //# 9293:P-OPEN-NORES insufficient resources
  if (!make_room_for_one(e)) {
    return Refusal::no_room;
  }
  Connection* const opened = open_connection(e, socket);
  CHECK(opened != nullptr);
  Connection& c = *opened;
  //= rfc9293#3.9.1.1
  //# 9293:P-OPEN-DSDEFAULT the default is 0
  //= rfc9293#3.9.1.9
  //# 9293:P-DS-DIRECTION it applies to all that we send, ACKs included, and to nothing else
  c.dscp = open.dscp;
  if (open.user_timeout.ns != 0) {
    c.user_timeout_ms = static_cast<std::uint32_t>(std::max<std::uint64_t>(
        1, std::min<std::uint64_t>(open.user_timeout.ns / 1'000'000, 0xffff'ffff)));
    c.options.set(negotiated::user_timeout_fixed);
  }
  //= rfc9293#3.10.1
  //# 9293:P-OPEN-CLOSED-ACTIVE, 9293:P-OPEN-CLOSED-TCB choose ISS, send SYN, enter SYN-SENT
  begin_sending(e, c, initial_sequence(e.config, socket.tuple, e.state->now));
  enter(e, c, State::syn_sent);
  if (open.fast_open) {
    want_fast_open(e, c);
  }
  make_ready(e, c);
  //= rfc9293#3.9.1.1
  //# 9293:P-OPEN-NAME the local name of the connection
  out = id_of(e, c);
  return Refusal::none;
}

//= rfc9293#3.10.2
//# 9293:P-SEND-CLOSED connection does not exist
Taken write(Engine& e, ConnectionId id, std::span<const std::byte> bytes, More more) {
  Connection* const found = find_told(e, id);
  if (found == nullptr) {
    return nothing(Refusal::stale_id);
  }
  Connection& c = *found;
  Refusal const refused = may_send(c);
  if (refused != Refusal::none) {
    return nothing(refused);
  }
  if (bytes.empty()) {
    if (pushes(more) && c.active != nil && !e.active(c).send.empty()) {
      queued(e, c, e.active(c), More::no);
    }
    return nothing(Refusal::none);
  }
  InFlightState* const a = ensure_active(e, c);
  if (a == nullptr) {
    return nothing(no_resource(e, c, Resource::active));
  }
  bool const has_piece = a->send.extends(e.pools) || may_take_piece(e, a->send);
  std::uint64_t const store = has_piece ? octets_to_write(e, a->send) : 0;
  std::uint64_t const space = std::min<std::uint64_t>(send_space(e, c, a), store);
  auto const wanted =
      bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), space)));
  //= rfc9293#3.9.1.2
  //# 9293:P-SEND-FIFO in the order of the calls
  Bytes const taken = a->send.append(e.pools, wanted);
  if (!taken.empty()) {
    queued(e, c, *a, taken.count == bytes.size() ? more : More::no);
  }
  if (taken.empty()) {
    return full(e, c, has_piece && store == 0 ? Resource::block : Resource::piece);
  }
  return {taken, Refusal::none};
}

Taken lend(Engine& e, ConnectionId id, Payload payload, More more) {
  Connection* const found = find_told(e, id);
  if (found == nullptr) {
    return nothing(Refusal::stale_id);
  }
  Connection& c = *found;
  Refusal const refused = may_send(c);
  if (refused != Refusal::none) {
    return nothing(refused);
  }
  bool const bound =
      payload.region.value < e.regions.size() &&
      payload.offset <= e.regions[payload.region.value].bytes.size() &&
      payload.length <= e.regions[payload.region.value].bytes.size() - payload.offset;
  if (!bound) {
    return nothing(Refusal::bad_region);
  }
  if (payload.length == 0) {
    return {};
  }
  InFlightState* const a = ensure_active(e, c);
  if (a == nullptr) {
    return nothing(no_resource(e, c, Resource::active));
  }
  std::uint32_t const length =
      may_take_piece(e, a->send) ? std::min(payload.length, send_space(e, c, a)) : 0;
  Bytes const taken =
      length == 0 ? Bytes{}
                  : a->send.append_loan(e.pools, {payload.offset, Bytes{length}, payload.region});
  if (taken.empty()) {
    return full(e, c, Resource::piece);
  }
  queued(e, c, *a, taken.count == payload.length ? more : More::no);
  return {taken, Refusal::none};
}

Refusal urgent(Engine& e, ConnectionId id) {
  Connection* const found = find_told(e, id);
  if (found == nullptr) {
    return Refusal::stale_id;
  }
  Connection& c = *found;
  Refusal const refused = may_send(c);
  if (refused != Refusal::none) {
    return refused;
  }
  if (c.active == nil) {
    return Refusal::not_urgent;
  }
  // Data that has left carries no pointer any more.
  Bytes const queued = e.active(c).send.length();
  if (queued.empty() || c.send.nxt.at_or_after(queue_begin(c) + queued)) {
    return Refusal::not_urgent;
  }
  //= rfc9293#3.10.2
  //# 9293:P-SEND-URG the urgent pointer covers all that is queued now; it never moves back
  InFlightState& a = e.active(c);
  Sequence const begin = queue_begin(c);
  a.send_up = begin + a.send.length();
  c.send_urgent = true;
  make_ready(e, c);
  return Refusal::none;
}

Refusal finish(Engine& e, ConnectionId id) {
  Connection* const found = find_told(e, id);
  //= rfc9293#3.10.4
  //# 9293:P-CLOSE-CLOSED connection does not exist
  return found == nullptr ? Refusal::stale_id : close_our_half(e, *found);
}

Refusal close(Engine& e, ConnectionId id) {
  Connection* const found = find_told(e, id);
  if (found == nullptr) {
    return Refusal::stale_id;
  }
  Connection& c = *found;
  if (c.reading_over) {
    return Refusal::closing;
  }
  if (c.detached) {
    c.reading_over = true;
    consume(e, c, unread_of(c));
    return Refusal::none;
  }
  if (!unread_of(c).empty()) {
    //= rfc9293#3.6.1
    //# 9293:SHLD-3 unread data is lost: a reset informs the peer
    send_reset(e, c);
    enter(e, c, State::closed);
    detach(e, c, Cause::aborted);
    return Refusal::none;
  }
  if (c.fin_queued) {
    c.reading_over = true;
    if (c.state == State::fin_wait_2) {
      bound_fin_wait_2(e, c);
    } else {
      begin_orphan(e, c);
    }
    return Refusal::none;
  }
  Refusal const refused = close_our_half(e, c);
  // If finish() was refused for lack of resources, the application can call close() again.
  c.reading_over = refused == Refusal::none;
  if (c.reading_over && !c.detached) {
    begin_orphan(e, c);
  }
  return refused;
}

//= rfc9293#3.9.1.6
//# 9293:P-ABORT-API, 9293:P-ABORT-MODE queues, record and connection are released at once
void abort(Engine& e, ConnectionId id) {
  Connection* const found = find_told(e, id);
  //= rfc9293#3.10.5
  //# 9293:P-ABORT-CLOSED an unknown connection: no effect
  if (found == nullptr || found->detached) {
    if (found != nullptr) {
      static_cast<void>(close(e, id));
    }
    return;
  }
  Connection& c = *found;
  //= rfc9293#3.5.2
  //# 9293:P-RST-USER the application may abort at any time
  if (aborts_with_reset(c)) {
    send_reset(e, c);
  }
  enter(e, c, State::closed);
  detach(e, c, Cause::aborted);
}

Bytes writable(const Engine& e, ConnectionId id) {
  Connection* const found = find_told(e, id);
  if (found == nullptr || may_send(*found) != Refusal::none) {
    return {};
  }
  Connection const& c = *found;
  return {send_space(e, c, c.active == nil ? nullptr : &e.active(c))};
}

}  // namespace lockstep::tcp
