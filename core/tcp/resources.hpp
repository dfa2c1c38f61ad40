// Applications that were refused for want of room in a pool, and when they are told to try again.
#pragma once

#include <algorithm>

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// How many blocks are receiving's alone, and how many are writing's. Two stacks that both filled
// theirs with data to send could never open a window to each other again; and an application that
// reads no more than it can write would wait for its own octets if unread ones filled the store.
inline Count blocks_kept_to_receive(const Config& config) {
  return {std::max(2 * config.reserve_blocks.value, config.blocks_max.value / 4)};
}
inline Count blocks_kept_to_write(const Config& config) {
  return {(config.blocks_max.value - blocks_kept_to_receive(config).value) / 3};
}
// How many of the blocks that writing may take are for connections that have nothing queued: one
// for each connection that there can be, as far as a third of them goes. However many peers shut
// their windows for ever, whoever has nothing in flight can say something. A store of a few dozen
// blocks keeps none.
inline Count blocks_kept_for_first(const Config& config) {
  std::uint32_t const writing = config.blocks_max.value - blocks_kept_to_receive(config).value;
  return {writing < 64 ? 0 : std::min(config.connections_max.value, writing / 3)};
}
// How many blocks writing may still take.
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

// The application of this connection was refused: `room` will be told, once, when there is some. In
// the order of their asking, each kind of room by itself. O(1).
void want_resource(Engine& e, Connection& c, Resource kind);
// Everything was told of a connection that waits: it takes its place among the others that do.
void wait_for_room(Engine& e, Connection& c);
// It waits no longer.
void forget_room(Engine& e, Connection& c);
// Tells as many as there is room for: nobody in vain, as long as nobody else comes first.
void notify_resources(Engine& e);
// Whether notify_resources() would tell anybody, given that somebody waits. O(1).
bool room_to_tell(const Engine& e);

}  // namespace lockstep::tcp
