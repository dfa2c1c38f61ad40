// Parses frames with core/wire and verifies all checksums.
#include "sim/checkers/segment_view.hpp"

#include "core/internet/ipv6_input.hpp"
#include "core/wire/arp.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/icmp.hpp"
#include "core/wire/icmpv6.hpp"
#include "core/wire/ipv4.hpp"

namespace lockstep::sim {
namespace {

FrameContent read_packet(std::span<const std::byte> bytes, SegmentView& view,
                         OptionReading reading) {
  wire::IpPacket packet;
  if (internet::read_packet(bytes, packet) != Drop::none) {
    return FrameContent::malformed;
  }
  if (packet.header.protocol == wire::IpProtocol::icmpv6 && !packet.header.is_fragment()) {
    wire::Icmp6Message message;
    bool const whole = wire::parse({packet.header.source, packet.header.destination},
                                   packet.payload, message) == Drop::none;
    return whole ? FrameContent::other : FrameContent::malformed;
  }
  if (packet.header.protocol == wire::IpProtocol::icmp) {
    wire::IcmpMessage message;
    bool const whole = wire::parse(packet.payload, message) == Drop::none;
    return whole ? FrameContent::other : FrameContent::malformed;
  }
  if (packet.header.protocol != wire::IpProtocol::tcp || packet.header.is_fragment()) {
    return FrameContent::other;
  }
  wire::PseudoHeader const pseudo{packet.header.source, packet.header.destination,
                                  static_cast<std::uint8_t>(wire::IpProtocol::tcp),
                                  Bytes{static_cast<std::uint32_t>(packet.payload.size())}};
  Drop drop = wire::parse(packet.payload, view.segment);
  if (drop == Drop::tcp_option_malformed && reading == OptionReading::lenient) {
    wire::parse_options_leniently(packet.payload, view.segment);
    drop = Drop::none;
  }
  if (drop != Drop::none || !wire::checksum_verifies(pseudo, packet.payload)) {
    return FrameContent::malformed;
  }
  view.source = {packet.header.source, view.segment.source};
  view.destination = {packet.header.destination, view.segment.destination};
  view.packet_bytes = static_cast<std::uint32_t>(packet.bytes.size());
  view.ecn = packet.header.traffic_class & 3u;
  return FrameContent::tcp;
}

}  // namespace

FrameContent read_frame(LinkType link, std::span<const std::byte> frame, SegmentView& view,
                        OptionReading reading) {
  if (link == LinkType::ip) {
    return read_packet(frame, view, reading);
  }
  wire::EthernetFrame parsed;
  if (wire::parse(frame, parsed) != Drop::none) {
    return FrameContent::malformed;
  }
  if (parsed.header.type == wire::EtherType::arp) {
    wire::ArpPacket packet;
    bool const whole = wire::parse(parsed.payload, packet) == Drop::none;
    return whole ? FrameContent::other : FrameContent::malformed;
  }
  bool const ip =
      parsed.header.type == wire::EtherType::ipv4 || parsed.header.type == wire::EtherType::ipv6;
  return ip ? read_packet(parsed.payload, view, reading) : FrameContent::other;
}

}  // namespace lockstep::sim
