// Floods with source addresses on our own link: neighbours in use stay resolved, in profile
// default.
#include <gtest/gtest.h>

#include <vector>

#include "core/stack/testing/six_kit.hpp"
#include "core/wire/arp.hpp"

namespace lockstep::testing {
namespace {

constexpr Mac ours{{2, 0, 0, 0, 0, 1}};
constexpr Mac gate{{2, 0, 0, 0, 0, 0xfe}};
constexpr Mac evil{{2, 0, 0, 0, 0, 0x66}};

// The addresses of one family: ours, the gateway, a client behind it, hosts on the link.
struct FloodPlan {
  IpAddress us;
  IpAddress gateway;
  IpAddress client;
  bool six = false;

  IpAddress host(std::uint32_t number) const {
    return six ? IpAddress{us.high, 0x1'0000 + number}
               : IpAddress::v4(10, 0, static_cast<std::uint8_t>(1 + number / 250),
                               static_cast<std::uint8_t>(1 + number % 250));
  }
};

FloodPlan plan_of(bool six) {
  if (six) {
    return {{0x2001'0db8'0000'0000, 1},
            {0x2001'0db8'0000'0000, 0xfffe},
            {0x2001'0db8'ffff'0000, 1},
            true};
  }
  return {IpAddress::v4(10, 0, 0, 1), IpAddress::v4(10, 0, 255, 254), IpAddress::v4(192, 0, 2, 1),
          false};
}

Config flood_config(const FloodPlan& plan) {
  Config config;
  config.link = LinkType::ethernet;
  config.mac = ours;
  config.addresses[0] = {plan.us, static_cast<std::uint8_t>(plan.six ? 64 : 16)};
  config.address_count = Count{1};
  config.duplicate_tests = Count{0};
  if (plan.six) {
    config.routes[0] = {IpAddress{}, plan.gateway, 0};
    config.route_count = Count{1};
  } else {
    config.gateway = plan.gateway;
  }
  return config;
}

// A server on Ethernet, its gateway, which answers, and a flood.
class Link {
 public:
  explicit Link(bool six)
      : plan(plan_of(six)),
        arena_(Stack::arena_bytes(flood_config(plan)) + 64),
        stack(test_keys(flood_config(plan)),
              std::span(arena_).subspan(
                  (64 - reinterpret_cast<std::uintptr_t>(arena_.data()) % 64) % 64)) {
    turn();
    Local local;
    local.port = {80};
    ListenerId listener;
    EXPECT_EQ(stack.listen(local, Backlog{}, listener), Refusal::none);
  }

  void frame(Mac from, wire::EtherType type, Octets body) {
    Octets out(wire::ethernet_bytes(0));
    wire::write(wire::EthernetHeader{ours, from, type, 0}, out);
    out.insert(out.end(), body.begin(), body.end());
    arriving_.push_back(out);
  }

  void segment(Mac from, IpAddress source, Port port, Flags flags, std::uint32_t ack = 0) {
    wire::Segment s;
    s.source = port;
    s.destination = {80};
    s.sequence = {flags.syn() ? 1000u : 1001u};
    s.acknowledgment = {ack};
    s.flags = flags;
    s.window = {65535};
    s.options.has_mss = flags.syn();
    s.options.mss = flags.syn() ? 1440 : 0;
    Octets const payload = segment_octets(s, {}, source, plan.us);
    if (plan.six) {
      frame(from, wire::EtherType::ipv6, bytes_of({source, plan.us, 6, 64, payload}));
      return;
    }
    Octets packet(20);
    wire::Ipv4Header ip;
    ip.source = source;
    ip.destination = plan.us;
    ip.protocol = wire::IpProtocol::tcp;
    ip.time_to_live = 64;
    wire::write(ip, Bytes{static_cast<std::uint32_t>(payload.size())}, packet);
    packet.insert(packet.end(), payload.begin(), payload.end());
    frame(from, wire::EtherType::ipv4, packet);
  }

  void turn() {
    do {
      std::vector<Octets> take;
      take.swap(arriving_);
      for (std::size_t i = 0; i == 0 || i < take.size(); i += 32) {
        burst(std::span(take).subspan(i, std::min<std::size_t>(32, take.size() - i)));
      }
    } while (!arriving_.empty());
  }

  void advance(Duration by) {
    Instant const end = now + by;
    while (stack.deadline() <= end) {
      now = later(now, stack.deadline());
      turn();
    }
    now = end;
    turn();
  }

  // A connection of the client behind the gateway.
  void open() {
    segment(gate, plan.client, {4000}, flag::syn);
    turn();
    segment(gate, plan.client, {4000}, flag::ack, iss.value + 1);
    turn();
    ASSERT_EQ(stack.inspect(id).state, State::established);
  }

  FloodPlan plan;
  Instant now{Duration::seconds(1000).ns};
  Sequence iss;
  ConnectionId id;
  std::uint32_t to_client = 0;        // frames with data
  std::uint32_t asked_gateway = 0;    // requests for its link address
  std::uint32_t questions = 0;        // requests for all link addresses
  std::uint32_t answers_to_link = 0;  // SYN-ACKs to hosts on the link

 private:
  void burst(std::span<const Octets> frames) {
    std::vector<Ingress> in;
    for (Octets const& each : frames) {
      in.push_back({each, Checksum::unknown, now});
    }
    stack.receive(now, in);
    while (stack.expire(now)) {
    }
    Event event;
    while (stack.next_event(event)) {
      if (event.kind == EventKind::accepted) {
        id = event.id;
      }
    }
    stack.settle();
    Octets room(4096);
    while (stack.wants_transmit()) {
      Egress const egress = stack.transmit(now, room);
      if (egress.length == 0) {
        break;
      }
      sent(std::span(room).first(egress.length));
    }
    stack.check_invariants();
  }

  void sent(std::span<const std::byte> bytes) {
    wire::EthernetFrame ethernet;
    ASSERT_EQ(wire::parse(bytes, ethernet), Drop::none);
    if (ethernet.header.type == wire::EtherType::arp) {
      wire::ArpPacket packet;
      ASSERT_EQ(wire::parse(ethernet.payload, packet), Drop::none);
      ++questions;
      if (IpAddress::from(packet.target) == plan.gateway) {
        answer_arp(packet);
      }
      return;
    }
    if (ethernet.header.type == wire::EtherType::ipv6) {
      sent_six(ethernet.payload);
      return;
    }
    wire::Ipv4Packet packet;
    ASSERT_EQ(wire::parse(ethernet.payload, packet), Drop::none);
    sent_segment(packet.header.destination, packet.payload);
  }

  void sent_six(std::span<const std::byte> bytes) {
    wire::Ipv6Packet packet;
    ASSERT_EQ(wire::parse(bytes, packet), Drop::none);
    ASSERT_EQ(wire::walk(packet), Drop::none);
    if (packet.protocol == wire::IpProtocol::tcp) {
      sent_segment(packet.header.destination, packet.payload);
      return;
    }
    wire::Icmp6Message message;
    wire::NdMessage solicitation;
    ASSERT_EQ(
        wire::parse({packet.header.source, packet.header.destination}, packet.payload, message),
        Drop::none);
    if (wire::parse(message, solicitation) != Drop::none ||
        solicitation.type != wire::Icmp6Type::neighbour_solicitation) {
      return;
    }
    ++questions;
    if (solicitation.target == plan.gateway) {
      ++asked_gateway;
      wire::NdMessage answer;
      answer.type = wire::Icmp6Type::neighbour_advertisement;
      answer.target = plan.gateway;
      answer.has_link_address = true;
      answer.link_address = gate;
      answer.solicited = true;
      answer.override = true;
      Octets whole(wire::nd_message_bytes_max);
      whole.resize(wire::write({plan.gateway, packet.header.source}, answer, whole).count);
      frame(gate, wire::EtherType::ipv6,
            bytes_of({plan.gateway, packet.header.source, 58, 255, whole}));
    }
  }

  void answer_arp(const wire::ArpPacket& request) {
    ++asked_gateway;
    wire::ArpPacket reply;
    reply.operation = wire::ArpOperation::reply;
    reply.sender_mac = gate;
    reply.sender = request.target;
    reply.target_mac = ours;
    reply.target = request.sender;
    Octets body(wire::arp_packet_bytes);
    wire::write(reply, body);
    frame(gate, wire::EtherType::arp, body);
  }

  void sent_segment(IpAddress to, std::span<const std::byte> bytes) {
    wire::Segment s;
    ASSERT_EQ(wire::parse(bytes, s), Drop::none);
    if (to == plan.client) {
      to_client += s.payload.empty() ? 0 : 1;
      iss = s.flags.syn() ? s.sequence : iss;
    } else if (s.flags.syn()) {
      ++answers_to_link;
    }
  }

  std::vector<std::byte> arena_;
  std::vector<Octets> arriving_;

 public:
  Stack stack;
};

class NeighbourFlood : public ::testing::TestWithParam<bool> {};

// 90 SYNs per second from addresses on our link, which never answer: the gateway, in use, stays
// resolved, and written data is sent at once.
TEST_P(NeighbourFlood, TheGatewayInUseStays) {
  Link link(GetParam());
  link.open();
  std::uint32_t host = 0;
  for (; host < 400; ++host) {
    link.segment(evil, link.plan.host(host), {5000}, flag::syn);
  }
  link.turn();
  link.advance(Duration::milliseconds(1100));
  std::string const data(100, 'x');
  for (std::uint32_t second = 1; second <= 20; ++second) {
    EXPECT_EQ(link.stack.write(link.id, Kit::bytes_of(data)).bytes.count, 100u);
    link.turn();
    ASSERT_EQ(link.to_client, second) << "after so many seconds";
    link.segment(gate, link.plan.client, {4000}, flag::ack, link.iss.value + 1 + second * 100);
    for (std::uint32_t i = 0; i < 90; ++i, ++host) {
      link.segment(evil, link.plan.host(host), {5000}, flag::syn);
    }
    link.advance(Duration::seconds(1));
  }
}

// Five per second for an hour: the same, and the gateway is requested no more often than without.
TEST_P(NeighbourFlood, ATrickleForAnHour) {
  Link link(GetParam());
  link.open();
  std::string const data(100, 'x');
  std::uint32_t host = 0;
  for (std::uint32_t second = 1; second <= 3600; ++second) {
    EXPECT_EQ(link.stack.write(link.id, Kit::bytes_of(data)).bytes.count, 100u);
    link.turn();
    ASSERT_EQ(link.to_client, second) << "after so many seconds";
    link.segment(gate, link.plan.client, {4000}, flag::ack, link.iss.value + 1 + second * 100);
    for (std::uint32_t i = 0; i < 5; ++i, ++host) {
      link.segment(evil, link.plan.host(host % 50'000), {5000}, flag::syn);
    }
    link.advance(Duration::seconds(1));
  }
  EXPECT_LE(link.asked_gateway, 200u);
  // At most 64 are unresolved for strangers at once, each for three seconds.
  EXPECT_LE(link.questions, 64u * 3600u);
}

// SYNs from addresses behind the gateway, never acknowledged: each verifies the gateway at R1, but
// at most once per full series of tries.
//= rfc9293#3.8.3
//= type=test
//# 9293:MUST-20 the advice is given, and limited
TEST_P(NeighbourFlood, SpoofedSynsRarelyProbeTheGateway) {
  Link link(GetParam());
  link.open();
  std::uint32_t const before = link.asked_gateway;
  for (std::uint32_t second = 0; second < 60; ++second) {
    for (std::uint32_t i = 0; i < 90; ++i) {
      IpAddress const far = link.plan.six
                                ? IpAddress{link.plan.client.high, 100 + second * 90 + i}
                                : IpAddress::v4(198, 51, static_cast<std::uint8_t>(second),
                                                static_cast<std::uint8_t>(1 + i));
      link.segment(gate, far, {5000}, flag::syn);
      link.advance(Duration::milliseconds(11));
    }
  }
  EXPECT_LE(link.asked_gateway - before, 20u);
}

INSTANTIATE_TEST_SUITE_P(Families, NeighbourFlood, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "Ipv6" : "Ipv4"; });

}  // namespace
}  // namespace lockstep::testing
