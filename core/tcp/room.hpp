// Applications that were refused for want of room in a pool, and when they are told to try again.
#pragma once

#include <algorithm>

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// How many blocks writing may still take. A part of the store is left to receiving: two stacks that
// both filled theirs with text to send could never open a window to each other again.
inline std::uint32_t blocks_to_write(const Engine& e) {
  memory::Blocks const& blocks = e.pools.blocks;
  std::uint32_t const kept = std::max(2 * e.config.reserve_blocks.value, blocks.capacity() / 4);
  std::uint32_t const free = blocks.available();
  return free > kept ? free - kept : 0;
}

// The application of this connection was refused: `room` will be told, once, when there is some. In
// the order of their asking, each kind of room by itself. O(1).
void want_room(Engine& e, Connection& c, Room kind);
// It waits no longer.
void forget_room(Engine& e, Connection& c);
// Tells as many as there is room for: nobody in vain, as long as nobody else comes first.
void tell_room(Engine& e);
// Whether tell_room() would tell anybody, given that somebody waits. O(1).
bool room_to_tell(const Engine& e);

}  // namespace lockstep::tcp
