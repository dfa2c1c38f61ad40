// Pacing: when the next new data may be sent, by a rate in octets per second.
#include "core/tcp/congestion/pacing.hpp"

#include <algorithm>

#include "core/tcp/congestion/adapter.hpp"
#include "core/tcp/congestion/control.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/rtt.hpp"

namespace lockstep::tcp::pacing {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
// The most octets that one quantum may send back to back, at any rate.
constexpr std::uint32_t quantum_max = 65'536;
// An added controller's quanta have two segments at least from this rate on, as those of BBR's
// draft; in octets per second.
constexpr std::uint64_t pairs_from = 150'000;

// The time that `octets` take at `rate`, rounded up so that the rate is never exceeded.
Duration time_of(Bytes octets, std::uint64_t rate) {
  return {(octets.count * second_ns + rate - 1) / rate};
}

// The round trip that cwnd is spread over: the last sample where that is shorter than SRTT, in
// which a delayed ACK of an earlier request may still count. At least 1 us, so that no rate
// overflows.
Duration round_trip(const Engine& e, const Connection& c) {
  Duration rtt = srtt_of(c.rtt);
  if (c.active != nil && e.actives[c.active].sample.valid) {
    rtt = std::min(rtt, e.actives[c.active].sample.rtt);
  }
  return std::max(rtt, Duration::microseconds(1));
}

}  // namespace

Bytes quantum_of(const Engine& e, const Connection& c, std::uint64_t rate) {
  std::uint64_t const ns = std::min(e.config.pacing_quantum.ns, second_ns);
  std::uint64_t const octets = std::min(rate, std::uint64_t{1} << 34) * ns / second_ns;
  bool const pair = added::possible(e) && rate >= pairs_from && added::paces(e, c);
  std::uint32_t const segments = pair ? 2 : 1;
  return {std::max(static_cast<std::uint32_t>(std::min<std::uint64_t>(octets, quantum_max)),
                   segments * std::uint32_t{c.mss})};
}

std::uint64_t rate_of(Engine& e, Connection& c) {
  std::uint64_t const asked = congestion::pacing_rate(e, c);
  if (asked != 0 || !c.rtt.sampled()) {
    return asked;
  }
  std::uint64_t const rtt_ns = round_trip(e, c).ns;
  // Above cwnd / RTT, so that pacing never prevents full use of cwnd; twice as high in slow start,
  // where cwnd doubles within a round trip.
  bool const starting = c.congestion.cwnd < c.congestion.ssthresh;
  std::uint64_t const percent = (starting ? e.config.pacing_start : e.config.pacing_gain).value;
  std::uint64_t const octets = std::uint64_t{c.congestion.cwnd.count} * percent;
  // Two steps, as octets * 10^9 needs more than 64 bits.
  std::uint64_t const whole = octets / rtt_ns * second_ns;
  std::uint64_t const part = octets % rtt_ns * (second_ns / 100) / rtt_ns;
  return std::max<std::uint64_t>(whole / 100 + part, 1);
}

void note_sent(Engine& e, Connection& c, Bytes data) {
  std::uint64_t const rate = rate_of(e, c);
  if (rate == 0 || data.empty()) {
    return;
  }
  InFlightState& a = e.active(c);
  Bytes const ahead = quantum_of(e, c, rate) - data;
  Instant const earliest = e.state->now - time_of(ahead, rate);
  a.pace_at = later(a.pace_at, earliest) + time_of(data, rate);
}

void wait(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  a.pace_due = a.pace_at;
  arm(e, c);
}

}  // namespace lockstep::tcp::pacing
