// Routers forward, count hops, and report what they drop.
#include <gtest/gtest.h>

#include "core/stack/statistics.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/icmp.hpp"
#include "core/wire/icmpv6.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"
#include "sim/bus/icmp_error.hpp"
#include "sim/checkers/conservation.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/kernel/snapshot.hpp"
#include "sim/routers/plan.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

// a - r0 - r1 - ... - b.
World chain_of(std::uint32_t routers, bool six = false) {
  World world;
  for (std::uint8_t i = 0; i < 2; ++i) {
    HostSpec host = plain_host(i == 0 ? "a" : "b", 1);
    IpAddress const v4 = IpAddress::v4(10, i, 0, 1);
    IpAddress const v6{std::uint64_t{0x2001'0db8'0000'0000} + i, 1};
    host.config.addresses[0] = {six ? v6 : v4, static_cast<std::uint8_t>(six ? 64 : 24)};
    world.hosts.push_back(host);
  }
  LaneSpec lane;
  lane.rate_bits_per_second = 10'000'000;
  lane.delay = Duration::milliseconds(1);
  for (std::uint32_t i = 0; i <= routers; ++i) {
    NodeRef const from = i == 0 ? NodeRef{NodeKind::host, 0} : NodeRef{NodeKind::router, i - 1};
    NodeRef const to = i == routers ? NodeRef{NodeKind::host, 1} : NodeRef{NodeKind::router, i};
    if (i != routers) {
      world.routers.push_back({i == 0 ? "r0" : i == 1 ? "r1" : "r", {}, {}});
      world.routers[i].ports.push_back({i, false, {}, {}});
    }
    if (i != 0) {
      world.routers[i - 1].ports.push_back({i, true, {}, {}});
    }
    world.links.push_back({i == 0 ? "first" : "link", from, to, lane, lane});
  }
  AppSpec app = app_of("bulk", 200'000);
  world.apps = {app};
  give_macs(world);
  complete_routers(world);
  return world;
}

struct Result {
  Ending ending = Ending::completed;
  std::uint64_t read = 0;
};

Result outcome_of(const World& world) {
  Findings findings;
  ConservationChecker checker(findings);
  Kernel kernel(world, 1);
  kernel.observe(checker);
  Result out;
  out.ending = kernel.run();
  EXPECT_TRUE(findings.empty());
  for (const Flow& flow : kernel.ledger().flows()) {
    out.read += flow.end(Side::acceptor).read;
  }
  return out;
}

class EachFamily : public testing::TestWithParam<bool> {};

TEST_P(EachFamily, CarriesAConnectionOverAChain) {
  World const world = chain_of(3, GetParam());
  ASSERT_EQ(fault_of(world).what, "");
  Result const out = outcome_of(world);
  EXPECT_EQ(out.ending, Ending::completed);
  EXPECT_EQ(out.read, 200'000u);
}

TEST_P(EachFamily, ANarrowLinkIsReported) {
  World world = chain_of(2, GetParam());
  world.links[1].forward.mtu_bytes = 1'300;
  for (HostSpec& host : world.hosts) {
    host.config.tcp.path_mtu_discovery = true;
  }
  EXPECT_EQ(outcome_of(world).read, 200'000u);
}

TEST_P(EachFamily, HopsRunOut) {
  World world = chain_of(66, GetParam());  // hosts send with 64 hops
  world.limit = Duration::seconds(5);
  Kernel kernel(world, 1);
  EXPECT_NE(kernel.run(), Ending::completed);
  auto const& drops = kernel.bus().lane({2 * 63}).counters().drops;
  EXPECT_GT(drops[static_cast<std::uint32_t>(LinkDrop::hops_exceeded)], 0u);
  // The error reached the host.
  EXPECT_GT(kernel.bus().lane({1}).counters().frames_delivered, 0u);
}

TEST_P(EachFamily, AnUnknownHostIsReported) {
  World world = chain_of(2, GetParam());
  IpAddress stranger = world.hosts[1].config.addresses[0].address;
  stranger.low += 7;
  world.apps[0].server_address = stranger;
  world.limit = Duration::seconds(5);
  Kernel kernel(world, 1);
  EXPECT_NE(kernel.run(), Ending::completed);
  auto const& drops = kernel.bus().lane({2}).counters().drops;
  EXPECT_GT(drops[static_cast<std::uint32_t>(LinkDrop::no_route)], 0u);
  EXPECT_GT(kernel.bus().lane({1}).counters().frames_delivered, 0u);
}

INSTANTIATE_TEST_SUITE_P(Families, EachFamily, testing::Bool(),
                         [](const auto& each) { return each.param ? "IPv6" : "IPv4"; });

TEST(RoutingPlanOf, TakesTheShortestPathAndOwnRoutesFirst) {
  World world = chain_of(2);
  RoutingPlan plan = plan_routes(world);
  ASSERT_EQ(plan.fault.what, "");
  IpAddress const there = IpAddress::v4(10, 1, 0, 1);
  EXPECT_EQ(plan.tables[0].entry_for(there)->next, world.routers[1].ports[0].mac);
  EXPECT_EQ(plan.tables[1].entry_for(there)->next, Mac{});
  EXPECT_EQ(*plan.tables[1].mac_of(there), world.hosts[1].config.mac);
  EXPECT_EQ(plan.tables[0].entry_for(IpAddress::v4(9, 9, 9, 9)), nullptr);
  world.routers[1].routes = {{there, 24, world.routers[0].ports[1].address}};
  EXPECT_EQ(plan_routes(world).fault.subject, Name("r1"));
  EXPECT_NE(plan_routes(world).fault.what.find("routing loop"), std::string_view::npos);
}

TEST(RouterErrors, NoneAboutAnErrorOrAGroup) {
  std::array<std::byte, icmp_error_bytes_max> packet{};
  std::array<std::byte, icmp_error_bytes_max> into{};
  wire::Ipv4Header header;
  header.source = IpAddress::v4(10, 0, 0, 1);
  header.destination = IpAddress::v4(10, 1, 0, 1);
  header.protocol = wire::IpProtocol::tcp;
  header.time_to_live = 1;
  IpAddress const router = IpAddress::v4(10, 0, 0, 254);
  auto const length_of_error = [&] {
    std::uint32_t const length = wire::write(header, Bytes{100}, packet).count + 100;
    return write_icmp_error(
        {RouterError::hops_exceeded, 0, std::span(packet).first(length), router}, into);
  };
  EXPECT_EQ(length_of_error(), 20u + 8u + 120u);
  wire::Ipv4Packet out;
  ASSERT_EQ(wire::parse(std::span(into).first(148), out), Drop::none);
  EXPECT_EQ(out.header.destination, header.source);
  EXPECT_EQ(out.payload[0], std::byte{11});
  header.protocol = wire::IpProtocol::icmp;
  packet[20] = std::byte{3};
  EXPECT_EQ(length_of_error(), 0u);
  packet[20] = std::byte{8};
  EXPECT_NE(length_of_error(), 0u);
  header.destination = IpAddress::v4(224, 0, 0, 1);
  EXPECT_EQ(length_of_error(), 0u);
}

}  // namespace
}  // namespace lockstep::sim
