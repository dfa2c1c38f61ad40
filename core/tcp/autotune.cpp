// Measures how much an application reads per round trip.
#include "core/tcp/autotune.hpp"

#include "core/tcp/rtt.hpp"
#include "core/tcp/timestamps.hpp"

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
  std::uint64_t const smoothed =
      std::max<std::uint64_t>((c.rtt.sampled() ? srtt_of(c.rtt) : unmeasured).ns / 1'000, 1);
  std::uint32_t const elapsed = microseconds_of(e.state->now) - c.tuned_us;
  if (elapsed < smoothed) {
    return;
  }
  if (c.options.has(negotiated::timestamps)) {
    c.rtt.want_echo();
  }
  // More than half of the true round trip is enough for the buffer to grow: a window read in one
  // round trip is more than half of it read in this time.
  std::uint64_t const round_trip = std::max(smoothed, c.rtt.echoed_us());
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

[[gnu::cold]] void measure_echo(const Engine& e, Connection& c, const wire::Segment& segment) {
  wire::Options const& options = segment.options;
  if (segment.payload.size() < c.rcv_mss || !options.has_timestamps ||
      options.timestamp_echo == 0) {
    return;
  }
  // The clock may have ticked just after the timestamp left: one tick less is certain.
  std::uint32_t const clock = timestamp_at(e, c.options, e.state->arrived);
  std::uint32_t const ticks = clock - options.timestamp_echo;
  bool const measured =
      ticks > 1 && !is_older({clock, options.timestamp_echo}) && is_timed(*e.state);
  c.rtt.set_echoed_us(measured ? (e.config.timestamp_tick * (ticks - 1)).ns / 1'000 : 0);
}

}  // namespace lockstep::tcp
