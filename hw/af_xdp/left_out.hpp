// Detects that the sending machine has left a frame's checksum out.
#pragma once

#include <cstddef>
#include <span>

namespace lockstep::hw {

// A sender that leaves the checksum to its device writes the sum of the pseudo-header into the
// field. A veth sends the frame like that, and XDP, unlike a packet socket, does not report it.
// Returns true for TCP and UDP over IPv4, or over IPv6 without extension headers, if the field
// holds exactly that sum; one in 65,536 other frames matches by chance. The frame begins with its
// Ethernet header and at most one 802.1Q tag. Reads headers only.
bool checksum_is_left_out(std::span<const std::byte> frame);

}  // namespace lockstep::hw
