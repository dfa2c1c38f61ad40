// A frame on the wire as a valid TCP segment between two endpoints, or as something else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/stack/config.hpp"
#include "core/units/address.hpp"
#include "core/wire/tcp.hpp"

namespace lockstep::sim {

// tcp: a whole segment whose every checksum is right. other: neither malformed nor TCP.
enum class FrameContent : std::uint8_t { malformed, other, tcp };

// Valid as long as the bytes that it was read from.
struct SegmentView {
  Endpoint source;
  Endpoint destination;
  wire::Segment segment;
  std::uint32_t packet_bytes = 0;  // with the IP header
  std::uint8_t ecn = 0;            // the lower two bits of the traffic class
};

// `view` means something only if the answer is tcp. Sums every octet of a segment.
FrameContent read_frame(LinkType link, std::span<const std::byte> frame, SegmentView& view);

}  // namespace lockstep::sim
