// Finds the IP packet within a frame, and the packet that a tunnel carries within another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tools/base/capture/capture.hpp"
#include "tools/base/capture/decode.hpp"

namespace lockstep::tools {

/// Where an IP packet begins, or, with another kind than `tcp`, why there is none.
struct IpPart {
  FrameKind kind = FrameKind::tcp;
  std::span<const std::byte> bytes;
};

/// Packets within packets are opened this deep.
inline constexpr int tunnels_max = 4;

/// Steps over the link header, VLAN tags, MPLS labels and PPPoE (RFC 2516).
IpPart strip_link(std::span<const std::byte> frame, LinkLayer link);

/// The packet within the payload of an IP packet of `protocol`: IP in IP (RFC 2003, 2473, 4213),
/// GRE (RFC 2784, 2890), VXLAN (RFC 7348), Geneve (RFC 8926) and GTP-U (3GPP TS 29.281). Nothing
/// where it is no tunnel, or one that carries something else.
std::optional<IpPart> open_tunnel(std::uint8_t protocol, std::span<const std::byte> payload);

}  // namespace lockstep::tools
