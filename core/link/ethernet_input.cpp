// The filter of arriving Ethernet frames.
#include "core/link/ethernet_input.hpp"

namespace lockstep::link {

Drop ethernet_input(Mac ours, std::span<const std::byte> bytes, LinkArrival& out) {
  Drop const drop = wire::parse(bytes, out.frame);
  if (drop != Drop::none) {
    return drop;
  }
  wire::EthernetHeader const& header = out.frame.header;
  out.to_group = false;
  if (header.destination != ours) {
    // No multicast group was joined: of the groups only the broadcast is for us.
    if (header.destination != Mac::broadcast()) {
      return Drop::frame_not_for_us;
    }
    out.to_group = true;
  }
  if (header.source.is_group()) {
    return Drop::frame_bad_source;
  }
  if (header.type != wire::EtherType::ipv4 && header.type != wire::EtherType::arp) {
    return Drop::ethertype_unknown;
  }
  return Drop::none;
}

}  // namespace lockstep::link
