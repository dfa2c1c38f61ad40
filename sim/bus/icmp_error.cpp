// Builds time exceeded, destination unreachable and packet too big.
#include "sim/bus/icmp_error.hpp"

#include <algorithm>

#include "core/units/check.hpp"
#include "core/wire/icmp.hpp"
#include "core/wire/icmpv6.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint8_t error_hops = 64;

bool may_be_answered(IpAddress source, IpAddress destination) {
  return !source.is_unspecified() && !source.is_multicast() && !destination.is_multicast();
}

std::uint32_t error_v4(const IcmpErrorAbout& about, const wire::Ipv4Packet& packet,
                       std::span<std::byte> into) {
  wire::Ipv4Header const& header = packet.header;
  // Only echo messages are no errors.
  bool const error = header.protocol == wire::IpProtocol::icmp && !packet.payload.empty() &&
                     packet.payload[0] != std::byte{8} && packet.payload[0] != std::byte{0};
  if (error || header.fragment_offset != 0 || !may_be_answered(header.source, header.destination)) {
    return 0;
  }
  wire::IcmpMessage message;
  message.type = about.error == RouterError::hops_exceeded ? wire::IcmpType::time_exceeded
                                                           : wire::IcmpType::unreachable;
  if (about.error == RouterError::no_host) {
    message.code = static_cast<std::uint8_t>(wire::Unreachable::host);
  } else if (about.error == RouterError::too_big) {
    message.code = static_cast<std::uint8_t>(wire::Unreachable::fragmentation_needed);
    message.rest = about.mtu_bytes;
  }
  message.body = packet.bytes.first(std::min<std::size_t>(about.quoted_v4, packet.bytes.size()));
  Bytes const length = wire::write(message, into.subspan(wire::ipv4_header_bytes));
  wire::Ipv4Header answer;
  answer.source = about.router;
  answer.destination = header.source;
  answer.protocol = wire::IpProtocol::icmp;
  answer.time_to_live = error_hops;
  return wire::write(answer, length, into).count + length.count;
}

std::uint32_t error_v6(const IcmpErrorAbout& about, const wire::Ipv6Packet& packet,
                       std::span<std::byte> into) {
  wire::Ipv6Header const& header = packet.header;
  constexpr std::size_t headers = wire::ipv6_header_bytes + wire::icmp6_header_bytes;
  bool const error = header.next_header == static_cast<std::uint8_t>(wire::IpProtocol::icmpv6) &&
                     packet.bytes.size() > wire::ipv6_header_bytes &&
                     packet.bytes[wire::ipv6_header_bytes] < std::byte{128};
  if (error || !may_be_answered(header.source, header.destination)) {
    return 0;
  }
  wire::Icmp6Message message;
  message.type = about.error == RouterError::hops_exceeded ? wire::Icmp6Type::time_exceeded
                 : about.error == RouterError::too_big     ? wire::Icmp6Type::packet_too_big
                                                           : wire::Icmp6Type::unreachable;
  message.code = about.error == RouterError::no_host ? 3 : 0;  // address unreachable
  message.rest = about.error == RouterError::too_big ? about.mtu_bytes : 0;
  message.body = packet.bytes.first(
      std::min<std::size_t>(packet.bytes.size(), icmp_error_bytes_max - headers));
  wire::Icmp6Path const path{about.router, header.source};
  Bytes const length = wire::write(path, message, into.subspan(wire::ipv6_header_bytes));
  wire::Ipv6Header answer;
  answer.source = path.source;
  answer.destination = path.destination;
  answer.next_header = static_cast<std::uint8_t>(wire::IpProtocol::icmpv6);
  answer.hop_limit = error_hops;
  return wire::write(answer, length, into).count + length.count;
}

}  // namespace

std::uint32_t write_icmp_error(const IcmpErrorAbout& about, std::span<std::byte> into) {
  CHECK(into.size() >= icmp_error_bytes_max);
  wire::Ipv4Packet v4;
  wire::Ipv6Packet v6;
  if (about.router.is_v4() && wire::parse(about.packet, v4) == Drop::none) {
    return error_v4(about, v4, into);
  }
  if (!about.router.is_v4() && wire::parse(about.packet, v6) == Drop::none) {
    return error_v6(about, v6, into);
  }
  return 0;
}

}  // namespace lockstep::sim
