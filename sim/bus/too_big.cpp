// Builds ICMP errors about packets that are too large, as routers do.
#include "sim/bus/too_big.hpp"

#include "core/units/check.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"
#include "sim/bus/icmp_error.hpp"

namespace lockstep::sim {
namespace {

// The router's address is derived from the destination of the packet.
IpAddress router_of(IpAddress destination) {
  destination.low = (destination.low & ~std::uint64_t{0xff}) | 0xfe;
  return destination;
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
  IcmpErrorAbout error{RouterError::too_big, about.mtu_bytes, ip, {}};
  if (wire::parse(ip, v4) == Drop::none) {
    if (!v4.header.dont_fragment) {
      return 0;
    }
    error.router = router_of(v4.header.destination);
    // RFC 792: the header and eight octets.
    error.quoted_v4 = static_cast<std::uint32_t>(v4.bytes.size() - v4.payload.size()) + 8;
  } else if (wire::parse(ip, v6) == Drop::none) {
    error.router = router_of(v6.header.destination);
  } else {
    return 0;
  }
  std::uint32_t const length = write_icmp_error(error, answer);
  return length == 0 ? 0 : link + length;
}

}  // namespace lockstep::sim
