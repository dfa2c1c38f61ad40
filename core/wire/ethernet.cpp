// Parsing and writing of Ethernet II headers.
#include "core/wire/ethernet.hpp"

#include "core/units/check.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::wire {
namespace {

constexpr std::uint16_t type_vlan = 0x8100;
constexpr std::uint16_t vlan_id_mask = 0x0fff;

// The tag is in place of the type, and the type after it.
Drop parse_tag(std::span<const std::byte> bytes, EthernetFrame& out) {
  if (bytes.size() < ethernet_header_bytes + vlan_tag_bytes) {
    return Drop::frame_too_short;
  }
  out.header.vlan = load16(bytes.data() + 14) & vlan_id_mask;
  out.header.type = static_cast<EtherType>(load16(bytes.data() + 16));
  out.payload = bytes.subspan(ethernet_header_bytes + vlan_tag_bytes);
  return Drop::none;
}

}  // namespace

//= rfc1122#2.3.3
//# 1122:H-L4 frames are encapsulated as in RFC 894
Drop parse(std::span<const std::byte> bytes, EthernetFrame& out) {
  if (bytes.size() < ethernet_header_bytes) {
    return Drop::frame_too_short;
  }
  out.header.destination = load_mac(bytes.data());
  out.header.source = load_mac(bytes.data() + 6);
  std::uint16_t const type = load16(bytes.data() + 12);
  if (type == type_vlan) [[unlikely]] {
    return parse_tag(bytes, out);
  }
  out.header.type = static_cast<EtherType>(type);
  out.header.vlan = 0;
  out.payload = bytes.subspan(ethernet_header_bytes);
  return Drop::none;
}

Bytes write(const EthernetHeader& header, std::span<std::byte> into) {
  CHECK(into.size() >= ethernet_header_bytes);
  CHECK(header.vlan <= vlan_max);
  store_mac(into.data(), header.destination);
  store_mac(into.data() + 6, header.source);
  if (header.vlan != 0) [[unlikely]] {
    CHECK(into.size() >= ethernet_header_bytes + vlan_tag_bytes);
    store16(into.data() + 12, type_vlan);
    store16(into.data() + 14, header.vlan);
    store16(into.data() + 16, static_cast<std::uint16_t>(header.type));
    return {ethernet_header_bytes + vlan_tag_bytes};
  }
  store16(into.data() + 12, static_cast<std::uint16_t>(header.type));
  return {ethernet_header_bytes};
}

}  // namespace lockstep::wire
