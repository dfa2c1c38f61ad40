// Packets that stations build, with correct checksums.
#include "sim/models/raw_packets.hpp"

#include <array>
#include <cstring>

#include "core/units/check.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/ethernet.hpp"

namespace lockstep::sim {

bool read_arp_request(std::span<const std::byte> packet, wire::ArpPacket& asked) {
  return wire::parse(packet, asked) == Drop::none && asked.operation == wire::ArpOperation::request;
}

void answer_arp(StationDesk& desk, Mac own, const wire::ArpPacket& asked) {
  std::array<std::byte, wire::ethernet_header_bytes + wire::arp_packet_bytes> frame{};
  wire::write(wire::EthernetHeader{asked.sender_mac, own, wire::EtherType::arp}, frame);
  wire::ArpPacket const answer{wire::ArpOperation::reply, own, asked.target, asked.sender_mac,
                               asked.sender};
  wire::write(answer, std::span(frame).subspan(wire::ethernet_header_bytes));
  desk.send(frame);
}

std::size_t write_segment(const wire::Segment& segment, IpAddressPair from_to,
                          std::span<std::byte> into) {
  Bytes const header = wire::write(segment, into);
  std::size_t const length = header.count + segment.payload.size();
  CHECK(length <= into.size());
  if (!segment.payload.empty()) {
    std::memcpy(into.data() + header.count, segment.payload.data(), segment.payload.size());
  }
  wire::PseudoHeader const pseudo{from_to.first, from_to.second,
                                  static_cast<std::uint8_t>(wire::IpProtocol::tcp),
                                  Bytes{static_cast<std::uint32_t>(length)}};
  wire::write_checksum(into.first(length), header, pseudo, wire::sum(segment.payload));
  return length;
}

void send_ipv4(StationDesk& desk, const LinkPath& path, const wire::Ipv4Header& header,
               std::span<const std::byte> payload) {
  constexpr std::size_t before = wire::ethernet_header_bytes + wire::ipv4_header_bytes;
  std::array<std::byte, wire::ethernet_header_bytes + raw_packet_bytes_max> frame{};
  CHECK(before + payload.size() <= frame.size());
  wire::write(wire::EthernetHeader{path.to, path.from, wire::EtherType::ipv4}, frame);
  wire::write(header, Bytes{static_cast<std::uint32_t>(payload.size())},
              std::span(frame).subspan(wire::ethernet_header_bytes));
  if (!payload.empty()) {
    std::memcpy(frame.data() + before, payload.data(), payload.size());
  }
  desk.send(std::span(frame).first(before + payload.size()));
}

}  // namespace lockstep::sim
