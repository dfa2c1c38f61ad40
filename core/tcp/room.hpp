// Applications that were refused for want of room in a pool, and when they are told to try again.
#pragma once

#include <algorithm>

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// How many blocks are receiving's alone, and how many are writing's. Two stacks that both filled
// theirs with text to send could never open a window to each other again; and an application that
// reads no more than it can write would wait for its own octets if unread ones filled the store.
inline Count blocks_kept_to_receive(const Config& config) {
  return {std::max(2 * config.reserve_blocks.value, config.blocks_max.value / 4)};
}
inline Count blocks_kept_to_write(const Config& config) {
  return {(config.blocks_max.value - blocks_kept_to_receive(config).value) / 3};
}
// How many blocks writing may still take.
inline std::uint32_t blocks_to_write(const Engine& e) { return e.pools.blocks.room_to_write(); }

// The application of this connection was refused: `room` will be told, once, when there is some. In
// the order of their asking, each kind of room by itself. O(1).
void want_room(Engine& e, Connection& c, Room kind);
// Everything was told of a connection that waits: it takes its place among the others that do.
void wait_for_room(Engine& e, Connection& c);
// It waits no longer.
void forget_room(Engine& e, Connection& c);
// Tells as many as there is room for: nobody in vain, as long as nobody else comes first.
void tell_room(Engine& e);
// Whether tell_room() would tell anybody, given that somebody waits. O(1).
bool room_to_tell(const Engine& e);

}  // namespace lockstep::tcp
