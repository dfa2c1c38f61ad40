// Processing of received IPv4 packets.
#include "core/internet/ip_input.hpp"

namespace lockstep::internet {
namespace {

// Whether a packet for `destination` is for us, and whether it is for all hosts.
Drop check_destination(const Addresses& addresses, bool link_group, IpArrival& out) {
  IpAddress const destination = out.packet.header.destination;
  out.local_address = addresses.find(destination);
  out.to_group = false;
  if (out.local_address != no_address) {
    //= rfc1122#3.3.6
    //# 1122:H-19 a unicast datagram in a link broadcast is discarded
    return link_group ? Drop::ip_link_broadcast : Drop::none;
  }
  //= rfc1122#3.2.1.3
  //# 1122:H-19, 1122:H-20 neither ours nor a broadcast: silently discarded, 127.x included
  if (!addresses.is_broadcast(destination)) {
    return Drop::ip_not_for_us;
  }
  out.to_group = true;
  return Drop::none;
}

// Whether both addresses are valid.
Drop check_addresses(const Addresses& addresses, bool link_group, KnownPath& known,
                     IpArrival& out) {
  wire::IpHeader const& header = out.packet.header;
  bool const same = header.source == known.source && header.destination == known.destination;
  out.path_known = same && !link_group && known.local_address != no_address;
  if (out.path_known) [[likely]] {
    out.local_address = known.local_address;
    out.to_group = false;
    return Drop::none;
  }
  Drop const drop = check_destination(addresses, link_group, out);
  if (drop != Drop::none) {
    return drop;
  }
  //= rfc9293#3.9.2.3
  //# 9293:MUST-63 a segment from an invalid source is discarded before TCP sees it
  //= rfc1122#3.2.1.3
  //# 1122:H-1 silently discarded
  if (!addresses.may_be_source(header.source)) {
    return Drop::ip_source_invalid;
  }
  known = {header.source, header.destination, out.local_address};
  return Drop::none;
}

}  // namespace

Drop ip_input(const Addresses& addresses, std::span<const std::byte> bytes, bool link_group,
              KnownPath& known, IpArrival& out) {
  wire::Ipv4Packet parsed;
  Drop drop = wire::parse(bytes, parsed);
  if (drop != Drop::none) {
    return drop;
  }
  out.packet = parsed.as_ip();
  drop = check_addresses(addresses, link_group, known, out);
  if (drop != Drop::none) {
    return drop;
  }
  wire::IpHeader const& header = out.packet.header;
  if (header.is_fragment()) {
    return Drop::ip_fragment;
  }
  //= rfc6864#4.1
  //# 6864:ID-3 the identification of an unfragmented datagram is ignored
  if (header.protocol == wire::IpProtocol::tcp) [[likely]] {
    return Drop::none;
  }
  return header.protocol == wire::IpProtocol::icmp ? Drop::none : Drop::ip_protocol_unknown;
}

}  // namespace lockstep::internet
