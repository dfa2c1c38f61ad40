// Reads only the flow of a frame; the stack checks whether the frame is valid.
#include "core/stack/shard.hpp"

#include "core/wire/ethernet.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/octets.hpp"

namespace lockstep {
namespace {

using wire::load16;
using wire::load32;
using wire::load8;

constexpr ShardId shard_zero{0};
constexpr std::uint8_t tcp = 6;
constexpr std::uint8_t icmp = 1;
constexpr std::uint8_t icmp6 = 58;
constexpr std::uint8_t fragment_header = 44;
constexpr std::uint32_t extensions_max = 8;

// What follows the IP header, or the header quoted by an ICMP error.
struct FlowPacket {
  FourTuple tuple;
  std::uint8_t protocol = 0;
  bool fragment = false;
  std::span<const std::byte> payload;
};

bool look_v4(std::span<const std::byte> packet, FlowPacket& out) {
  if (packet.size() < wire::ipv4_header_bytes) {
    return false;
  }
  std::size_t const header = std::size_t{load8(&packet[0]) & 0x0fu} * 4;
  if (header < wire::ipv4_header_bytes || header > packet.size()) {
    return false;
  }
  constexpr std::uint16_t more_or_offset = 0x3fff;
  out.fragment = (load16(&packet[6]) & more_or_offset) != 0;
  out.protocol = load8(&packet[9]);
  out.tuple.remote.address = IpAddress::from(Ipv4{load32(&packet[12])});
  out.tuple.local.address = IpAddress::from(Ipv4{load32(&packet[16])});
  out.payload = packet.subspan(header);
  return true;
}

bool look_v6(std::span<const std::byte> packet, FlowPacket& out) {
  if (packet.size() < wire::ipv6_header_bytes) {
    return false;
  }
  out.protocol = load8(&packet[6]);
  out.tuple.remote.address = wire::load_ipv6(&packet[8]);
  out.tuple.local.address = wire::load_ipv6(&packet[24]);
  out.payload = packet.subspan(wire::ipv6_header_bytes);
  for (std::uint32_t i = 0; i < extensions_max; ++i) {
    bool const sized = out.protocol == 0 || out.protocol == 43 || out.protocol == 60;
    if (!sized && out.protocol != fragment_header) {
      break;
    }
    if (out.payload.size() < 8) {
      return false;
    }
    std::size_t length = 8;
    if (sized) {
      length += std::size_t{load8(&out.payload[1])} * 8;
    } else {
      constexpr std::uint16_t offset_or_more = 0xfff9;
      out.fragment = (load16(&out.payload[2]) & offset_or_more) != 0;
    }
    if (length > out.payload.size()) {
      return false;
    }
    out.protocol = load8(&out.payload[0]);
    out.payload = out.payload.subspan(length);
    if (out.fragment) {
      break;
    }
  }
  return true;
}

bool look(std::span<const std::byte> packet, FlowPacket& out) {
  if (packet.empty()) {
    return false;
  }
  std::uint8_t const version = load8(&packet[0]) >> 4;
  return (version == 4 && look_v4(packet, out)) || (version == 6 && look_v6(packet, out));
}

ShardId home_of_segment(FlowPacket& found, ShardCount count) {
  if (found.payload.size() < 4) {
    return shard_zero;
  }
  found.tuple.remote.port = Port{load16(&found.payload[0])};
  found.tuple.local.port = Port{load16(&found.payload[2])};
  return shard_of(found.tuple, count);
}

// An ICMP error belongs to the shard of the flow it quotes. Fragments and checksums of the quoted
// packet do not matter.
ShardId home_of_message(const FlowPacket& found, ShardCount count) {
  constexpr std::size_t icmp_header = 8;
  if (found.payload.size() < icmp_header) {
    return shard_zero;
  }
  std::uint8_t const type = load8(&found.payload[0]);
  bool const six = found.protocol == icmp6;
  // Router and neighbour advertisements, redirects.
  if (six && (type == 134 || type == 136 || type == 137)) {
    return ShardId::everyone();
  }
  // A solicitation from the unspecified address is a duplicate address probe: every shard that is
  // testing the address must see it.
  if (six && type == 135 && found.tuple.remote.address == IpAddress{}) {
    return ShardId::everyone();
  }
  bool const error =
      six ? type < 128 : type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
  FlowPacket quoted;
  if (!error || !look(found.payload.subspan(icmp_header), quoted) || quoted.protocol != tcp) {
    return shard_zero;
  }
  return home_of_segment(quoted, count);
}

// The common case: TCP in an IPv4 header without options, not a fragment.
bool is_plain(std::span<const std::byte> packet) {
  constexpr std::uint8_t version_and_length = 0x45;
  constexpr std::uint16_t more_or_offset = 0x3fff;
  return packet.size() >= wire::ipv4_header_bytes + 4 && load8(&packet[0]) == version_and_length &&
         load8(&packet[9]) == tcp && (load16(&packet[6]) & more_or_offset) == 0;
}

ShardId home_of_packet(std::span<const std::byte> packet, ShardCount count) {
  if (is_plain(packet)) {
    FourTuple const tuple{
        .local = {IpAddress::from(Ipv4{load32(&packet[16])}), Port{load16(&packet[22])}},
        .remote = {IpAddress::from(Ipv4{load32(&packet[12])}), Port{load16(&packet[20])}}};
    return shard_of(tuple, count);
  }
  FlowPacket found;
  if (!look(packet, found)) {
    return shard_zero;
  }
  if (found.fragment) {
    return ShardId::everyone();
  }
  if (found.protocol == tcp) {
    return home_of_segment(found, count);
  }
  return found.protocol == icmp || found.protocol == icmp6 ? home_of_message(found, count)
                                                           : shard_zero;
}

// ARP replies and gratuitous requests go to every shard.
ShardId home_of_arp(std::span<const std::byte> packet) {
  constexpr std::size_t arp_bytes = 28;
  if (packet.size() < arp_bytes) {
    return shard_zero;
  }
  bool const request = load16(&packet[6]) == 1;
  bool const announces = load32(&packet[14]) == load32(&packet[24]);
  return request && !announces ? shard_zero : ShardId::everyone();
}

}  // namespace

ShardId home_of(LinkType link, std::span<const std::byte> frame, ShardCount count) {
  if (count.value == 1) {
    return shard_zero;
  }
  if (link == LinkType::ip) {
    return home_of_packet(frame, count);
  }
  constexpr std::size_t type_at = 12;
  constexpr std::uint16_t tag = 0x8100;
  std::size_t header = wire::ethernet_header_bytes;
  if (frame.size() < header) {
    return shard_zero;
  }
  std::uint16_t type = load16(&frame[type_at]);
  if (type == tag && frame.size() >= header + wire::vlan_tag_bytes) {
    header += wire::vlan_tag_bytes;
    type = load16(&frame[header - 2]);
  }
  std::span<const std::byte> const packet = frame.subspan(header);
  switch (static_cast<wire::EtherType>(type)) {
    case wire::EtherType::arp:
      return home_of_arp(packet);
    case wire::EtherType::ipv4:
    case wire::EtherType::ipv6:
      return home_of_packet(packet, count);
  }
  return shard_zero;
}

}  // namespace lockstep
