// The filter of received Ethernet frames.
#include "core/link/ethernet_input.hpp"

namespace lockstep::link {
namespace {

// Whether the destination, which is not our address, is a group that we may have joined.
bool is_our_group(const LinkFilter& filter, const wire::EthernetHeader& header) {
  bool const ipv6 = header.destination.octets[0] == 0x33 && header.destination.octets[1] == 0x33;
  return header.destination == Mac::broadcast() ||
         (filter.ipv6 && ipv6 && header.type == wire::EtherType::ipv6);
}

bool is_known(const LinkFilter& filter, wire::EtherType type) {
  return type == wire::EtherType::ipv4 || type == wire::EtherType::arp ||
         (type == wire::EtherType::ipv6 && filter.ipv6);
}

}  // namespace

Drop ethernet_input(const LinkFilter& filter, std::span<const std::byte> bytes, LinkArrival& out) {
  Drop const drop = wire::parse(bytes, out.frame);
  if (drop != Drop::none) {
    return drop;
  }
  wire::EthernetHeader const& header = out.frame.header;
  out.to_group = false;
  if (header.destination != filter.ours) {
    //= rfc4861#7.2.1
    //# 4861:ND-6 for IPv6 the groups of neighbour discovery are joined
    //= rfc4862#5.4.2
    //# 4862:DAD-4 from the start, before an address is tested; without MLD reports (core/README.md)
    if (!is_our_group(filter, header)) {
      return Drop::frame_not_for_us;
    }
    out.to_group = true;
  }
  if (header.vlan != filter.vlan) {
    return Drop::frame_other_vlan;
  }
  if (header.source.is_group()) {
    return Drop::frame_bad_source;
  }
  if (!is_known(filter, header.type)) {
    return Drop::ethertype_unknown;
  }
  return Drop::none;
}

}  // namespace lockstep::link
