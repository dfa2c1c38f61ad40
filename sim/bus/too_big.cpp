// Builds ICMP errors about packets that are too large, as routers do.
#include "sim/bus/too_big.hpp"

#include <algorithm>

#include "core/units/check.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/icmp.hpp"
#include "core/wire/icmpv6.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint8_t hops = 64;

// The router's address is derived from the destination of the packet.
IpAddress router_of(IpAddress destination) {
  destination.low = (destination.low & ~std::uint64_t{0xff}) | 0xfe;
  return destination;
}

bool has_one_sender(IpAddress source, IpAddress destination) {
  return !source.is_unspecified() && !source.is_multicast() && !destination.is_multicast();
}

std::uint32_t write_ipv4(const wire::Ipv4Packet& packet, std::uint32_t mtu,
                         std::span<std::byte> into) {
  wire::Ipv4Header const& header = packet.header;
  bool const error = header.protocol == wire::IpProtocol::icmp && !packet.payload.empty() &&
                     packet.payload[0] != std::byte{8} && packet.payload[0] != std::byte{0};
  if (!header.dont_fragment || header.fragment_offset != 0 || error ||
      !has_one_sender(header.source, header.destination)) {
    return 0;
  }
  // RFC 792: the header and eight octets.
  std::size_t const quoted = packet.bytes.size() - packet.payload.size() + 8;
  wire::IcmpMessage message;
  message.type = wire::IcmpType::unreachable;
  message.code = static_cast<std::uint8_t>(wire::Unreachable::fragmentation_needed);
  message.rest = mtu;
  message.body = packet.bytes.first(std::min(quoted, packet.bytes.size()));
  Bytes const length = wire::write(message, into.subspan(wire::ipv4_header_bytes));
  wire::Ipv4Header answer;
  answer.source = router_of(header.destination);
  answer.destination = header.source;
  answer.protocol = wire::IpProtocol::icmp;
  answer.time_to_live = hops;
  return wire::write(answer, length, into).count + length.count;
}

std::uint32_t write_ipv6(const wire::Ipv6Packet& packet, std::uint32_t mtu,
                         std::span<std::byte> into) {
  wire::Ipv6Header const& header = packet.header;
  constexpr std::size_t headers = wire::ipv6_header_bytes + wire::icmp6_header_bytes;
  bool const error = header.next_header == static_cast<std::uint8_t>(wire::IpProtocol::icmpv6) &&
                     packet.bytes.size() > wire::ipv6_header_bytes &&
                     packet.bytes[wire::ipv6_header_bytes] < std::byte{128};
  if (error || !has_one_sender(header.source, header.destination)) {
    return 0;
  }
  wire::Icmp6Path const path{router_of(header.destination), header.source};
  wire::Icmp6Message message;
  message.type = wire::Icmp6Type::packet_too_big;
  message.rest = mtu;
  message.body = packet.bytes.first(
      std::min<std::size_t>(packet.bytes.size(), wire::ipv6_mtu_least - headers));
  Bytes const length = wire::write(path, message, into.subspan(wire::ipv6_header_bytes));
  wire::Ipv6Header answer;
  answer.source = path.source;
  answer.destination = path.destination;
  answer.next_header = static_cast<std::uint8_t>(wire::IpProtocol::icmpv6);
  answer.hop_limit = hops;
  return wire::write(answer, length, into).count + length.count;
}

}  // namespace

std::uint32_t write_too_big(const TooBig& about, std::span<std::byte> into) {
  CHECK(into.size() >= too_big_bytes_max);
  std::span<const std::byte> ip = about.frame;
  std::span<std::byte> answer = into;
  std::uint32_t link = 0;
  if (about.link_header_bytes != 0) {
    wire::EthernetFrame frame;
    if (wire::parse(about.frame, frame) != Drop::none || frame.header.source.is_group() ||
        frame.header.destination.is_group()) {
      return 0;
    }
    link = wire::write(wire::EthernetHeader{frame.header.source, about.router, frame.header.type,
                                            frame.header.vlan},
                       into)
               .count;
    ip = frame.payload;
    answer = into.subspan(link);
  }
  wire::Ipv4Packet v4;
  wire::Ipv6Packet v6;
  std::uint32_t length = 0;
  if (wire::parse(ip, v4) == Drop::none) {
    length = write_ipv4(v4, about.mtu_bytes, answer);
  } else if (wire::parse(ip, v6) == Drop::none) {
    length = write_ipv6(v6, about.mtu_bytes, answer);
  }
  return length == 0 ? 0 : link + length;
}

}  // namespace lockstep::sim
