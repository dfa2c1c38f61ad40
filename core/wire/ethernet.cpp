// Reading and writing of Ethernet II headers.
#include "core/wire/ethernet.hpp"

#include "core/units/check.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::wire {

//= rfc1122#2.3.3
//# 1122:H-L4 frames are encapsulated as RFC 894 has it
Drop parse(std::span<const std::byte> bytes, EthernetFrame& out) {
  if (bytes.size() < ethernet_header_bytes) {
    return Drop::frame_too_short;
  }
  out.header.destination = load_mac(bytes.data());
  out.header.source = load_mac(bytes.data() + 6);
  out.header.type = static_cast<EtherType>(load16(bytes.data() + 12));
  out.payload = bytes.subspan(ethernet_header_bytes);
  return Drop::none;
}

Bytes write(const EthernetHeader& header, std::span<std::byte> into) {
  CHECK(into.size() >= ethernet_header_bytes);
  store_mac(into.data(), header.destination);
  store_mac(into.data() + 6, header.source);
  store16(into.data() + 12, static_cast<std::uint16_t>(header.type));
  return {ethernet_header_bytes};
}

}  // namespace lockstep::wire
