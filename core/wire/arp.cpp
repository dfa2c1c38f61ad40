// Parsing and writing of ARP packets.
#include "core/wire/arp.hpp"

#include "core/units/check.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::wire {
namespace {

constexpr std::uint16_t hardware_ethernet = 1;
constexpr std::uint8_t mac_bytes = 6;
constexpr std::uint8_t ipv4_bytes = 4;

}  // namespace

Drop parse(std::span<const std::byte> bytes, ArpPacket& out) {
  if (bytes.size() < arp_packet_bytes) {
    return Drop::arp_malformed;
  }
  std::byte const* const at = bytes.data();
  //= rfc826#Packet-Reception
  //# 826:ARP-2 other hardware or protocol types are dropped; the lengths are checked too
  if (load16(at) != hardware_ethernet ||
      load16(at + 2) != static_cast<std::uint16_t>(EtherType::ipv4) || load8(at + 4) != mac_bytes ||
      load8(at + 5) != ipv4_bytes) {
    return Drop::arp_malformed;
  }
  std::uint16_t const operation = load16(at + 6);
  if (operation != static_cast<std::uint16_t>(ArpOperation::request) &&
      operation != static_cast<std::uint16_t>(ArpOperation::reply)) {
    return Drop::arp_malformed;
  }
  out.operation = static_cast<ArpOperation>(operation);
  out.sender_mac = load_mac(at + 8);
  out.sender = {load32(at + 14)};
  out.target_mac = load_mac(at + 18);
  out.target = {load32(at + 24)};
  return Drop::none;
}

//= rfc826#Packet-Generation
//# 826:ARP-1 hardware type 1, protocol 0x0800, lengths 6 and 4, then operation and addresses
Bytes write(const ArpPacket& packet, std::span<std::byte> into) {
  CHECK(into.size() >= arp_packet_bytes);
  std::byte* const at = into.data();
  store16(at, hardware_ethernet);
  store16(at + 2, static_cast<std::uint16_t>(EtherType::ipv4));
  store8(at + 4, mac_bytes);
  store8(at + 5, ipv4_bytes);
  store16(at + 6, static_cast<std::uint16_t>(packet.operation));
  store_mac(at + 8, packet.sender_mac);
  store32(at + 14, packet.sender.value);
  store_mac(at + 18, packet.target_mac);
  store32(at + 24, packet.target.value);
  return {arp_packet_bytes};
}

}  // namespace lockstep::wire
