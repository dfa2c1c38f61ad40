// An IPv6 stack for tests, and the packets that tests send to it and read from it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/stack/testing/test_kit.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/icmpv6.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/neighbour_discovery.hpp"

namespace lockstep::testing {

using Octets = std::vector<std::byte>;

inline constexpr IpAddress six_device{0x2001'0db8'0000'0000, 1};
inline constexpr IpAddress six_peer{0x2001'0db8'0000'0000, 2};
inline constexpr Mac six_device_mac{{2, 0, 0, 0, 0, 1}};
inline constexpr Mac six_peer_mac{{2, 0, 0, 0, 0, 2}};

inline Config six_config(LinkType link = LinkType::ip) {
  Config config = kit_config();
  config.link = link;
  config.mac = six_device_mac;
  config.addresses[0] = {six_device, 64};
  return config;
}

// An IPv6 packet with any payload.
struct SixPacket {
  IpAddress source = six_peer;
  IpAddress destination = six_device;
  std::uint8_t next = 6;
  std::uint8_t hop_limit = 64;
  Octets payload;
};

inline Octets bytes_of(const SixPacket& packet) {
  Octets out(wire::ipv6_header_bytes);
  wire::Ipv6Header header;
  header.source = packet.source;
  header.destination = packet.destination;
  header.next_header = packet.next;
  header.hop_limit = packet.hop_limit;
  wire::write(header, Bytes{static_cast<std::uint32_t>(packet.payload.size())}, out);
  out.insert(out.end(), packet.payload.begin(), packet.payload.end());
  return out;
}

inline Octets segment_octets(wire::Segment segment, const std::string& data = {},
                             IpAddress source = six_peer, IpAddress destination = six_device) {
  if (segment.source.value == 0) {
    segment.source = {Kit::peer_port};
    segment.destination = {Kit::device_port};
  }
  Octets out(60 + data.size());
  Bytes const header = wire::write(segment, out);
  std::memcpy(out.data() + header.count, data.data(), data.size());
  Bytes const length = header + Bytes{static_cast<std::uint32_t>(data.size())};
  wire::write_checksum(out, header, {source, destination, 6, length},
                       wire::sum(std::span(out).subspan(header.count, data.size())));
  out.resize(length.count);
  return out;
}

inline Octets icmp_octets(const wire::Icmp6Message& message, const wire::Icmp6Path& path) {
  Octets out(wire::icmp6_header_bytes + message.body.size());
  wire::write(path, message, out);
  return out;
}

// A stack with access to its raw frames; Ethernet frames are addressed to us or to the group.
class Six {
 public:
  explicit Six(const Config& config = six_config())
      : arena_(Stack::arena_bytes(config) + 64),
        stack(test_keys(config),
              std::span(arena_).subspan(
                  (64 - reinterpret_cast<std::uintptr_t>(arena_.data()) % 64) % 64)) {
    turn();
  }

  bool ethernet() const { return stack.config().link == LinkType::ethernet; }

  void send(const SixPacket& packet) {
    Octets frame;
    if (ethernet()) {
      Mac const target =
          packet.destination.is_multicast() ? group_mac(packet.destination) : six_device_mac;
      frame.resize(wire::ethernet_bytes(stack.config().vlan));
      wire::write(
          wire::EthernetHeader{target, six_peer_mac, wire::EtherType::ipv6, stack.config().vlan},
          frame);
    }
    Octets const bytes = bytes_of(packet);
    frame.insert(frame.end(), bytes.begin(), bytes.end());
    frames_.push_back(frame);
  }

  void turn() {
    std::vector<Ingress> burst;
    for (Octets const& frame : frames_) {
      burst.push_back({frame, Checksum::unknown, now});
    }
    stack.receive(now, burst);
    stack.expire(now);
    Event event;
    while (stack.next_event(event)) {
      events.push_back(event);
      if (event.kind == EventKind::accepted || event.kind == EventKind::connected) {
        id = event.id;
      }
      if (event.kind == EventKind::received) {
        std::span<const std::byte> const part = stack.readable(event.id);
        received.append(reinterpret_cast<const char*>(part.data()), part.size());
        stack.consume(event.id, Bytes{static_cast<std::uint32_t>(part.size())});
      }
    }
    stack.settle();
    frames_.clear();
    Octets room(70'000);
    while (stack.wants_transmit()) {
      Egress const egress = stack.transmit(now, room);
      if (egress.length == 0) {
        break;
      }
      out.emplace_back(room.begin(), room.begin() + egress.length);
    }
    stack.check_invariants();
  }
  void deliver(const SixPacket& packet) {
    send(packet);
    turn();
  }
  // Delivers the packet and returns its drop reason, or Drop::none if it was accepted.
  Drop drop_of(const SixPacket& packet) {
    auto const before = stack.statistics().drops;
    deliver(packet);
    for (std::uint32_t i = 0; i < drop_count; ++i) {
      auto const drop = static_cast<Drop>(i);
      if (stack.statistics().drops.of(drop) != before.of(drop)) {
        return drop;
      }
    }
    return Drop::none;
  }
  void advance(Duration by) {
    Instant const end = now + by;
    turn();
    while (stack.deadline() <= end) {
      now = later(now, stack.deadline());
      turn();
    }
    now = end;
    turn();
  }

  // The oldest frame sent: its IPv6 packet, and on Ethernet its destination.
  wire::Ipv6Packet next() {
    wire::Ipv6Packet packet;
    if (out.empty()) {
      ADD_FAILURE() << "nothing was sent";
      return packet;
    }
    last_ = out.front();
    out.erase(out.begin());
    std::span<const std::byte> bytes(last_);
    if (ethernet()) {
      wire::EthernetFrame frame;
      EXPECT_EQ(wire::parse(bytes, frame), Drop::none);
      EXPECT_EQ(frame.header.vlan, stack.config().vlan);
      to = frame.header.destination;
      bytes = frame.payload;
    }
    EXPECT_EQ(wire::parse(bytes, packet), Drop::none);
    EXPECT_EQ(wire::walk(packet), Drop::none);
    return packet;
  }
  wire::Segment next_segment() {
    wire::Ipv6Packet const packet = next();
    wire::Segment segment;
    EXPECT_EQ(packet.protocol, wire::IpProtocol::tcp);
    EXPECT_EQ(wire::parse(packet.payload, segment), Drop::none);
    auto const size = static_cast<std::uint32_t>(packet.payload.size());
    EXPECT_TRUE(wire::checksum_verifies(
        {packet.header.source, packet.header.destination, 6, Bytes{size}}, packet.payload));
    return segment;
  }
  wire::Icmp6Message next_icmp() {
    wire::Ipv6Packet const packet = next();
    wire::Icmp6Message message;
    EXPECT_EQ(packet.protocol, wire::IpProtocol::icmpv6);
    EXPECT_EQ(
        wire::parse({packet.header.source, packet.header.destination}, packet.payload, message),
        Drop::none);
    from = packet.header.source;
    return message;
  }

  void listen() {
    Local local;
    local.port = {Kit::device_port};
    ListenerId listener;
    ASSERT_EQ(stack.listen(local, Backlog{}, listener), Refusal::none);
  }
  ConnectionId connect(IpAddress remote = six_peer) {
    Open open;
    open.local = {{}, {Kit::device_port}};
    open.remote = {remote, {Kit::peer_port}};
    ConnectionId made;
    EXPECT_EQ(stack.connect(open, made), Refusal::none);
    return made;
  }

  Instant now{Duration::seconds(1000).ns};
  std::vector<Event> events;
  std::vector<Octets> out;
  std::string received;
  ConnectionId id;
  Mac to;
  IpAddress from;

 private:
  std::vector<std::byte> arena_;
  std::vector<Octets> frames_;
  Octets last_;

 public:
  Stack stack;
};

}  // namespace lockstep::testing
