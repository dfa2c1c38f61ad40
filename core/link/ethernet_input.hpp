// Received Ethernet frames: which of them are for this host, and for which protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/drop.hpp"
#include "core/wire/ethernet.hpp"

namespace lockstep::link {

// One frame for us. Valid as long as the bytes it was parsed from.
struct LinkArrival {
  wire::EthernetFrame frame;
  bool to_group = false;  // sent to all hosts of the link, or to an IPv6 group
};

// Which frames are for us.
struct LinkFilter {
  Mac ours;
  std::uint16_t vlan = 0;  // ours; 0: untagged frames
  bool ipv6 = false;       // accept IPv6 frames, and those to IPv6 groups
};

// Parses a frame and filters it by destination, source, VLAN and EtherType. Returns Drop::none
// (IPv4, ARP or IPv6), or frame_too_short, frame_not_for_us, frame_other_vlan, frame_bad_source or
// ethertype_unknown. IPv6 groups are only checked by the packet's destination.
[[nodiscard]] Drop ethernet_input(const LinkFilter& filter, std::span<const std::byte> bytes,
                                  LinkArrival& out);

}  // namespace lockstep::link
