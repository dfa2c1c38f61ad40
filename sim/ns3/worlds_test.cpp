// The same two hosts send the same frames at the same nanosecond in our simulator and in ns-3.
#include <gtest/gtest.h>
#include <ns3/error-model.h>
#include <ns3/pointer.h>
#include <ns3/simple-net-device-helper.h>

#include <list>
#include <vector>

#include "sim/kernel/kernel.hpp"
#include "sim/ns3/applications.hpp"
#include "sim/ns3/scene_kit.hpp"
#include "sim/ns3/worlds_kit.hpp"
#include "sim/worlds/build.hpp"

namespace ns3::testing {
namespace {

using lockstep::Duration;

// One scenario for both simulators.
struct Scenario {
  std::uint64_t bits_per_second = 10'000'000;
  std::uint64_t delay_us = 10'000;
  std::uint64_t bytes = 300'000;
  std::list<std::uint32_t> lost;  // frames towards the receiver, counted from 0
  std::uint32_t overhead = 0;     // octets that the device adds to each frame
  void (*change)(lockstep::Config&) = nullptr;
};

lockstep::Config ConfigOf(const Scenario& scenario, std::uint8_t last) {
  lockstep::Config config;
  if (scenario.change != nullptr) {
    scenario.change(config);
  }
  config.link = lockstep::LinkType::ip;
  config.addresses[0] = {lockstep::IpAddress::v4(10, 0, 0, last), 24};
  config.address_count = {1};
  lockstep::draw_keys(config, lockstep::entropy_of(lockstep::Random(last)));
  return config;
}

std::vector<Sighting> RunOurs(const Scenario& scenario) {
  lockstep::sim::LaneSpec lane;
  lane.rate_bits_per_second = scenario.bits_per_second;
  lane.delay = Duration::microseconds(scenario.delay_us);
  lane.overhead_bytes = scenario.overhead;
  auto world = lockstep::sim::two_hosts(lane);
  for (std::uint32_t i = 0; i < 2; ++i) {
    world.hosts[i].config = ConfigOf(scenario, static_cast<std::uint8_t>(i + 1));
    world.hosts[i].transmit_ring = 4096;
  }
  world.apps = {lockstep::sim::app_of("bulk", scenario.bytes)};
  world.apps[0].port = {5001};
  return RunWorld(world, 0, scenario.lost);
}

// Configures the stacks of two devices like the simulator's hosts.
void InstallAlike(const Scenario& scenario, const NetDeviceContainer& devices) {
  for (std::uint32_t i = 0; i < 2; ++i) {
    auto const stack = LockstepHelper().Install(devices.Get(i));
    stack->Fields() = ConfigOf(scenario, static_cast<std::uint8_t>(i + 1));
    stack->KeepKeys();
  }
}

void StartAlike(const Scenario& scenario, const NodeContainer& nodes) {
  auto const source = CreateObject<LockstepBulkSend>();
  source->SetAttribute("Remote", AddressValue(InetSocketAddress("10.0.0.2", 5001)));
  source->SetAttribute("MaxBytes", UintegerValue(scenario.bytes));
  nodes.Get(0)->AddApplication(source);
  auto const sink = CreateObject<LockstepSink>();
  sink->SetAttribute("Local", AddressValue(InetSocketAddress("10.0.0.2", 5001)));
  sink->SetAttribute("Verify", BooleanValue(true));
  nodes.Get(1)->AddApplication(sink);
}

std::vector<Sighting> RunInNs3(const Scenario& scenario, bool point_to_point) {
  Scene const scene;
  NodeContainer nodes(2);
  NetDeviceContainer devices;
  if (point_to_point) {
    PointToPointHelper link;
    link.DisableFlowControl();
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(scenario.bits_per_second)));
    link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(scenario.delay_us)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
    devices = link.Install(nodes);
  } else {
    SimpleNetDeviceHelper link;
    link.DisableFlowControl();
    link.SetNetDevicePointToPointMode(true);
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(scenario.bits_per_second)));
    link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(scenario.delay_us)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
    devices = link.Install(nodes);
    for (std::uint32_t i = 0; i < 2; ++i) {
      devices.Get(i)->SetMtu(1500);
    }
  }
  if (!scenario.lost.empty()) {
    auto const losses = CreateObject<ReceiveListErrorModel>();
    losses->SetList(scenario.lost);
    devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(losses));
  }
  InstallAlike(scenario, devices);
  StartAlike(scenario, nodes);
  std::vector<Sighting> seen;
  for (std::uint32_t i = 0; i < 2; ++i) {
    LockstepHelper::GetStack(devices.Get(i))
        ->TraceConnectWithoutContext("Tx", MakeBoundCallback(&NoteSighting, &seen, i));
  }
  Simulator::Stop(Seconds(300));
  Simulator::Run();
  return seen;
}

std::vector<Scenario> Scenarios() {
  std::vector<Scenario> all(6);
  all[1].lost = {20, 21, 40, 90};
  all[2].lost = {0, 5, 7, 30, 31, 32, 33, 34, 100, 150};
  all[2].bits_per_second = 100'000'000;
  all[2].delay_us = 50'000;
  all[3].lost = {12, 60};
  all[3].change = [](lockstep::Config& config) { config = lockstep::profile_rfc(); };
  all[4].change = [](lockstep::Config& config) { config.tcp.pacing = true; };
  all[4].lost = {50};
  all[5].change = [](lockstep::Config& config) { config.tcp.receive_buffer_max = {0}; };
  all[5].bytes = 1'000'000;
  return all;
}

TEST(Ns3Worlds, ASimpleDeviceSendsTheSameFramesAtTheSameNanosecond) {
  for (auto const& scenario : Scenarios()) {
    ExpectAlike(RunOurs(scenario), RunInNs3(scenario, false));
  }
}

// PointToPointNetDevice adds the two octets of PPP to each packet.
TEST(Ns3Worlds, SoDoesAPointToPointDeviceWithTheTwoOctetsOfPpp) {
  for (auto scenario : Scenarios()) {
    scenario.overhead = 2;
    ExpectAlike(RunOurs(scenario), RunInNs3(scenario, true));
  }
}

TEST(Ns3Worlds, WithoutTheTwoOctetsTheyDiffer) {
  auto const ours = OfHost(RunOurs({}), 1);
  auto const theirs = OfHost(RunInNs3({}, true), 1);
  // The SYN takes two octet times longer: 1.6 us at 10 Mbit/s.
  EXPECT_EQ(theirs[0].ns, ours[0].ns + 1'600);
  EXPECT_EQ(theirs[0].bytes, ours[0].bytes);
}

}  // namespace
}  // namespace ns3::testing
