// The record of a half-open connection in the SYN cache: no logic.
#pragma once

#include <cstdint>

#include "core/memory/list.hpp"
#include "core/units/address.hpp"
#include "core/units/sequence.hpp"
#include "core/units/time.hpp"
#include "core/units/window.hpp"

namespace lockstep::tcp {

// What the SYN contained, one bit each.
namespace brought {
inline constexpr std::uint8_t mss = 1;
inline constexpr std::uint8_t window_scale = 2;
inline constexpr std::uint8_t timestamps = 4;
inline constexpr std::uint8_t sack = 8;
inline constexpr std::uint8_t ecn =
    16;  // ECE and CWR, on the first SYN and on every retransmission of it
inline constexpr std::uint8_t fast_open = 32;  // a request for a Fast Open cookie
}  // namespace brought

// Maximum number of SYN-ACK retransmissions, whatever R2 is.
inline constexpr std::uint32_t half_open_tries_max = 63;

// A connection in SYN-RECEIVED opened by a SYN to a listener: the contents of the SYN and the state
// of the SYN-ACK. All else follows from these and from the configuration. Data, FIN and URG of the
// SYN are not kept: the peer retransmits them, because they are not acknowledged.
struct HalfOpen {
  IpAddress remote;
  Instant opened;      // time of the first SYN-ACK; R2 counts from here
  Instant due;         // the next retransmission, or R2
  memory::Link order;  // among records with the same number of retransmissions
  Sequence iss;
  Sequence irs;
  std::uint32_t timestamp = 0;           // of the SYN
  std::uint32_t listener = 0xffff'ffff;  // slot; closing the listener removes its half-open records
  Port remote_port;
  Port local_port;
  WireWindow window;                // of the SYN
  std::uint16_t local_address = 0;  // index of our addresses
  std::uint16_t mss = 0;
  std::uint16_t user_timeout = 0;  // as on the wire; 0: none
  std::uint16_t answers = 0;       // as of a connection
  std::uint16_t answers_second = 0;
  std::uint8_t brought = 0;
  WindowScale scale;       // of the SYN
  std::uint8_t tries = 0;  // retransmissions by the timer
  // Segment counters; they saturate.
  std::uint8_t sent = 0;
  std::uint8_t retransmitted = 0;  // SYN-ACK retransmissions among `sent`
  std::uint8_t received = 0;       // after the first SYN
  std::uint8_t challenges = 0;     // in `answers_second`

  bool has(std::uint8_t options) const { return (brought & options) != 0; }
};

static_assert(sizeof(HalfOpen) <= 80, "SYN cache records must stay small");

}  // namespace lockstep::tcp
