// One shard's protocol engine: a deterministic function of its Config and of the calls made on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/link/address_conflict.hpp"
#include "core/stack/config.hpp"
#include "core/stack/event.hpp"
#include "core/stack/frame.hpp"
#include "core/tcp/congestion/state.hpp"
#include "core/units/bytes.hpp"
#include "core/units/time.hpp"
#include "core/wire/checksum.hpp"

namespace lockstep {

struct Statistics;  // core/stack/statistics.hpp; so is PoolUse
struct PoolUse;

// The caller passes in the time and received frames, then pulls events and frames to send. The
// stack never calls back and writes only into memory that the caller passes in. Not thread-safe;
// shares nothing with other stacks: use one Stack per core.
class Stack {
 public:
  // Size of the arena for a stack with this configuration, in bytes.
  static std::uint64_t arena_bytes(const Config& config);
  // CHECKs fault_of(config).empty() and arena.size() >= arena_bytes(config). The arena must be
  // aligned to 64 bytes and outlive the stack. No memory is obtained later.
  Stack(const Config& config, std::span<std::byte> arena);
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  // --- Input from the driver's loop. `now` never decreases. ---

  // Processes the frames strictly in order. They stay lent until settle(). At most
  // Config::burst_frames frames between two settle() calls (CHECK).
  void receive(Instant now, std::span<const Ingress> burst);
  // Fires due timers, at most Config::expire_max. Returns whether any fired.
  bool expire(Instant now);

  // --- Output, pulled by the driver's loop. ---

  // Takes the next pending event. Returns false when none is left in this turn.
  bool next_event(Event& out);
  // Writes one frame into `into`, which must have space for the MTU and the link header. length 0:
  // nothing can be sent now.
  Egress transmit(Instant now, std::span<std::byte> into);
  // Whether anything may be ready to send.
  bool wants_transmit() const;
  // When expire() or the next turn must run: `never` if only a received frame or an API call can
  // cause work; not in the future if anything is ready now. May be too early, never too late.
  Instant deadline() const;
  // Ends the loan of the frames passed to receive(): unread data is copied first. Cannot fail.
  void settle();
  // From now on the link carries packets of at most `mtu` octets (at least 68, CHECK; more than
  // Config::mtu counts as that). Segments become smaller at once, and larger again as well; the
  // MSS option changes for new connections. Between turns.
  void set_link_mtu(Bytes mtu);
  // What set_link_mtu() said last, at most Config::mtu; Config::mtu before its first call.
  Bytes link_mtu() const;

  // --- Calls by the application, between turns or while it takes events. ---

  // Binds memory that lend() refers to. It must not change while any of it is lent. CHECKs that the
  // region number is below Config::regions_max.
  // With a table of its prefix sums (wire::build_checksum_table), data lent from it is sent without
  // reading it again for the checksum.
  void bind(RegionId region, std::span<const std::byte> memory,
            const wire::ChecksumTable& table = {});

  //= rfc9293#3.10.1
  //# 9293:P-OPEN-CLOSED-PASSIVE a passive open enters LISTEN and sends nothing
  [[nodiscard]] Refusal listen(const Local& local, Backlog backlog, ListenerId& out);
  // Applies the fields of `to`, except the limits on waiting connections, to connections opened
  // from now on: Fast Open, segment size, buffer, TTL, DSCP.
  [[nodiscard]] Refusal change(ListenerId listener, const Backlog& to);
  // Ends listening. Connections with a record continue; a handshake in the SYN cache is reset.
  [[nodiscard]] Refusal unlisten(ListenerId listener);
  // Allows `more` further `accepted` events.
  void admit(ListenerId listener, Count more);
  // Starts an active open (RFC 9293 3.10.1). A `connected` or `closed` event follows.
  [[nodiscard]] Refusal connect(const Open& open, ConnectionId& out);

  // Whether a Fast Open cookie for this open is cached, so that the SYN can carry data. If not, the
  // SYN requests a cookie.
  bool knows_cookie(const Open& open) const;

  // The longest contiguous range of unread data after the first `skip` unread bytes; empty if there
  // is none. Valid until the next call of consume, settle, receive, close or abort.
  std::span<const std::byte> readable(ConnectionId id, Bytes skip = {}) const;
  // Marks that many bytes as read (at most the unread ones); they are released.
  void consume(ConnectionId id, Bytes bytes);
  // Bytes of in-order data that can be read.
  Bytes unread(ConnectionId id) const;
  // The most bytes that the connection's send buffer would accept now; write() accepts fewer while
  // the store that connections share is short. After a refusal `room` reports that this is over.
  Bytes writable(ConnectionId id) const;

  // When one of the next four calls is refused with no_room, an event says when to retry:
  // `acknowledged` if the send buffer is full, `room` if a pool is exhausted.

  // Copies bytes into the send queue (RFC 9293 3.10.2); accepts as many as there is space for. An
  // empty write with More::no pushes data that More::yes has held back; an empty write ends no
  // record.
  Taken write(ConnectionId id, std::span<const std::byte> bytes, More more = More::no);
  // Queues bytes of a bound region without copying them. The loan ends at `acknowledged`, when
  // abort() returns, or at `closed`.
  Taken lend(ConnectionId id, Payload payload, More more = More::no);
  // Closes our half: a FIN follows the queued data. Reading is still possible. Before the peer has
  // answered our SYN the connection ends instead, and queued data with it (RFC 9293 3.10.4): wait
  // for `connected`.
  [[nodiscard]] Refusal finish(ConnectionId id);
  // Closes our half and ends reading: unread data or data that arrives later is answered by a reset
  // (RFC 9293 3.6.1, SHLD-3). The time in FIN-WAIT-2 is limited
  // (Config::fin_wait_2), and so is the time for which the peer may keep its window closed
  // (Config::orphan_timeout). `closed` still follows. In SYN-SENT as finish().
  [[nodiscard]] Refusal close(ConnectionId id);
  // Marks all queued data as urgent, if not all has been sent (SEND with URGENT, RFC 9293 3.8.5).
  [[nodiscard]] Refusal urgent(ConnectionId id);
  // ABORT (RFC 9293 3.10.5): immediate, with a reset to the peer where the state requires one.
  // `closed` follows with cause aborted. A stale id is ignored.
  void abort(ConnectionId id);
  // Changes one setting of a connection from now on. Refused: a stale id, a value out of range, or
  // what Config has switched off.
  [[nodiscard]] Refusal set(ConnectionId id, Setting setting);

  // --- Inspection. These calls change nothing, except restore(). ---

  // A copy of a connection's variables. `exists` is false if the id is stale.
  ConnectionInfo inspect(ConnectionId id) const;
  // How many numbers inspect_record() takes. It changes when connections open.
  Count records() const;
  // A copy of one of all records, by its number below records() (CHECK): a connection, one in
  // TIME-WAIT or half-open in the SYN cache, or a listener (LISTEN, with its limit of waiting
  // connections in send.queued, and those that wait in receive.unread). `exists` is false if the
  // number is not in use.
  ConnectionInfo inspect_record(Count record) const;
  // The state that a segment with this four-tuple would find: CLOSED, LISTEN, or the state of a
  // connection, TIME-WAIT included.
  tcp::State state_of(const FourTuple& tuple) const;
  // The configuration. The reference is valid as long as the stack.
  const Config& config() const;
  // Whether an address of Config may be used: not while it is being tested (Config::address_probes,
  // duplicate_tests), nor if another host has it. CHECKs that it is ours.
  AddressState address_state(IpAddress ours) const;
  // The last packet that claimed an IPv4 address of ours (RFC 5227 2.4). Addresses that are in use
  // stay in use.
  AddressConflict last_conflict() const;
  // Replaces the settings that size no memory and draw no key, for open connections, too: as a
  // system's sysctls do. `config` must be valid and need the same memory (CHECK), and must have the
  // same keys, addresses, link and pools. Between turns only. These stay as they are: the tick of
  // timestamps; rate samples once they are made; while a handshake is under way, the window scale;
  // and the settings of neighbours, addresses, path MTUs and fragments. A larger MTU than that of
  // the beginning needs larger buffers of the driver; config() keeps the largest. Timestamps and
  // SACK should not change while a handshake is under way.
  void reconfigure(const Config& config);
  // The counters. The reference is valid as long as the stack.
  const Statistics& statistics() const;
  // The first window out of range that an added congestion controller has set, if any.
  tcp::ControllerFault controller_fault() const;
  // How many entries of each pool are in use.
  PoolUse pools() const;
  // The time of the last call that brought one.
  Instant now() const;

  // Exact: hashes field values in the order of declaration.
  std::uint64_t fingerprint() const;
  // Equal for states that differ only in slots, generations, counters and the origin of time.
  std::uint64_t canonical(Instant now) const;
  // Upper bound of the bytes that snapshot() writes. Between turns only (CHECK).
  std::uint64_t snapshot_bytes() const;
  // Copies the whole state into `into`, which holds snapshot_bytes(). Between turns only (CHECK).
  void snapshot(std::span<std::byte> into) const;
  // Replaces the state by a snapshot of a stack with the same configuration; refuses any other
  // bytes, also a damaged snapshot, with bad_snapshot and then changes nothing. A checksum finds
  // damage, not forgery: the bytes must come from a source that is trusted. The regions of bind()
  // are no part of it: those that its connections have lent from must be bound as they were (CHECK,
  // when the octets are sent). Between turns only (CHECK).
  [[nodiscard]] Refusal restore(std::span<const std::byte> from);
  // CHECKs every invariant of every connection, and that no pool has lost or gained elements.
  void check_invariants() const;

  // Internal: for the files of core/stack only.
  struct Body;

 private:
  Body& body() const { return *body_; }
  // For a call that may change what is sent next. Defined in body.hpp.
  Body& changing();

  // Points into the arena, which holds all state except regions, lent frames and views.
  Body* body_;
};

}  // namespace lockstep
