// The drop_case_generator's frames, by the layer at which the victim must drop them.
#include "sim/swarm/drop_case_generator.hpp"

#include <cstring>

#include "core/wire/arp.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/icmp.hpp"
#include "sim/models/raw_packets.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint32_t drop_case_bytes_max = 256;
constexpr std::uint32_t flood_segments = 140;
constexpr IpAddress everyone = IpAddress::v4(10, 0, 0, 255);

void put_checksum(std::span<std::byte> header) {
  header[10] = {};
  header[11] = {};
  std::uint16_t const checksum = wire::sum(header).checksum();
  header[10] = octet(checksum >> 8);
  header[11] = octet(checksum);
}

}  // namespace

DropCaseGenerator::DropCaseGenerator(const World& world, const StationSpec& spec, Random random)
    : spec_(spec), dice_(random), acts_left_(spec.acts), next_(Instant{0} + spec.every) {
  for (const HostSpec& host : world.hosts) {
    Victim victim;
    victim.mac = host.config.mac;
    victim.address = host.config.addresses[0].address;
    if (host.config.static_neighbour_count.value != 0) {
      victim.fixed = host.config.static_neighbours[0].address;
    }
    victims_.push_back(victim);
  }
  for (const AppSpec& app : world.apps) {
    Victim& client = victims_[app.client.value];
    Victim& server = victims_[app.server.value];
    server.server = app.port;
    if (app.model == Name("mutual")) {
      client.server = app.port;
      client.mutual = server.address;
      server.mutual = client.address;
    }
  }
}

void DropCaseGenerator::arrived(StationDesk& desk, std::span<const std::byte> frame) {
  wire::EthernetFrame parsed;
  if (wire::parse(frame, parsed) != Drop::none) {
    return;
  }
  wire::ArpPacket asked;
  if (parsed.header.type == wire::EtherType::arp && read_arp_request(parsed.payload, asked) &&
      asked.target == spec_.address.as_v4()) {
    answer_arp(desk, spec_.mac, asked);
    return;
  }
  wire::Ipv4Packet packet;
  if (parsed.header.destination != spec_.mac || wire::parse(parsed.payload, packet) != Drop::none ||
      packet.bytes.size() < 28 || packet.header.protocol != wire::IpProtocol::tcp) {
    return;
  }
  for (Victim& victim : victims_) {
    if (victim.address == packet.header.source) {
      std::memcpy(victim.received.data(), packet.bytes.data(), victim.received.size());
      victim.has_received = true;
    }
  }
}

void DropCaseGenerator::run(StationDesk& desk) {
  if (acts_left_ == 0) {
    next_ = Instant::never();
    return;
  }
  --acts_left_;
  next_ = desk.now() + spec_.every;
  trick(desk, victims_[static_cast<std::size_t>(dice_.below(victims_.size()))]);
}

void DropCaseGenerator::trick(StationDesk& desk, const Victim& victim) {
  switch (dice_.below(6)) {
    case 0:
      trick_arp(desk, victim);
      break;
    case 1:
      trick_ip(desk, victim);
      break;
    case 2:
    case 3:
      trick_icmp(desk, victim);
      break;
    default:
      trick_tcp(desk, victim);
      break;
  }
}

void DropCaseGenerator::trick_arp(StationDesk& desk, const Victim& victim) {
  wire::ArpPacket packet{wire::ArpOperation::request, spec_.mac, spec_.address.as_v4(), Mac{},
                         victim.address.as_v4()};
  switch (dice_.below(4)) {
    case 0:  // a group as the sender
      packet.sender_mac = Mac::broadcast();
      break;
    case 1:  // the victim's own address
      packet.sender = victim.address.as_v4();
      break;
    case 2:  // contradicts a static neighbour entry
      packet.sender = victim.fixed.is_unspecified() ? packet.sender : victim.fixed.as_v4();
      break;
    default:  // an unsolicited reply
      packet.operation = wire::ArpOperation::reply;
      break;
  }
  std::array<std::byte, wire::ethernet_header_bytes + wire::arp_packet_bytes> frame{};
  wire::write(wire::EthernetHeader{victim.mac, spec_.mac, wire::EtherType::arp}, frame);
  wire::write(packet, std::span(frame).subspan(wire::ethernet_header_bytes));
  // Also a frame that is too short for a switch.
  desk.send(std::span(frame).first(dice_.percent(5) ? 5 : frame.size()));
}

DropCaseGenerator::Packet DropCaseGenerator::packet_to(const Victim& victim) const {
  Packet packet;
  packet.to = victim.mac;
  packet.source = spec_.address;
  packet.destination = victim.address;
  return packet;
}

void DropCaseGenerator::trick_ip(StationDesk& desk, const Victim& victim) {
  // An option length of one; a strict source route that is not complete.
  static constexpr std::array<std::byte, 4> malformed{octet(7), octet(1), octet(0), octet(0)};
  static constexpr std::array<std::byte, 8> routed{octet(137), octet(7), octet(4), octet(10),
                                                   octet(0),   octet(0), octet(1), octet(0)};
  Packet packet = packet_to(victim);
  switch (dice_.below(6)) {
    case 0:
      packet.destination = IpAddress::v4(10, 0, 0, 99);
      break;
    case 1:
      packet.to = Mac::broadcast();
      break;
    case 2:
      packet.more_fragments = true;
      break;
    case 3:
      packet.options = malformed;
      break;
    case 4:
      packet.options = routed;
      break;
    default:
      packet.protocol = wire::IpProtocol::udp;
      break;
  }
  std::array<std::byte, 24> payload{};
  payload[0] = octet(dice_.below32(2));
  std::uint32_t const length = packet.more_fragments ? dice_.pick({7u, 16u, 24u}) : 24;
  send(desk, packet, std::span(payload).first(length));
}

void DropCaseGenerator::trick_icmp(StationDesk& desk, const Victim& victim) {
  Packet packet = packet_to(victim);
  packet.protocol = wire::IpProtocol::icmp;
  std::array<std::byte, 32> message{};
  switch (dice_.below(4)) {
    case 0:
      send(desk, packet, std::span(message).first(4));
      break;
    case 1: {
      packet.to = Mac::broadcast();
      packet.destination = everyone;
      Bytes const length =
          wire::write(wire::IcmpMessage{wire::IcmpType::echo_request, 0, 7, {}}, message);
      send(desk, packet, std::span(message).first(length.count));
      break;
    }
    default:
      quote(desk, victim);
      break;
  }
}

// An ICMP error about a segment of our own connection that the victim sent or did not send.
void DropCaseGenerator::quote(StationDesk& desk, const Victim& victim) {
  if (!victim.has_received) {
    send_segment(desk, packet_to(victim), syn_to(victim));
    return;
  }
  std::array<std::byte, 28> quoted = victim.received;
  if (dice_.percent(70)) {
    quoted[24] ^= octet(0x40);
  }
  std::array<std::byte, 64> message{};
  wire::IcmpType const type =
      dice_.pick({wire::IcmpType::unreachable, wire::IcmpType::time_exceeded,
                  wire::IcmpType::parameter_problem});
  Bytes const length =
      wire::write(wire::IcmpMessage{type, dice_.pick<std::uint8_t>({0, 1, 2, 3, 4, 4, 4, 5}),
                                    dice_.pick({0u, 1'400u, 65'535u}), quoted},
                  message);
  Packet packet = packet_to(victim);
  packet.protocol = wire::IpProtocol::icmp;
  send(desk, packet, std::span(message).first(length.count));
}

wire::Segment DropCaseGenerator::syn_to(const Victim& victim) {
  wire::Segment segment;
  segment.source = {next_port_};
  next_port_ = static_cast<std::uint16_t>(next_port_ == 30'000 ? 1'024 : next_port_ + 1);
  segment.destination = {victim.server.value == 0 ? std::uint16_t{9} : victim.server.value};
  segment.sequence = {static_cast<std::uint32_t>(dice_.word())};
  segment.flags = wire::flag::syn;
  segment.window = {1'000};
  return segment;
}

// More half-open connections than the backlog has room for.
void DropCaseGenerator::flood(StationDesk& desk, const Victim& victim) {
  for (std::uint32_t i = 0; i < flood_segments; ++i) {
    send_segment(desk, packet_to(victim), syn_to(victim));
  }
}

void DropCaseGenerator::trick_tcp(StationDesk& desk, const Victim& victim) {
  Packet packet = packet_to(victim);
  std::array<std::byte, 10> const stub{};
  switch (dice_.below(8)) {
    case 0:
      send(desk, packet, stub);
      break;
    case 1:
      packet.to = Mac::broadcast();
      packet.destination = everyone;
      send_segment(desk, packet, syn_to(victim));
      break;
    case 2:
      if (dice_.percent(10)) {
        flood(desk, victim);
      }
      break;
    case 3:
    case 4:
    case 5:
      if (!victim.mutual.is_unspecified()) {
        // With the source address of its peer: no SYN, ACK or RST.
        wire::Segment segment = syn_to(victim);
        segment.source = victim.server;
        segment.flags = wire::flag::psh;
        packet.source = victim.mutual;
        send_segment(desk, packet, segment);
      }
      break;
    default:
      send_segment(desk, packet, syn_to(victim));
      break;
  }
}

void DropCaseGenerator::send_segment(StationDesk& desk, const Packet& packet,
                                     wire::Segment segment) {
  std::array<std::byte, wire::tcp_header_bytes_max> bytes{};
  Bytes const header = wire::write(segment, bytes);
  auto const whole = std::span(bytes).first(header.count);
  wire::PseudoHeader const pseudo{packet.source, packet.destination,
                                  static_cast<std::uint8_t>(wire::IpProtocol::tcp), header};
  wire::write_checksum(whole, header, pseudo, {});
  send(desk, packet, whole);
}

void DropCaseGenerator::send(StationDesk& desk, const Packet& packet,
                             std::span<const std::byte> payload) {
  std::array<std::byte, drop_case_bytes_max> frame{};
  wire::write(wire::EthernetHeader{packet.to, spec_.mac, wire::EtherType::ipv4}, frame);
  auto const ip = std::span(frame).subspan(wire::ethernet_header_bytes);
  wire::Ipv4Header header;
  header.source = packet.source;
  header.destination = packet.destination;
  header.protocol = packet.protocol;
  header.time_to_live = 64;
  header.more_fragments = packet.more_fragments;
  header.identification = static_cast<std::uint16_t>(packet.more_fragments ? dice_.below32(8) : 0);
  auto const carried = static_cast<std::uint32_t>(packet.options.size() + payload.size());
  wire::write(header, Bytes{carried}, ip);
  std::size_t const length = wire::ipv4_header_bytes + packet.options.size();
  if (!packet.options.empty()) {
    std::memcpy(ip.data() + wire::ipv4_header_bytes, packet.options.data(), packet.options.size());
    ip[0] = octet(0x40u | static_cast<std::uint32_t>(length / 4));
    put_checksum(ip.first(length));
  }
  std::memcpy(ip.data() + length, payload.data(), payload.size());
  desk.send(std::span(frame).first(wire::ethernet_header_bytes + length + payload.size()));
}

}  // namespace lockstep::sim
