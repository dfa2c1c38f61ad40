// Writing ICMPv6 messages.
#include "core/internet/icmpv6_errors.hpp"

#include <algorithm>

#include "core/units/check.hpp"

namespace lockstep::internet {
namespace {

//= rfc4443#2.4
//# 4443:ICMP6-5 as much of the packet as 1280 octets hold
constexpr std::uint32_t quote6_bytes_max =
    wire::ipv6_mtu_least - wire::ipv6_header_bytes - wire::icmp6_header_bytes;

std::span<const std::byte> quote6_of(const IpArrival& about) {
  std::span<const std::byte> const bytes = about.packet.bytes;
  return bytes.first(std::min<std::size_t>(bytes.size(), quote6_bytes_max));
}

}  // namespace

bool may_send_error6(const Icmp6ErrorToSend& complaint, const IpArrival& about) {
  wire::IpHeader const& header = about.packet.header;
  //= rfc4443#2.4
  //# 4443:ICMP6-8 never to the unspecified address or to a group
  if (!header.source.is_v6_host()) {
    return false;
  }
  //= rfc4443#2.4
  //# 4443:ICMP6-7 nor about a packet to a group, except for an option that requires it
  if (about.to_group && !complaint.to_group_too) {
    return false;
  }
  //= rfc4443#2.4
  //# 4443:ICMP6-6 nor about an error or a redirect
  if (header.protocol == wire::IpProtocol::icmpv6) {
    if (about.packet.payload.empty()) {
      return false;
    }
    auto const type = static_cast<std::uint8_t>(about.packet.payload.front());
    return type >= 128 && type != static_cast<std::uint8_t>(wire::Icmp6Type::redirect);
  }
  return true;
}

Bytes error6_bytes(const IpArrival& about) {
  return {static_cast<std::uint32_t>(wire::icmp6_header_bytes + quote6_of(about).size())};
}

Bytes write_error6(const wire::Icmp6Path& path, const Icmp6ErrorToSend& complaint,
                   const IpArrival& about, std::span<std::byte> into) {
  CHECK(may_send_error6(complaint, about));
  //= rfc4443#3.2
  //# 4443:ICMP6-19 unused fields are sent as zero
  return wire::write(path, {complaint.type, complaint.code, complaint.rest, quote6_of(about)},
                     into);
}

//= rfc4443#4.2
//# 4443:ICMP6-14 identifier, sequence number and data are returned unchanged
Bytes write_echo_reply6(const wire::Icmp6Path& path, const wire::Icmp6Message& request,
                        std::span<std::byte> into) {
  CHECK(request.type == wire::Icmp6Type::echo_request);
  wire::Icmp6Message reply = request;
  reply.type = wire::Icmp6Type::echo_reply;
  reply.code = 0;
  return wire::write(path, reply, into);
}

}  // namespace lockstep::internet
