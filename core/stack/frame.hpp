// Frames as they cross the seam, in and out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/time.hpp"

namespace lockstep {

// What the driver knows of the transport checksum of an arriving frame.
enum class Checksum : std::uint8_t { unknown, good, bad };

// One arriving frame, contiguous, on loan to the stack until settle().
struct Ingress {
  std::span<const std::byte> bytes;
  Checksum checksum = Checksum::unknown;
  Instant arrived;  // the hardware's stamp, or now
};

// Where a frame goes: the wire, or a sibling shard.
struct Destination {
  static constexpr std::uint16_t wire = 0xffff;
  std::uint16_t shard = wire;
  constexpr bool is_wire() const { return shard == wire; }
};

// One frame that transmit() has written. length 0: nothing can be written now.
struct Egress {
  std::uint16_t length = 0;
  std::uint16_t checksum_start = 0;   // 0 with checksum_offset 0: the checksum is complete
  std::uint16_t checksum_offset = 0;  // from checksum_start
  std::uint16_t segment_bytes = 0;    // payload of a TCP segment
  Destination to;
};

}  // namespace lockstep
