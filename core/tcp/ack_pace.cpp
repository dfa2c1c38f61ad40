// The rule of quick ACKs.
#include "core/tcp/ack_pace.hpp"

#include <algorithm>

#include "core/tcp/rtt.hpp"

namespace lockstep::tcp::ack_pace {
namespace {

// Connection::ack_pace: when data arrived last, in milliseconds of 18 bits, which repeat after four
// minutes (at worst one ACK is delayed that need not be); how many ACKs leave at once yet; whether
// this side answers; and the pause between the peer's segments in milliseconds, 0 before the first.
struct Pace {
  std::uint32_t arrived_ms = 0;
  std::uint32_t quick = 0;
  bool interactive = false;
  std::uint32_t pause_ms = 0;
};

constexpr std::uint32_t arrived_bits = 18, quick_bits = 5, pause_most = 255;
constexpr std::uint32_t delay_most_ms = 200, quick_most = 31;
constexpr std::uint32_t segment_least = 536;  // taken for full as long as none was larger

Pace pace_of(const Connection& c) {
  std::uint32_t const word = c.ack_pace;
  std::uint32_t const rest = word >> arrived_bits;
  return {word & ((1u << arrived_bits) - 1), rest & quick_most, (rest >> quick_bits & 1) != 0,
          rest >> (quick_bits + 1)};
}

void keep(Connection& c, const Pace& pace) {
  std::uint32_t const pause = std::min(pace.pause_ms, pause_most);
  std::uint32_t const rest =
      pace.quick | (pace.interactive ? 1u << quick_bits : 0u) | pause << (quick_bits + 1);
  c.ack_pace = pace.arrived_ms | rest << arrived_bits;
}

std::uint32_t now_ms(const Engine& e) {
  return static_cast<std::uint32_t>(e.state->now.ns / 1'000'000) & ((1u << arrived_bits) - 1);
}

std::uint32_t since_arrival(const Engine& e, const Pace& pace) {
  return (now_ms(e) - pace.arrived_ms) & ((1u << arrived_bits) - 1);
}

// The least pause that counts: Config's delayed_ack.
std::uint32_t least_ms(const Engine& e) {
  std::uint64_t const ms = e.config.delayed_ack.ns / 1'000'000;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(ms, 1, pause_most));
}

// How many ACKs leave at once after a start: one for each two segments that fit into the window, at
// least two.
std::uint32_t quick_of(const Engine& e, const Connection& c) {
  std::uint32_t const full = std::max<std::uint32_t>(c.rcv_mss, 1);
  std::uint32_t const window = c.receive.edge.since(c.receive.nxt).count / (2 * full);
  return std::min({std::max(window, 2u), e.config.quick_acks.value, quick_most});
}

// A segment of this length counts as full.
std::uint32_t full_of(const Connection& c) {
  return std::max<std::uint32_t>(c.rcv_mss, std::min<std::uint32_t>(segment_least, c.mss));
}

std::uint64_t rto_ms(const Connection& c) { return c.rtt.rto().ns / 1'000'000; }

}  // namespace

bool data_arrived(const Engine& e, Connection& c, const InFlightState& a) {
  Pace pace = pace_of(c);
  std::uint32_t const pause = since_arrival(e, pace);
  std::uint32_t const least = least_ms(e);
  if (pace.pause_ms == 0) {
    pace.quick = std::max(pace.quick, quick_of(e, c));
    pace.pause_ms = least;
  } else if (pause <= least / 2) {
    pace.pause_ms = std::max(pace.pause_ms / 2 + least / 2, 1u);
  } else if (pause < pace.pause_ms) {
    pace.pause_ms = pace.pause_ms / 2 + pause;
  } else if (pause > rto_ms(c)) {
    pace.quick = std::max(pace.quick, quick_of(e, c));
  }
  pace.arrived_ms = now_ms(e);
  keep(c, pace);
  return a.delayed.count > full_of(c) || (pace.quick != 0 && !pace.interactive);
}

Duration delay_of(const Engine& e, const Connection& c) {
  Duration const pause = Duration::milliseconds(pace_of(c).pause_ms);
  Duration const round_trip = c.rtt.sampled() ? srtt_of(c.rtt) : pause;
  Duration const most = Duration::milliseconds(delay_most_ms);
  bool const begun = pause != Duration{};
  return begun ? std::max(e.config.delayed_ack, std::min({pause, round_trip, most})) : pause;
}

void ack_leaves(const Engine& e, Connection& c) {
  Pace pace = pace_of(c);
  if (pace.quick != 0) {
    --pace.quick;
    pace.pause_ms = pace.quick == 0 ? least_ms(e) : pace.pause_ms;
    keep(c, pace);
  }
}

void data_leaves(const Engine& e, Connection& c) {
  Pace pace = pace_of(c);
  if (!pace.interactive && since_arrival(e, pace) < pace.pause_ms) {
    pace.interactive = true;
    keep(c, pace);
  }
}

bool fin_arrived(Connection& c, const InFlightState& a) {
  Pace pace = pace_of(c);
  pace.interactive = true;
  keep(c, pace);
  return a.delayed.count >= full_of(c);
}

void hasten(const Engine& e, Connection& c, Count segments) {
  Pace pace = pace_of(c);
  pace.quick = std::max(pace.quick, segments.value);
  pace.interactive = false;
  pace.pause_ms = least_ms(e);
  keep(c, pace);
}

}  // namespace lockstep::tcp::ack_pace
