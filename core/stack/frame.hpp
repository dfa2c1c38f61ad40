// Frames as the stack and a driver pass them to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/time.hpp"

namespace lockstep {

// What the driver reports about the transport checksum of a received frame.
enum class Checksum : std::uint8_t { unknown, good, bad };

// One received frame, contiguous, lent to the stack until settle().
struct Ingress {
  std::span<const std::byte> bytes;
  Checksum checksum = Checksum::unknown;
  Instant arrived;  // the hardware timestamp, or now
};

// Where a frame goes: to the wire, or to another shard.
struct Destination {
  static constexpr std::uint16_t wire = 0xffff;
  std::uint16_t shard = wire;
  constexpr bool is_wire() const { return shard == wire; }
};

// One frame written by transmit(). length 0: nothing can be written now.
struct Egress {
  std::uint32_t length = 0;           // octets, link header included
  std::uint16_t checksum_start = 0;   // 0 together with checksum_offset 0: the checksum is complete
  std::uint16_t checksum_offset = 0;  // relative to checksum_start
  std::uint16_t segment_bytes = 0;    // TCP payload octets of the segment
  Destination to;
};

}  // namespace lockstep
