// Buffers that grow by themselves: by what a round trip brings, and by the congestion window.
#pragma once

#include <algorithm>

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Whether the receive buffer may still grow by itself.
inline bool receive_buffer_grows(const Engine& e, const Connection& c) {
  return e.config.receive_buffer_max > c.receive_buffer && !c.receive_buffer_set;
}
// For one whose buffer grows. The handshake is over: the first measurement begins.
void begin_tuning(const Engine& e, Connection& c);
// Likewise. The application has read on. Once a round trip: if it read more than half of the
// buffer, the peer may be held back by it, and it grows to twice of what was read (Dynamic
// Right-Sizing).
void tune_receive_buffer(const Engine& e, Connection& c);

// How much the application may have queued: twice the congestion window, so that a full window
// waits behind the one in flight, between the buffer's size and its limit. As long as half of what
// writing may take of the store is free; no data that was taken is ever given back. O(1).
inline Bytes send_limit(const Engine& e, const Connection& c) {
  if (e.config.send_buffer_max <= c.writing.send_buffer || c.send_buffer_set) {
    return c.writing.send_buffer;
  }
  memory::Blocks const& blocks = e.pools.blocks;
  if (blocks.written() >= blocks.room_to_write()) {
    return c.writing.send_buffer;
  }
  std::uint64_t const wanted = 2 * std::uint64_t{c.congestion.cwnd.count};
  std::uint64_t const most = std::min<std::uint64_t>(wanted, e.config.send_buffer_max.count);
  return {std::max(c.writing.send_buffer.count, static_cast<std::uint32_t>(most))};
}

}  // namespace lockstep::tcp
