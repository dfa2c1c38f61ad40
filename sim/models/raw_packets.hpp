// Packets that stations build themselves: ARP replies, segments, IPv4 frames.
#pragma once

#include <cstddef>
#include <span>

#include "core/units/address.hpp"
#include "core/wire/arp.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/tcp.hpp"
#include "sim/kernel/station.hpp"

namespace lockstep::sim {

// The longest frame of an Ethernet with an MTU of 1,500 octets, without a VLAN tag.
inline constexpr std::uint32_t ethernet_frame_max = 1'514;

// The lowest octet of a number.
constexpr std::byte octet(std::uint32_t value) { return static_cast<std::byte>(value & 0xff); }

// Whether this is an ARP request; if so, sets `asked`.
bool read_arp_request(std::span<const std::byte> packet, wire::ArpPacket& asked);
// Replies to that request with the link address `own`.
void answer_arp(StationDesk& desk, Mac own, const wire::ArpPacket& asked);

// Writes a segment with its payload and checksum to the start of `into`, which must have room for
// it. Returns its length.
std::size_t write_segment(const wire::Segment& segment, IpAddressPair from_to,
                          std::span<std::byte> into);

// Sends a packet of at most raw_packet_bytes_max octets.
inline constexpr std::size_t raw_packet_bytes_max = 1'500;
struct LinkPath {
  Mac from;
  Mac to;
};
void send_ipv4(StationDesk& desk, const LinkPath& path, const wire::Ipv4Header& header,
               std::span<const std::byte> payload);

}  // namespace lockstep::sim
