// Classifies a frame and parses it as a TCP segment between two endpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/stack/config.hpp"
#include "core/units/address.hpp"
#include "core/wire/tcp.hpp"

namespace lockstep::sim {

// tcp: a complete segment whose checksums are all right. other: neither malformed nor TCP.
enum class FrameContent : std::uint8_t { malformed, other, tcp };

// Valid as long as the bytes that it was read from.
struct SegmentView {
  Endpoint source;
  Endpoint destination;
  wire::Segment segment;
  std::uint32_t packet_bytes = 0;  // including the IP header
  std::uint8_t ecn = 0;            // the lower two bits of the traffic class
};

// How a segment with a malformed option is read: as malformed, as RFC 9293 MUST-7 asks, or as a
// stack with Config's options_lenient does.
enum class OptionReading : std::uint8_t { strict, lenient };

// `view` is valid only if the result is tcp. Linear in the frame's length.
FrameContent read_frame(LinkType link, std::span<const std::byte> frame, SegmentView& view,
                        OptionReading reading = OptionReading::strict);

}  // namespace lockstep::sim
