// One shard's protocol engine: a deterministic function of its Config and of the calls made on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/stack/config.hpp"
#include "core/stack/event.hpp"
#include "core/stack/frame.hpp"
#include "core/units/bytes.hpp"
#include "core/units/time.hpp"
#include "core/wire/checksum.hpp"

namespace lockstep {

struct Statistics;  // core/stack/statistics.hpp, as the next one
struct PoolUse;

// The world lends it frames and tells it the time; it is asked, never asks; it writes into memory
// handed to it; it calls nobody. Not thread-safe and shares nothing: one Stack a core.
class Stack {
 public:
  // The arena that a stack with this configuration needs, in bytes.
  static std::uint64_t arena_bytes(const Config& config);
  // CHECKs fault_of(config).empty() and arena.size() >= arena_bytes(config). The arena must be
  // aligned to 64 bytes and outlive the stack. The last moment at which memory is obtained.
  Stack(const Config& config, std::span<std::byte> arena);
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  // --- The world speaks. `now` never runs backwards. ---

  // Processes the frames strictly in order. They stay on loan until settle(). At most
  // Config::burst_frames between two settles (CHECK).
  void receive(Instant now, std::span<const Ingress> burst);
  // Fires at most Config::expire_max timers that are due; true if one was.
  bool expire(Instant now);

  // --- The core answers: pulled, never pushed. ---

  // The next pending event; false when this turn has none left.
  bool next_event(Event& out);
  // Writes one frame into `into`, which must hold the MTU and the link header. length 0: nothing
  // can be written now.
  Egress transmit(Instant now, std::span<std::byte> into);
  // Something may be ready to leave.
  bool wants_transmit() const;
  // When expire() or another turn is wanted next: never if only the world can wake the stack, not
  // in the future if anything is ready. May be early, never late.
  Instant deadline() const;
  // The frames of receive() go back now: what is unread has been copied. Cannot fail.
  void settle();

  // --- The application speaks, between turns or while draining events. ---

  // Binds memory to lend from. It must stay unchanged while any of it is lent. CHECKs that the
  // region number is below Config::regions_max.
  // With a table of its prefix sums (made by wire::build_checksum_table) what is lent from it is
  // sent without being summed.
  void bind(RegionId region, std::span<const std::byte> memory,
            const wire::ChecksumTable& table = {});

  //= rfc9293#3.10.1
  //# 9293:P-OPEN-CLOSED-PASSIVE a passive open enters LISTEN and sends nothing
  [[nodiscard]] Refusal listen(const Local& local, Backlog backlog, ListenerId& out);
  // All of `to` but how many may wait holds for what the listener answers from here on: Fast Open,
  // segment size, buffer, TTL, Diffserv field.
  [[nodiscard]] Refusal change(ListenerId listener, const Backlog& to);
  // Ends listening. Connections that were accepted or are being so live on.
  [[nodiscard]] Refusal unlisten(ListenerId listener);
  // Allows `more` further `accepted` events.
  void admit(ListenerId listener, Count more);
  // Begins an active open (RFC 9293 3.10.1); `connected` or `closed` follows.
  [[nodiscard]] Refusal connect(const Open& open, ConnectionId& out);

  // Whether the SYN of this open can show a cookie of Fast Open and bring data. If not, the first
  // SYN asks for one.
  bool knows_cookie(const Open& open) const;

  // The longest contiguous readable bytes after the first `skip` unread ones: empty if there are
  // none. Valid until the next call of consume, settle, receive, close or abort.
  std::span<const std::byte> readable(ConnectionId id, Bytes skip = {}) const;
  // The application has read that many bytes (at most the unread ones) and wants them no more.
  void consume(ConnectionId id, Bytes bytes);
  // Bytes of in-order data that can be read.
  Bytes unread(ConnectionId id) const;
  // Bytes that write would take now at most.
  Bytes writable(ConnectionId id) const;

  // Whoever is refused by the next four with no_room is told when to try again: by `acknowledged`
  // if the send buffer is full, by `room` if a pool is.

  // Copies bytes into the send queue (RFC 9293 3.10.2). Takes what there is room for. No bytes and
  // More::no push what More::yes has held back; no bytes are no record.
  Taken write(ConnectionId id, std::span<const std::byte> bytes, More more = More::no);
  // Queues bytes of a bound region without copying them. The loan ends at `acknowledged`, on
  // return from abort, or at `closed`.
  Taken lend(ConnectionId id, Payload payload, More more = More::no);
  // Closes our half: the FIN follows what is queued. Reading goes on.
  [[nodiscard]] Refusal finish(ConnectionId id);
  // Closes our half and says that no more will be read: a reset answers unread or later data
  // (RFC 9293 3.6.1, SHLD-3). FIN-WAIT-2 is bounded. `closed` still follows.
  [[nodiscard]] Refusal close(ConnectionId id);
  // All that is queued now is urgent (SEND with URGENT, RFC 9293 3.8.5).
  [[nodiscard]] Refusal urgent(ConnectionId id);
  // ABORT (RFC 9293 3.10.5): at once, with a reset to the peer where the state asks for one.
  // `closed` follows with cause aborted. A stale id is ignored.
  void abort(ConnectionId id);
  [[nodiscard]] Refusal set(ConnectionId id, Setting setting);

  // --- The observer speaks. Nothing here changes anything. ---

  ConnectionInfo inspect(ConnectionId id) const;
  // What the wire would find for this four-tuple: CLOSED, LISTEN, or a connection's state,
  // TIME-WAIT included.
  tcp::State state_of(const FourTuple& tuple) const;
  const Config& config() const;
  const Statistics& statistics() const;
  PoolUse pools() const;
  Instant now() const;

  // Exact, over field values in declared order.
  std::uint64_t fingerprint() const;
  // The same for states that differ in slots, generations, counters and the origin of time only.
  std::uint64_t canonical(Instant now) const;
  // The bytes that snapshot() writes at most. Between turns only (CHECK).
  std::uint64_t snapshot_bytes() const;
  void snapshot(std::span<std::byte> into) const;
  [[nodiscard]] Refusal restore(std::span<const std::byte> from);
  // CHECKs every invariant of every connection and the conservation of every pool.
  void check_invariants() const;

  // The parts, for the files of core/stack alone.
  struct Body;

 private:
  Body& body() const { return *body_; }

  // All state but regions, lent frames and views lies in the arena behind `body_`.
  Body* body_;
};

}  // namespace lockstep
