// Processing of received IPv6 packets.
#include "core/internet/ipv6_input.hpp"

namespace lockstep::internet {
namespace {

Drop check_addresses(const Addresses& addresses, bool link_group, const wire::Ipv6Header& header,
                     IpArrival& out) {
  // The layers above would take an IPv4-mapped address for IPv4.
  if (header.source.is_v4() || header.destination.is_v4()) {
    return Drop::ip_source_invalid;
  }
  out.local_address = addresses.find(header.destination);
  out.to_group = out.local_address == no_address;
  if (out.to_group) {
    if (!addresses.is_joined(header.destination)) {
      return Drop::ip_not_for_us;
    }
  } else if (link_group) {
    return Drop::ip_link_broadcast;
  }
  //= rfc9293#3.9.2.3
  //# 9293:MUST-63 a segment from an invalid source is discarded before TCP sees it
  bool const unspecified = header.source == IpAddress{};
  return unspecified || addresses.may_be_source(header.source) ? Drop::none
                                                               : Drop::ip_source_invalid;
}

// A packet without its fragment header.
wire::IpPacket as_ip(const wire::Ipv6Packet& parsed) {
  wire::IpPacket out;
  out.header.source = parsed.header.source;
  out.header.destination = parsed.header.destination;
  out.header.protocol = parsed.protocol;
  out.header.time_to_live = parsed.header.hop_limit;
  out.header.traffic_class = parsed.header.traffic_class;
  out.payload = parsed.payload;
  out.bytes = parsed.bytes;
  return out;
}

}  // namespace

Drop read_packet(std::span<const std::byte> bytes, wire::IpPacket& out) {
  bool const six = !bytes.empty() && (bytes.front() >> 4) == std::byte{6};
  if (!six) {
    wire::Ipv4Packet parsed;
    Drop const drop = wire::parse(bytes, parsed);
    out = parsed.as_ip();
    return drop;
  }
  wire::Ipv6Packet parsed;
  Drop drop = wire::parse(bytes, parsed);
  if (drop == Drop::none) {
    drop = wire::walk(parsed);
  }
  out = as_ip(parsed);
  if (parsed.has_fragment) {
    out.header.more_fragments = parsed.fragment.more;
    out.header.fragment_offset = parsed.fragment.offset;
  }
  // Data after an unknown header is not an error.
  return drop == Drop::ip_protocol_unknown ? Drop::none : drop;
}

//= rfc8200#5
//# 8200:V6-23 all packets that the link delivers are accepted, even above its MTU
Drop ipv6_input(const Addresses& addresses, std::span<const std::byte> bytes, bool link_group,
                wire::Ipv6Packet& parsed, IpArrival& out) {
  Drop drop = wire::parse(bytes, parsed);
  if (drop != Drop::none) {
    parsed.problem = {};
    return drop;
  }
  drop = check_addresses(addresses, link_group, parsed.header, out);
  if (drop != Drop::none) {
    return drop;
  }
  drop = wire::walk(parsed);
  out.packet = as_ip(parsed);
  return drop;
}

}  // namespace lockstep::internet
