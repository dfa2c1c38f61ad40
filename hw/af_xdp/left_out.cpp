// Finds the checksum field, and compares it with the sum of the pseudo-header.
#include "hw/af_xdp/left_out.hpp"

#include <cstdint>

#include "core/wire/checksum.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/octets.hpp"
#include "hw/ether_types.hpp"

namespace lockstep::hw {
namespace {

constexpr std::uint8_t protocol_tcp = 6;
constexpr std::uint8_t protocol_udp = 17;

struct Transport {
  wire::PseudoHeader pseudo;
  std::uint32_t at = 0;  // 0: not found
};

Transport find_v4(std::span<const std::byte> frame, std::uint32_t ip_at) {
  if (frame.size() < ip_at + wire::ipv4_header_bytes) {
    return {};
  }
  const std::byte* const ip = &frame[ip_at];
  std::uint32_t const header = (wire::load8(ip) & 0xfu) * 4u;
  std::uint32_t const whole = wire::load16(ip + 2);
  bool const fragment = (wire::load16(ip + 6) & 0x3fff) != 0;
  if (fragment || header < wire::ipv4_header_bytes || whole <= header ||
      whole > frame.size() - ip_at) {
    return {};
  }
  return {
      {IpAddress::from(Ipv4{wire::load32(ip + 12)}), IpAddress::from(Ipv4{wire::load32(ip + 16)}),
       wire::load8(ip + 9), Bytes{whole - header}},
      ip_at + header};
}

Transport find_v6(std::span<const std::byte> frame, std::uint32_t ip_at) {
  if (frame.size() < ip_at + wire::ipv6_header_bytes) {
    return {};
  }
  const std::byte* const ip = &frame[ip_at];
  std::uint32_t const length = wire::load16(ip + 4);
  if (length > frame.size() - ip_at - wire::ipv6_header_bytes) {
    return {};
  }
  IpAddress source;
  source.high = wire::load64(ip + 8);
  source.low = wire::load64(ip + 16);
  IpAddress destination;
  destination.high = wire::load64(ip + 24);
  destination.low = wire::load64(ip + 32);
  return {{source, destination, wire::load8(ip + 6), Bytes{length}},
          ip_at + wire::ipv6_header_bytes};
}

}  // namespace

bool checksum_is_left_out(std::span<const std::byte> frame) {
  if (frame.size() < wire::ethernet_header_bytes + wire::vlan_tag_bytes) {
    return false;
  }
  bool const tagged = wire::load16(&frame[12]) == type_tag;
  std::uint32_t const ip_at = wire::ethernet_header_bytes + (tagged ? wire::vlan_tag_bytes : 0);
  std::uint16_t const type = wire::load16(&frame[ip_at - 2]);
  Transport found;
  if (type == type_ipv4) {
    found = find_v4(frame, ip_at);
  } else if (type == type_ipv6) {
    found = find_v6(frame, ip_at);
  }
  std::uint32_t field = 0;
  if (found.pseudo.protocol == protocol_tcp) {
    field = 16;
  } else if (found.pseudo.protocol == protocol_udp) {
    field = 6;
  }
  if (found.at == 0 || field == 0 || found.pseudo.length.count < field + 2) {
    return false;
  }
  return wire::load16(&frame[found.at + field]) == wire::pseudo_header_sum(found.pseudo).folded();
}

}  // namespace lockstep::hw
