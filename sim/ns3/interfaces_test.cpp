// Hosts with several interfaces, links with several routers, clocks coarser than ours.
#include <gtest/gtest.h>
#include <ns3/ipv4-static-routing-helper.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "sim/ns3/addresses.hpp"
#include "sim/ns3/gateways.hpp"
#include "sim/ns3/scene_kit.hpp"

namespace ns3::testing {
namespace {

void RunFor(double seconds) {
  Simulator::Stop(Seconds(seconds));
  Simulator::Run();
}

// Links between some of five nodes, each its own network, with ns-3's routes.
struct Net {
  explicit Net(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& links) {
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses("10.1.1.0", "255.255.255.0");
    Ipv6AddressHelper addresses6(Ipv6Address("fd00::"), Ipv6Prefix(64));
    for (auto const& [from, to] : links) {
      auto const devices = JoinPointToPoint(NodeContainer(nodes.Get(from), nodes.Get(to)));
      all.push_back(devices);
      interfaces.push_back(addresses.Assign(devices));
      interfaces6.push_back(addresses6.Assign(devices));
      addresses.NewNetwork();
      addresses6.NewNetwork();
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  }

  Scene scene;
  NodeContainer nodes{5};
  std::vector<NetDeviceContainer> all;
  std::vector<Ipv4InterfaceContainer> interfaces;
  std::vector<Ipv6InterfaceContainer> interfaces6;
};

// With two or three links, the last one leads to the destination and the first does not.
TEST(Ns3Interfaces, TheNodesRoutesChooseTheLink) {
  for (std::uint32_t const last : {2u, 3u}) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> links{{0, 1}, {0, 2}};
    if (last == 3) {
      links.emplace_back(0, 3);
    }
    links.emplace_back(last, 4);
    Net net(links);
    LockstepHelper().Install(net.nodes.Get(0));
    Address const remote = InetSocketAddress(net.interfaces.back().GetAddress(1), 5001);
    auto const sink = StartFlow({net.nodes.Get(0), net.nodes.Get(4), remote, kOurs, kTheirs});
    RunFor(60);
    EXPECT_EQ(sink->GetTotalRx(), kMegabyte) << last;
    EXPECT_EQ(LockstepHelper::GetStack(net.all[0].Get(0))->GetCounters().frames_sent, 0u);
  }
}

// The IPv6 routes are read before the node's own IPv6 leaves the devices.
TEST(Ns3Interfaces, TheNodesIpv6RoutesChooseTheLink) {
  Net net({{0, 1}, {0, 2}, {2, 3}});
  auto& far = net.interfaces6[2];
  net.interfaces6[1].SetForwarding(1, true);
  net.interfaces6[1].SetDefaultRoute(0, 1);
  far.SetForwarding(0, true);
  far.SetDefaultRoute(1, 0);
  LockstepHelper().Install(net.nodes.Get(0));
  Flow flow{net.nodes.Get(0), net.nodes.Get(3), Inet6SocketAddress(far.GetAddress(1, 1), 5001),
            kOurs, kTheirs};
  flow.at = Seconds(3);  // after the others' duplicate address detection
  auto const sink = StartFlow(flow);
  RunFor(60);
  EXPECT_EQ(sink->GetTotalRx(), kMegabyte);
}

// A triangle: the address of one link is reached through the other, in both directions, as with
// ns-3's own TCP.
TEST(Ns3Interfaces, AnyLinkAcceptsPacketsForAnyAddressOfTheHost) {
  for (bool const ours_sends : {true, false}) {
    Net net({{0, 1}, {1, 2}, {0, 2}});
    LockstepHelper().Install(net.nodes.Get(0));
    auto const ours = net.nodes.Get(0);
    Flow flow{ours, net.nodes.Get(2), InetSocketAddress(net.interfaces[1].GetAddress(1), 5001),
              kOurs, kTheirs};
    if (!ours_sends) {
      // Node 1 reaches this address of node 0 through the link between them.
      flow = {net.nodes.Get(1), ours, InetSocketAddress(net.interfaces[2].GetAddress(0), 5001),
              kTheirs, kOurs};
    }
    auto const sink = StartFlow(flow);
    RunFor(60);
    EXPECT_EQ(sink->GetTotalRx(), kMegabyte) << ours_sends;
  }
}

// Without ns-3's IPv4 there are no routes to choose between two links: neither is guessed.
TEST(Ns3Interfaces, NoLinkIsGuessed) {
  Scene const scene;
  NodeContainer nodes(3);
  auto const first = JoinPointToPoint(NodeContainer(nodes.Get(0), nodes.Get(1)));
  auto const second = JoinPointToPoint(NodeContainer(nodes.Get(0), nodes.Get(2)));
  LockstepHelper lockstep;
  lockstep.AddAddress(first.Get(0), "10.1.1.1/24");
  lockstep.AddAddress(second.Get(0), "10.1.2.1/24");
  auto const host = nodes.Get(0)->GetObject<LockstepHost>();
  auto const towards = [&](const char* address) {
    return host->Towards({{}, ToLockstep(Ipv4Address(address))});
  };
  EXPECT_EQ(towards("10.1.2.9"), LockstepHelper::GetStack(second.Get(0)));
  EXPECT_EQ(towards("10.9.9.9"), nullptr);
}

// Two routers on one LAN, each with a network behind it.
TEST(Ns3Interfaces, EachNetworkHasItsGateway) {
  Scene const scene;
  NodeContainer nodes(5);
  auto const lan = JoinCsma(NodeContainer(nodes.Get(0), nodes.Get(1), nodes.Get(2)));
  std::vector<NetDeviceContainer> const far{
      JoinPointToPoint(NodeContainer(nodes.Get(1), nodes.Get(3))),
      JoinPointToPoint(NodeContainer(nodes.Get(2), nodes.Get(4)))};
  InternetStackHelper().Install(nodes);
  auto const near_side = Address4(lan);
  std::vector<Ptr<PacketSink>> sinks;
  Ipv4StaticRoutingHelper routes;
  auto const of = [&](std::uint32_t node) {
    return routes.GetStaticRouting(nodes.Get(node)->GetObject<Ipv4>());
  };
  LockstepHelper lockstep;
  for (std::uint32_t i = 0; i < 2; ++i) {
    std::string const network = "10.1." + std::to_string(i + 2) + ".0";
    auto const addresses = Address4(far[i], network.c_str());
    of(0)->AddNetworkRouteTo(Ipv4Address(network.c_str()), "255.255.255.0",
                             near_side.GetAddress(i + 1), 1);
    of(i + 3)->SetDefaultRoute(addresses.GetAddress(0), 1);
    sinks.push_back(StartFlow({nodes.Get(0), nodes.Get(i + 3),
                               InetSocketAddress(addresses.GetAddress(1), 5001), kOurs, kTheirs}));
  }
  lockstep.Install(nodes.Get(0));
  RunFor(60);
  EXPECT_EQ(sinks[0]->GetTotalRx(), kMegabyte);
  EXPECT_EQ(sinks[1]->GetTotalRx(), kMegabyte);
  EXPECT_EQ(LockstepHelper::GetStack(lan.Get(0))->Fields().route_count.value, 2u);
}

void NoteArrival(std::string* order, Ptr<const Packet>) { *order += 'r'; }
void NoteDeparture(std::string* order, Ptr<const Packet>) { *order += 't'; }

// In a capture, a received packet precedes the response to it.
TEST(Ns3Interfaces, AResponseFollowsItsCauseInTheCapture) {
  Scene const scene;
  NodeContainer nodes(2);
  auto const devices = JoinCsma(nodes);
  InternetStackHelper().Install(nodes);
  auto const addresses = Address4(devices);
  LockstepHelper().Install(nodes);
  std::string order;
  for (std::uint32_t i = 0; i < 2; ++i) {
    LockstepHelper::GetStack(devices.Get(i))->Fields().announcements = lockstep::Count{0};
  }
  devices.Get(1)->TraceConnectWithoutContext("MacRx", MakeBoundCallback(&NoteArrival, &order));
  LockstepHelper::GetStack(devices.Get(1))
      ->TraceConnectWithoutContext("Tx", MakeBoundCallback(&NoteDeparture, &order));
  Flow flow{nodes.Get(0), nodes.Get(1), InetSocketAddress(addresses.GetAddress(1), 5001)};
  flow.bytes = 1000;
  StartFlow(flow);
  RunFor(60);
  EXPECT_EQ(order.substr(0, 4), "rtrt");  // ARP and its answer, SYN and its answer
}

using Ns3InterfacesDeathTest = ::testing::Test;

TEST(Ns3InterfacesDeathTest, ACoarserClockWorks) {
  // In a new process: ns-3 does not allow this change after a run.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (auto const unit : {Time::US, Time::MS}) {
    auto const run = [&] {
      ::alarm(60);
      Time::SetResolution(unit);
      NodeContainer nodes(2);
      auto const devices = JoinPointToPoint(nodes);
      LockstepHelper lockstep;
      lockstep.AddAddress(devices.Get(0), "10.1.1.1/24");
      lockstep.AddAddress(devices.Get(1), "10.1.1.2/24");
      auto const sink =
          StartFlow({nodes.Get(0), nodes.Get(1), InetSocketAddress("10.1.1.2", 5001)});
      RunFor(60);
      ::_exit(sink->GetTotalRx() == kMegabyte ? 0 : 1);
    };
    EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "") << unit;
  }
}

}  // namespace
}  // namespace ns3::testing
