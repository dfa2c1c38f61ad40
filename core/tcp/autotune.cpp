// Measures how much an application reads per round trip.
#include "core/tcp/autotune.hpp"

#include "core/tcp/rtt.hpp"

namespace lockstep::tcp {
namespace {

// For a peer with no measured RTT, because we have sent it only a SYN cookie.
constexpr Duration unmeasured = Duration::milliseconds(100);

std::uint32_t microseconds_of(Instant now) { return static_cast<std::uint32_t>(now.ns / 1'000); }

}  // namespace

void begin_tuning(const Engine& e, Connection& c) {
  c.tuned_from = c.receive.read;
  c.tuned_us = microseconds_of(e.state->now);
}

void tune_receive_buffer(const Engine& e, Connection& c) {
  std::uint64_t const round_trip =
      std::max<std::uint64_t>((c.rtt.sampled() ? srtt_of(c.rtt) : unmeasured).ns / 1'000, 1);
  std::uint64_t const elapsed = microseconds_of(e.state->now) - c.tuned_us;
  if (elapsed < round_trip) {
    return;
  }
  // A pause in between counts as time without reading.
  std::uint64_t const read = c.receive.read.since(c.tuned_from).count;
  std::uint64_t const wanted = 2 * (elapsed < 2 * round_trip ? read : read * round_trip / elapsed);
  if (wanted > c.receive_buffer.count) {
    std::uint64_t const most = std::min<std::uint64_t>(wanted, e.config.receive_buffer_max.count);
    c.receive_buffer = {static_cast<std::uint32_t>(most)};
  }
  begin_tuning(e, c);
}

}  // namespace lockstep::tcp
