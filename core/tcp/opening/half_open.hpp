// The record of a half-open connection in the SYN cache: no logic.
#pragma once

#include <cstdint>

#include "core/memory/list.hpp"
#include "core/units/address.hpp"
#include "core/units/sequence.hpp"
#include "core/units/time.hpp"
#include "core/units/window.hpp"

namespace lockstep::tcp {

// What a SYN has brought, one bit each.
namespace brought {
inline constexpr std::uint8_t mss = 1;
inline constexpr std::uint8_t window_scale = 2;
inline constexpr std::uint8_t timestamps = 4;
inline constexpr std::uint8_t sack = 8;
inline constexpr std::uint8_t ecn = 16;        // ECE and CWR, on every SYN of this number
inline constexpr std::uint8_t fast_open = 32;  // a wish for a cookie of Fast Open
}  // namespace brought

// How often a SYN-ACK goes again at most, whatever R2 says.
inline constexpr std::uint32_t half_open_tries_max = 63;

// A connection in SYN-RECEIVED that a listener's SYN has begun: what the SYN said and what became
// of its answer. All else follows from these and from the configuration. Data, FIN and URG of the
// SYN are not kept: they come again, as they are not acknowledged.
struct HalfOpen {
  IpAddress remote;
  Instant opened;      // the first SYN-ACK; R2 counts from here
  Instant due;         // the next one, or R2
  memory::Link order;  // of those that were retransmitted as often
  Sequence iss;
  Sequence irs;
  std::uint32_t timestamp = 0;           // of the SYN
  std::uint32_t listener = 0xffff'ffff;  // slot; closed, it takes its half-open ones along
  Port remote_port;
  Port local_port;
  WireWindow window;                // of the SYN
  std::uint16_t local_address = 0;  // index of our addresses
  std::uint16_t mss = 0;
  std::uint16_t user_timeout = 0;  // as on the wire; 0: none
  std::uint16_t answers = 0;       // to empty segments out of the window, in `answers_second`
  std::uint16_t answers_second = 0;
  std::uint8_t brought = 0;
  WindowScale scale;       // of the SYN
  std::uint8_t tries = 0;  // retransmissions by the timer
  // Of segments, as far as they can be counted here.
  std::uint8_t sent = 0;
  std::uint8_t retransmitted = 0;  // of these, SYN-ACKs that were not the first
  std::uint8_t received = 0;       // after the SYN
  std::uint8_t challenges = 0;     // in `answers_second`

  bool has(std::uint8_t options) const { return (brought & options) != 0; }
};

static_assert(sizeof(HalfOpen) <= 80, "the SYN cache is worth it while its records are small");

}  // namespace lockstep::tcp
