// The headers that ns-3 scripts usually include, unchanged, compiled as C++20.
#include <gtest/gtest.h>

#include "sim/ns3/core_module.hpp"
//
#include <ns3/applications-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <sstream>

#include "sim/ns3/helper.hpp"
#include "sim/ns3/scene_kit.hpp"

namespace ns3::testing {
namespace {

TEST(Ns3CoreModule, IsEnoughForAScript) {
  Scene const scene;
  NodeContainer nodes(2);
  PointToPointHelper link;
  link.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
  auto const devices = link.Install(nodes);
  InternetStackHelper().Install(nodes);
  Ipv4AddressHelper addresses("10.1.1.0", "255.255.255.0");
  InetSocketAddress const remote(addresses.Assign(devices).GetAddress(1), 5001);
  LockstepHelper().Install(nodes.Get(0));
  BulkSendHelper source("ns3::LockstepSocketFactory", remote);
  source.SetAttribute("MaxBytes", UintegerValue(100'000));
  source.Install(nodes.Get(0)).Start(Seconds(1));
  auto const sinks = PacketSinkHelper("ns3::TcpSocketFactory", remote).Install(nodes.Get(1));
  Simulator::Stop(Seconds(5));
  Simulator::Run();
  EXPECT_EQ(DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx(), 100'000u);
}

// Headers for scripts that read files, read the wall clock or run in real time.
TEST(Ns3CoreModule, HasHeadersOutsideTheSimulation) {
  SystemWallClockMs clock;
  clock.Start();
  std::istringstream text("1,2\n");
  CsvReader rows(text);
  std::uint32_t second = 0;
  ASSERT_TRUE(rows.FetchNextRow());
  EXPECT_TRUE(rows.GetValue(1, second));
  EXPECT_EQ(second, 2u);
  EXPECT_EQ(SystemPath::Append("a", "b"), "a/b");
  EXPECT_GE(clock.End(), 0);
  EXPECT_EQ(RealtimeSimulatorImpl::GetTypeId().GetName(), "ns3::RealtimeSimulatorImpl");
  EXPECT_EQ(TestSuite("nothing").GetTestType(), TestSuite::UNIT);
}

}  // namespace
}  // namespace ns3::testing
