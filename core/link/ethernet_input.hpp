// Arriving Ethernet frames: which of them are for this host, and for which protocol.
#pragma once

#include <cstddef>
#include <span>

#include "core/units/address.hpp"
#include "core/units/drop.hpp"
#include "core/wire/ethernet.hpp"

namespace lockstep::link {

// One frame that is for us. Valid as long as the bytes that it was parsed from.
struct LinkArrival {
  wire::EthernetFrame frame;
  bool to_group = false;  // sent to all hosts of the link
};

// Parses a frame and filters it by destination, source and EtherType. Drop::none (IPv4 or ARP), or
// frame_too_short, frame_not_for_us, frame_bad_source or ethertype_unknown.
[[nodiscard]] Drop ethernet_input(Mac ours, std::span<const std::byte> bytes, LinkArrival& out);

}  // namespace lockstep::link
