// Whether the machine that sent a frame has left its checksum out.
#pragma once

#include <cstddef>
#include <span>

namespace lockstep::hw {

// A sender that leaves a checksum to its device writes the sum of the pseudo-header into the field.
// A device that is no device (veth) sends it so, and XDP, unlike a packet socket, does not say.
// True for TCP and UDP over IPv4, and over IPv6 without extension headers, in a frame from its
// Ethernet header (perhaps with one 802.1Q tag) whose field holds exactly that sum; of other frames
// one in 65,536 does. Reads headers only.
bool checksum_is_left_out(std::span<const std::byte> frame);

}  // namespace lockstep::hw
