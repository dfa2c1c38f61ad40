// Lanes and switches: times to the nanosecond, queues, limits, learning.
#include "sim/bus/bus.hpp"

#include <gtest/gtest.h>

#include "core/wire/ethernet.hpp"
#include "core/wire/ipv4.hpp"
#include "sim/bus/ecn_mark.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

std::vector<std::byte> frame_of(std::uint32_t length) { return std::vector<std::byte>(length); }

TEST(Lane, TimeOnTheWireIsLengthOverRateRoundedUp) {
  LaneSpec spec;
  spec.rate_bits_per_second = 3'000'000;
  spec.delay = Duration{500};
  Lane lane(spec, 14);
  std::vector<std::byte> frame = frame_of(100);
  // 800 bits at 3 Mbit/s: 266,666.67 ns.
  EXPECT_EQ(lane.send(Instant{0}, frame).at.ns, 266'667u + 500);
  // The second frame waits for the first.
  EXPECT_EQ(lane.send(Instant{10}, frame).at.ns, 2 * 266'667u + 500);
  EXPECT_EQ(lane.waiting(Instant{10}), 2u);
  EXPECT_EQ(lane.first_departure().ns, 266'667u);
  EXPECT_EQ(lane.waiting(Instant{266'667}), 1u);
}

TEST(Lane, ALimitlessLaneTakesNoTime) {
  Lane lane(LaneSpec{}, 14);
  std::vector<std::byte> frame = frame_of(1'514);
  EXPECT_EQ(lane.send(Instant{7}, frame).at.ns, 7u);
  EXPECT_EQ(lane.waiting(Instant{7}), 0u);
}

TEST(Lane, AFullQueueDropsByBytesAndByPackets) {
  LaneSpec spec;
  spec.rate_bits_per_second = 1'000;
  spec.queue_packets = 2;
  Lane by_packets(spec, 14);
  std::vector<std::byte> frame = frame_of(100);
  EXPECT_EQ(by_packets.send(Instant{0}, frame).drop, LinkDrop::none);
  EXPECT_EQ(by_packets.send(Instant{0}, frame).drop, LinkDrop::none);
  EXPECT_EQ(by_packets.send(Instant{0}, frame).drop, LinkDrop::queue_full);
  // When one frame has left, there is room for one.
  EXPECT_EQ(by_packets.send(Instant{800'000'000}, frame).drop, LinkDrop::none);
  spec.queue_packets = 0;
  spec.queue_bytes = 250;
  Lane by_bytes(spec, 14);
  EXPECT_EQ(by_bytes.send(Instant{0}, frame).drop, LinkDrop::none);
  EXPECT_EQ(by_bytes.send(Instant{0}, frame).drop, LinkDrop::none);
  EXPECT_EQ(by_bytes.send(Instant{0}, frame).drop, LinkDrop::queue_full);
  EXPECT_EQ(by_bytes.counters().drops[static_cast<std::uint32_t>(LinkDrop::queue_full)], 1u);
}

// A packet with a valid IPv4 header checksum after `link` octets, and the ECN field `field`.
std::vector<std::byte> packet_of(std::uint32_t link, std::uint8_t field) {
  std::vector<std::byte> frame(link + 60);
  wire::Ipv4Header header;
  header.source = IpAddress::v4(10, 0, 0, 1);
  header.destination = IpAddress::v4(10, 0, 0, 2);
  header.protocol = wire::IpProtocol::tcp;
  header.time_to_live = 64;
  header.traffic_class = static_cast<std::uint8_t>(0xb8 | field);
  static_cast<void>(wire::write(header, Bytes{40}, std::span(frame).subspan(link)));
  return frame;
}

std::uint8_t class_of(std::span<const std::byte> frame, std::uint32_t link) {
  wire::Ipv4Packet packet;
  EXPECT_EQ(wire::parse(frame.subspan(link), packet), Drop::none);
  return packet.header.traffic_class;
}

TEST(Lane, ALongQueueMarksEctPackets) {
  for (std::uint32_t const link : {0u, 14u}) {
    LaneSpec spec;
    spec.rate_bits_per_second = 1'000;
    spec.mark_packets = 2;
    Lane lane(spec, link);
    for (int i = 0; i < 2; ++i) {
      auto frame = packet_of(link, 2);
      lane.send(Instant{0}, frame);
      EXPECT_EQ(class_of(frame, link), 0xb8 | 2);
    }
    for (auto const& [before, after] : {std::pair{2, 3}, {1, 3}, {0, 0}, {3, 3}}) {
      auto frame = packet_of(link, static_cast<std::uint8_t>(before));
      lane.send(Instant{0}, frame);
      EXPECT_EQ(class_of(frame, link), 0xb8 | after);
    }
    EXPECT_EQ(lane.counters().marked, 2u);
    EXPECT_EQ(lane.seen_waiting(Instant{0}), lane.waiting(Instant{0}));
  }
}

TEST(Lane, MarksIpv6BehindAVlanTag) {
  std::vector<std::byte> frame(18 + 60);
  frame[12] = std::byte{0x81};
  frame[18] = std::byte{0x60};
  frame[19] = std::byte{0x25};
  EXPECT_TRUE(mark_congestion(frame, 14));
  EXPECT_EQ(frame[18], std::byte{0x60});
  EXPECT_EQ(frame[19], std::byte{0x35});
  EXPECT_FALSE(mark_congestion(frame, 14));
  EXPECT_FALSE(mark_congestion(std::span(frame).first(20), 14));
}

TEST(Lane, DropsFramesAboveTheMtu) {
  LaneSpec spec;
  spec.mtu_bytes = 500;
  Lane lane(spec, 14);
  std::vector<std::byte> fits = frame_of(514);
  std::vector<std::byte> large = frame_of(515);
  EXPECT_EQ(lane.send(Instant{0}, fits).drop, LinkDrop::none);
  EXPECT_EQ(lane.send(Instant{0}, large).drop, LinkDrop::mtu_exceeded);
}

TEST(Lane, KeepsItsOrderWhenTheRingGrows) {
  LaneSpec spec;
  spec.rate_bits_per_second = 8'000'000'000;
  Lane lane(spec, 14);
  std::vector<std::byte> frame = frame_of(100);
  std::uint64_t now = 0;
  for (std::uint32_t round = 0; round < 200; ++round) {
    for (std::uint32_t i = 0; i < round; ++i) {
      lane.send(Instant{now}, frame);
    }
    now += 100 * (round / 2);
    ASSERT_LE(lane.waiting(Instant{now}), 200u * 200);
  }
  now += std::uint64_t{100} * 200 * 200;
  EXPECT_EQ(lane.waiting(Instant{now}), 0u);
}

TEST(LearningSwitch, LearnsUpToItsCapacity) {
  LearningSwitch table(2);
  Mac const one{{2, 0, 0, 0, 0, 1}};
  Mac const two{{2, 0, 0, 0, 0, 2}};
  Mac const three{{2, 0, 0, 0, 0, 3}};
  EXPECT_EQ(table.port_of(one), SwitchPort::everywhere());
  table.learn(one, {4});
  table.learn(two, {5});
  table.learn(three, {6});
  EXPECT_EQ(table.port_of(one), SwitchPort{4});
  EXPECT_EQ(table.port_of(two), SwitchPort{5});
  EXPECT_EQ(table.port_of(three), SwitchPort::everywhere());
  table.learn(one, {7});
  EXPECT_EQ(table.port_of(one), SwitchPort{7});
  EXPECT_EQ(table.port_of(Mac::broadcast()), SwitchPort::everywhere());
}

// Three hosts on a switch: a frame for one host reaches the others only until its port is known.
TEST(Bus, ASwitchFloodsUnknownAddresses) {
  World world;
  world.hosts = {plain_host("a", 1), plain_host("b", 2), plain_host("c", 3)};
  for (HostSpec& host : world.hosts) {
    host.config.announcements = Count{0};  // from which a switch would learn the ports
  }
  world.switches = {{"s", 16}};
  for (std::uint32_t i = 0; i < 3; ++i) {
    world.links.push_back(
        {world.hosts[i].name, {NodeKind::host, i}, {NodeKind::learning_switch, 0}, {}, {}});
  }
  AppSpec app = app_of("bulk", 100'000);
  world.apps = {app};
  Kernel kernel(world, 1);
  ASSERT_EQ(kernel.run(), Ending::completed);
  EXPECT_EQ(kernel.bus().switch_at(0).learned(), 2u);
  // Host c receives the ARP broadcast but no frame of the transfer.
  EXPECT_LE(kernel.host({2}).state().frames_received, 2u);
  EXPECT_GT(kernel.host({1}).state().frames_received, 60u);
}

TEST(World, LoopsAndUnlinkedNodesAreRefused) {
  World world = two_hosts({});
  EXPECT_TRUE(fault_of(world).none());
  world.links.push_back(world.links[0]);
  EXPECT_FALSE(fault_of(world).none());
  world.links.clear();
  EXPECT_FALSE(fault_of(world).none());
  World odd = two_hosts({});
  odd.hosts[1].config.link = LinkType::ip;
  EXPECT_EQ(fault_of(odd).what, "both ends of a link must have the same link type");
}

}  // namespace
}  // namespace lockstep::sim
