// Finds the IP packet in a frame, and the packet in a tunnel's packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tools/base/capture/capture.hpp"
#include "tools/base/capture/decode.hpp"

namespace lockstep::tools {

/// An IP packet; or, if the kind is not `tcp`, why there is none.
struct IpPart {
  FrameKind kind = FrameKind::tcp;
  std::span<const std::byte> bytes;
  std::uint32_t network = 0;  ///< as that of a Segment
};

/// The depth to which nested packets are opened.
inline constexpr int tunnels_max = 4;

/// Skips the link header, VLAN tags, MPLS labels and PPPoE (RFC 2516).
IpPart strip_link(std::span<const std::byte> frame, LinkLayer link);

/// The packet inside an IP payload of `protocol`: IP in IP (RFC 2003, 2473, 4213), GRE (RFC 2784,
/// 2890), ERSPAN (types I to III, draft-foschiano-erspan), VXLAN (RFC 7348), Geneve (RFC 8926),
/// TZSP or GTP-U (3GPP TS 29.281). Nothing if it is not a tunnel, or carries something other than
/// IP.
std::optional<IpPart> open_tunnel(std::uint8_t protocol, std::span<const std::byte> payload);

}  // namespace lockstep::tools
