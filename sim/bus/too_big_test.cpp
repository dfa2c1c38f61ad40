// A router ahead of a narrow link: which errors it sends, and that hosts find the path MTU from
// them.
#include "sim/bus/too_big.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/wire/ethernet.hpp"
#include "core/wire/icmp.hpp"
#include "core/wire/ipv4.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

// The frame of an IPv4 packet with a header of TCP's size and `payload` more octets.
std::vector<std::byte> large_frame(const wire::Ipv4Header& header, std::uint32_t payload) {
  std::vector<std::byte> frame(wire::ethernet_header_bytes + wire::ipv4_header_bytes + payload);
  Mac const to{{2, 0, 0, 0, 0, 2}};
  Mac const from{{2, 0, 0, 0, 0, 1}};
  wire::write(wire::EthernetHeader{to, from, wire::EtherType::ipv4}, frame);
  wire::write(header, Bytes{payload}, std::span(frame).subspan(wire::ethernet_header_bytes));
  return frame;
}

std::uint32_t answer_to(std::span<const std::byte> frame, std::span<std::byte> into) {
  return write_too_big({frame, wire::ethernet_header_bytes, 1'006, {{2, 1, 0, 0, 0, 0}}}, into);
}

TEST(TooBig, SendsTheErrorToTheSender) {
  wire::Ipv4Header header;
  header.source = IpAddress::v4(10, 0, 0, 1);
  header.destination = IpAddress::v4(10, 0, 0, 2);
  header.protocol = wire::IpProtocol::tcp;
  header.time_to_live = 64;
  header.dont_fragment = true;
  std::vector<std::byte> const frame = large_frame(header, 1'400);
  std::array<std::byte, too_big_bytes_max> room{};
  std::uint32_t const length = answer_to(frame, room);
  wire::EthernetFrame link;
  wire::Ipv4Packet packet;
  wire::IcmpMessage message;
  ASSERT_EQ(wire::parse(std::span(room).first(length), link), Drop::none);
  ASSERT_EQ(wire::parse(link.payload, packet), Drop::none);
  ASSERT_EQ(wire::parse(packet.payload, message), Drop::none);
  EXPECT_EQ(link.header.destination, (Mac{{2, 0, 0, 0, 0, 1}}));
  EXPECT_EQ(packet.header.source, IpAddress::v4(10, 0, 0, 254));
  EXPECT_EQ(packet.header.destination, header.source);
  EXPECT_EQ(message.type, wire::IcmpType::unreachable);
  EXPECT_EQ(message.code, 4);
  EXPECT_EQ(message.next_hop_mtu(), 1'006);
  wire::IcmpQuote quote;
  ASSERT_EQ(wire::parse(message.body, quote), Drop::none);
  EXPECT_EQ(quote.packet_bytes, Bytes{1'420});
}

TEST(TooBig, SendsNoErrorWhereRoutersDoNot) {
  std::array<std::byte, too_big_bytes_max> room{};
  wire::Ipv4Header good;
  good.source = IpAddress::v4(10, 0, 0, 1);
  good.destination = IpAddress::v4(10, 0, 0, 2);
  good.protocol = wire::IpProtocol::tcp;
  good.time_to_live = 64;
  good.dont_fragment = true;
  EXPECT_NE(answer_to(large_frame(good, 1'400), room), 0u);
  wire::Ipv4Header cut = good;
  cut.dont_fragment = false;
  EXPECT_EQ(answer_to(large_frame(cut, 1'400), room), 0u);
  wire::Ipv4Header later = good;
  later.fragment_offset = 3;
  EXPECT_EQ(answer_to(large_frame(later, 1'400), room), 0u);
  wire::Ipv4Header group = good;
  group.destination = IpAddress::v4(224, 0, 0, 1);
  EXPECT_EQ(answer_to(large_frame(group, 1'400), room), 0u);
  wire::Ipv4Header error = good;
  error.protocol = wire::IpProtocol::icmp;
  std::vector<std::byte> error_frame = large_frame(error, 1'400);
  error_frame[wire::ethernet_header_bytes + wire::ipv4_header_bytes] = std::byte{3};
  EXPECT_EQ(answer_to(error_frame, room), 0u);
  EXPECT_EQ(answer_to(std::vector<std::byte>(1'400), room), 0u);
}

// Hosts with an MTU of 1,500 octets and a link of 1,280 between them, IPv4 or IPv6.
World narrow_world(bool six, LinkType link) {
  LaneSpec lane;
  lane.delay = Duration::milliseconds(1);
  World world = two_hosts(lane);
  for (HostSpec& host : world.hosts) {
    Config& config = host.config;
    config.link = link;
    config.vlan = link == LinkType::ethernet ? std::uint16_t{7} : std::uint16_t{0};
    if (six) {
      config.addresses[0] = {IpAddress{0x2001'0db8'0000'0000, config.addresses[0].address.low & 7},
                             64};
    }
  }
  world.links[0].forward.mtu_bytes = 1'280;
  world.links[0].forward.answers_too_big = true;
  world.apps = {app_of("bulk", 300'000)};
  world.limit = Duration::seconds(100);
  return world;
}

TEST(TooBig, FindsThePathMtuOverIpv4AndIpv6) {
  for (bool const six : {false, true}) {
    for (LinkType const link : {LinkType::ethernet, LinkType::ip}) {
      World world = narrow_world(six, link);
      Kernel kernel(world, 1);
      EXPECT_EQ(kernel.run(), Ending::completed) << six;
      LaneCounters const& lane = kernel.bus().lane({0}).counters();
      auto const refused = lane.drops[static_cast<std::uint32_t>(LinkDrop::mtu_exceeded)];
      EXPECT_GT(refused, 0u) << six;
      EXPECT_LT(refused, 50u);
      // Without the error the sender does not find the path MTU.
      world.links[0].forward.answers_too_big = false;
      world.hosts[0].config.tcp.path_mtu_probing = false;
      Kernel mute(world, 1);
      EXPECT_EQ(mute.run(), Ending::limit_reached) << six;
    }
  }
}

// The error bypasses the queue of the other lane: it arrives after the delay alone.
TEST(TooBig, TheErrorBypassesTheQueue) {
  LaneSpec spec;
  spec.rate_bits_per_second = 1'000'000;
  spec.delay = Duration::milliseconds(1);
  spec.queue_packets = 1;
  Lane lane(spec, 0);
  EXPECT_EQ(lane.answer(Instant{0}, 70), Instant{0} + spec.delay);
  EXPECT_EQ(lane.waiting(Instant{0}), 0u);
  std::array<std::byte, 1'000> frame{};
  EXPECT_EQ(lane.send(Instant{0}, frame).drop, LinkDrop::none);
  EXPECT_EQ(lane.answer(Instant{0}, 70), Instant{0} + spec.delay);
  EXPECT_EQ(lane.waiting(Instant{0}), 1u);
  EXPECT_EQ(lane.counters().frames_offered, 3u);
}

}  // namespace
}  // namespace lockstep::sim
