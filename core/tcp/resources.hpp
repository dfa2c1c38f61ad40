// Applications whose calls were refused because a pool was full, and when `room` notifies them.
#pragma once

#include <algorithm>

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// How many blocks are reserved for receiving, and how many for writing. Two stacks that both filled
// their stores with data to send could never open a window to each other; and an application that
// reads no more than it can write would block if unread data filled the store.
inline Count blocks_kept_to_receive(const Config& config) {
  return {std::max(2 * config.reserve_blocks.value, config.blocks_max.value / 4)};
}
inline Count blocks_kept_to_write(const Config& config) {
  return {(config.blocks_max.value - blocks_kept_to_receive(config).value) / 3};
}
// How many of the blocks for writing are reserved for connections with nothing queued: one per
// possible connection, at most a third of those blocks. So a connection with nothing in flight can
// always send, however many peers keep their windows closed. A store with fewer than 64 blocks for
// writing reserves none.
inline Count blocks_kept_for_first(const Config& config) {
  std::uint32_t const writing = config.blocks_max.value - blocks_kept_to_receive(config).value;
  return {writing < 64 ? 0 : std::min(config.connections_max.value, writing / 3)};
}
// How many pieces are reserved for connections with nothing queued: one per possible connection, at
// most a third. Otherwise a few peers with closed windows could hold all of them, one for each loan
// or record. A pool with fewer than 64 pieces reserves none.
inline Count pieces_kept_for_first(const Config& config) {
  std::uint32_t const pieces = config.pieces_max.value;
  return {pieces < 64 ? 0 : std::min(config.connections_max.value, pieces / 3)};
}
// Whether a connection may take a new piece.
inline bool may_take_piece(const Engine& e, const memory::SendStore& queue) {
  std::uint32_t const kept = queue.empty() ? 0 : pieces_kept_for_first(e.config).value;
  return e.pools.pieces.available() > kept;
}
// The reserves within the blocks for receiving. A store with fewer than 64 of these has only
// reserve_blocks.
inline ReceiveReserves receive_reserves(const Config& config) {
  std::uint32_t const receiving = config.blocks_max.value - blocks_kept_to_write(config).value;
  bool const small = receiving < 64;
  std::uint32_t const first = small ? 0 : std::min(config.connections_max.value, receiving / 3);
  return {std::max(config.reserve_blocks.value, first), small ? 0 : receiving / 8};
}
// What the application of a connection has done with data of earlier turns.
enum class Reading : std::uint8_t {
  behind,  // some of it is unread
  little,  // nothing is unread, but it has read less than what arrives in this turn
  ahead,   // nothing is unread, and it has read at least as much
};
// `end` is the end of what arrives in this turn.
Reading reading_of(const Engine& e, const Connection& c, Sequence end);
// How many blocks a connection must leave free when it takes more than its first one. Who holds
// unread data, or wants to store data above a gap, leaves both reserves.
inline std::uint32_t blocks_kept_from(const Engine& e, Reading reading) {
  ReceiveReserves const& reserves = e.reserves;
  std::uint32_t const holding = e.pools.blocks.receivers();
  if (reading == Reading::behind) {
    std::uint32_t const others = e.config.connections_max.value - holding;
    return std::max(std::min(reserves.first, others) + reserves.readers,
                    e.config.reserve_blocks.value);
  }
  std::uint32_t const first = reserves.first - std::min(reserves.first, holding);
  return first + (reading == Reading::little ? reserves.readers / 2 : 0);
}
// How many octets from `begin` in order may be stored now: `length`, or up to the end of a block,
// or none. Discards data above gaps if necessary.
Bytes octets_to_receive(Engine& e, Connection& c, Sequence begin, Bytes length);
// How many blocks writing may still use.
inline std::uint32_t blocks_to_write(const Engine& e) { return e.pools.blocks.room_to_write(); }
// How many octets a connection may still write, as far as the store is concerned.
inline std::uint64_t octets_to_write(const Engine& e, const memory::SendStore& queue) {
  std::uint32_t const room = blocks_to_write(e);
  std::uint32_t const kept = blocks_kept_for_first(e.config).value;
  if (room > kept) {
    return std::uint64_t{room - kept} * e.config.block_bytes.count;
  }
  if (room == 0) {
    return 0;
  }
  return (queue.empty() ? e.config.block_bytes : queue.room_in_last(e.pools)).count;
}

// Whether the store refuses any more data of a connection, which must have some queued.
inline bool store_is_full(const Engine& e, const memory::SendStore& queue) {
  bool const has_piece = queue.extends(e.pools) || may_take_piece(e, queue);
  return !has_piece || octets_to_write(e, queue) == 0;
}

// A call on this connection was refused: `room` is reported once, when resources are free.
// Connections are notified in the order of their refusals, each kind of resource separately. O(1).
void want_resource(Engine& e, Connection& c, Resource kind);
// All other events of this connection were reported: it joins the queue of those that wait for
// `room`.
void wait_for_room(Engine& e, Connection& c);
// The connection stops waiting.
void forget_room(Engine& e, Connection& c);
// Notifies as many connections as there are resources for.
void notify_resources(Engine& e);
// Whether notify_resources() would notify any, if one is waiting. O(1).
bool room_to_tell(const Engine& e);

}  // namespace lockstep::tcp
