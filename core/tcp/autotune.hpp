// Automatic growth of buffers: by the data received per round trip, and by the congestion window.
#pragma once

#include <algorithm>

#include "core/tcp/engine.hpp"
#include "core/tcp/resources.hpp"

namespace lockstep::tcp {

// Whether the receive buffer may still grow automatically.
inline bool receive_buffer_grows(const Engine& e, const Connection& c) {
  return e.config.receive_buffer_max > c.receive_buffer && !c.receive_buffer_set;
}
// If receive_buffer_grows(): the handshake is complete, starts the first measurement.
void begin_tuning(const Engine& e, Connection& c);
// If receive_buffer_grows(): the application has read data. Once a round trip: if it read more than
// half of the buffer, the buffer may limit the peer, so it grows to twice the amount read (Dynamic
// Right-Sizing). A round trip is SRTT, or what measure_echo() found if that is longer.
void tune_receive_buffer(const Engine& e, Connection& c);
// If echo_wanted(): the data of this segment was accepted in order. Measures the round trip of a
// receiver: it may send no data, so that SRTT stays that of the handshake, while the path changes.
// Only full-sized segments count, because the peer sends others when its application writes.
void measure_echo(const Engine& e, Connection& c, const wire::Segment& segment);

// The most data that the application may have queued: twice the congestion window, so that one full
// window is queued behind the one in flight; at least the buffer's size, at most its limit. Growth
// leaves as much of the store free as it uses, so n connections get 1/(n + 1) of it each. Data
// already accepted is kept. O(1).
inline Bytes send_limit(const Engine& e, const Connection& c) {
  if (e.config.send_buffer_max <= c.writing.send_buffer || c.send_buffer_set) {
    return c.writing.send_buffer;
  }
  std::uint32_t const room = blocks_to_write(e);
  std::uint32_t const kept = blocks_kept_for_first(e.config).value;
  std::uint64_t const free =
      std::uint64_t{room - std::min(room, kept)} * e.config.block_bytes.count;
  std::uint64_t const own = c.active == nil ? 0 : e.active(c).send.length().count;
  std::uint64_t const wanted = 2 * std::uint64_t{c.congestion.cwnd.count};
  std::uint64_t const most =
      std::min({wanted, (free + own) / 2, std::uint64_t{e.config.send_buffer_max.count}});
  return {std::max(c.writing.send_buffer.count, static_cast<std::uint32_t>(most))};
}

}  // namespace lockstep::tcp
