// The drop_case_generator's IPv6 frames, by the layer at which the victim must drop them.
#include "sim/swarm/drop_case_generator6.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/wire/ethernet.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/neighbour_discovery.hpp"
#include "sim/models/raw_packets.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint32_t header_bytes =
    wire::ethernet_header_bytes + wire::vlan_tag_bytes + wire::ipv6_header_bytes;

}  // namespace

DropCaseGenerator6::DropCaseGenerator6(const World& world, const StationSpec& spec, Random random)
    : spec_(spec),
      dice_(random),
      own_(link_local_of(spec.mac)),
      acts_left_(spec.acts),
      next_(Instant{0} + spec.every) {
  for (const HostSpec& host : world.hosts) {
    Victim victim{host.config.mac, host.config.vlan, host.config.addresses[0].address, {}};
    if (host.config.static_neighbour_count.value != 0) {
      victim.fixed = host.config.static_neighbours[0].address;
    }
    victims_.push_back(victim);
  }
}

void DropCaseGenerator6::run(StationDesk& desk) {
  if (acts_left_ == 0) {
    next_ = Instant::never();
    return;
  }
  --acts_left_;
  next_ = desk.now() + spec_.every;
  const Victim& victim = victims_[static_cast<std::size_t>(dice_.below(victims_.size()))];
  switch (dice_.below(3)) {
    case 0:
      trick_discovery(desk, victim);
      break;
    case 1:
      trick_headers(desk, victim);
      break;
    default:
      trick_icmp(desk, victim);
      break;
  }
}

void DropCaseGenerator6::trick_discovery(StationDesk& desk, const Victim& victim) {
  Packet packet{own_, victim.address};
  wire::NdMessage message;
  message.target = victim.address;
  message.has_link_address = true;
  message.link_address = spec_.mac;
  std::array<std::byte, wire::ipv6_fragment_bytes> const fragment{octet(58)};
  bool fragmented = false;
  switch (dice_.below(9)) {
    case 0:
      packet.hop_limit = 64;
      break;
    case 1:  // solicited, sent to a group
      message.type = wire::Icmp6Type::neighbour_advertisement;
      message.solicited = true;
      packet.destination = all_nodes;
      break;
    case 2:
      fragmented = true;
      packet.next = 44;
      break;
    case 3:
      message.target.low ^= 0x4000;
      break;
    case 4:
      packet.source = victim.address;
      packet.source.low ^= 0x8000;
      message.link_address = Mac::broadcast();
      break;
    case 5:
      message.type = wire::Icmp6Type::neighbour_advertisement;
      message.target.low ^= 0x4000;
      break;
    case 6:  // contradicts a static neighbour entry
      message.type = wire::Icmp6Type::neighbour_advertisement;
      message.target = victim.fixed.is_unspecified() ? message.target : victim.fixed;
      message.target.low ^= victim.fixed.is_unspecified() ? 0x4000u : 0u;
      break;
    case 7:
      message.type = wire::Icmp6Type::router_solicitation;
      break;
    default:  // one of many unknown sources
      packet.source = {own_.high, dice_.word()};
      break;
  }
  std::array<std::byte, wire::ipv6_fragment_bytes + wire::nd_message_bytes_max> bytes{};
  std::size_t const at = fragmented ? fragment.size() : 0;
  std::memcpy(bytes.data(), fragment.data(), at);
  Bytes const length =
      wire::write({packet.source, packet.destination}, message, std::span(bytes).subspan(at));
  send(desk, victim, packet, std::span(bytes).first(at + length.count));
}

void DropCaseGenerator6::trick_headers(StationDesk& desk, const Victim& victim) {
  Packet packet{own_, victim.address};
  std::array<std::byte, 40> bytes{};
  bytes[0] = octet(6);
  bytes[2] = octet(1);
  bytes[3] = octet(4);
  packet.next = 60;
  switch (dice_.below(12)) {
    case 0:  // extends beyond the end of the packet
      bytes[1] = octet(200);
      break;
    case 1:
      bytes[2] = octet(dice_.pick({0x5eu, 0x9eu, 0xdeu}));
      packet.destination = dice_.percent(50) ? all_nodes : packet.destination;
      break;
    case 2:
      bytes[3] = octet(99);
      break;
    case 3:
      packet.next = 43;
      bytes[3] = octet(1);
      break;
    case 4:
      packet.next = 59;
      break;
    case 5:
      packet.next = 17;
      break;
    case 6:  // a fragment of a datagram that never becomes complete
      packet.next = 44;
      bytes[2] = {};
      bytes[3] = octet(1);
      break;
    case 7:
      packet.source = IpAddress::v4(10, 0, 0, 1);
      break;
    case 8:
      packet.destination.low ^= 0x4000;
      break;
    case 9:
      packet.to_group_mac = true;
      break;
    case 10:
      packet.version = 5;
      break;
    default:
      packet.cut = dice_.pick({8u, 60u});
      break;
  }
  send(desk, victim, packet, bytes);
}

void DropCaseGenerator6::trick_icmp(StationDesk& desk, const Victim& victim) {
  Packet packet{own_, victim.address};
  std::array<std::byte, 48> body{};
  body[0] = octet(0x60);
  body[6] = octet(6);
  wire::Icmp6Message message{wire::Icmp6Type::echo_request, 0, 7, body};
  switch (dice_.below(5)) {
    case 0:
      packet.destination = all_nodes;
      break;
    case 1:
      message.type = wire::Icmp6Type{200};
      break;
    case 2:
      message.type = wire::Icmp6Type::unreachable;
      break;
    case 3:
      message.type = wire::Icmp6Type::packet_too_big;
      message.rest = 1280;
      break;
    default:
      break;
  }
  std::array<std::byte, 56> bytes{};
  wire::write({packet.source, packet.destination}, message, bytes);
  if (dice_.percent(10)) {
    bytes[9] ^= octet(1);
  }
  send(desk, victim, packet, bytes);
}

void DropCaseGenerator6::send(StationDesk& desk, const Victim& victim, const Packet& packet,
                              std::span<const std::byte> payload) {
  std::array<std::byte, header_bytes + 64> frame{};
  bool const group = packet.to_group_mac || packet.destination.is_multicast();
  Mac const to = group ? group_mac(all_nodes) : victim.mac;
  std::uint16_t const vlan = dice_.percent(5) ? std::uint16_t{0} : victim.vlan;
  Bytes const link =
      wire::write(wire::EthernetHeader{to, spec_.mac, wire::EtherType::ipv6, vlan}, frame);
  auto const ip = std::span(frame).subspan(link.count);
  wire::write(
      wire::Ipv6Header{packet.source, packet.destination, packet.next, packet.hop_limit, 0, 0},
      Bytes{static_cast<std::uint32_t>(payload.size())}, ip);
  ip[0] = octet(std::uint32_t{packet.version} << 4);
  std::memcpy(ip.data() + wire::ipv6_header_bytes, payload.data(), payload.size());
  std::size_t const length = link.count + wire::ipv6_header_bytes + payload.size();
  desk.send(std::span(frame).first(length - std::min<std::size_t>(packet.cut, length - 20)));
}

}  // namespace lockstep::sim
