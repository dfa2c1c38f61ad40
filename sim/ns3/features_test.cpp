// Features that ns-3 users expect: traces, queues, ECN marks, attributes, seeds, clear errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ns3/bulk-send-application.h>
#include <ns3/config.h>
#include <ns3/data-rate.h>
#include <ns3/double.h>
#include <ns3/drop-tail-queue.h>
#include <ns3/error-model.h>
#include <ns3/on-off-helper.h>
#include <ns3/pointer.h>
#include <ns3/rng-seed-manager.h>
#include <ns3/tcp-socket.h>
#include <ns3/traffic-control-helper.h>
#include <ns3/traffic-control-layer.h>

#include <unistd.h>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/ns3/addresses.hpp"
#include "sim/ns3/applications.hpp"
#include "sim/ns3/scene_kit.hpp"

namespace ns3::testing {
namespace {

using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::StrEq;

void RunFor(double seconds) {
  Simulator::Stop(Seconds(seconds));
  Simulator::Run();
}

struct Trace {
  std::vector<std::uint32_t> cwnd;
  std::vector<TcpSocket::TcpStates_t> states;
  std::map<std::string, int> changes;
};

void NoteCwnd(Trace* trace, std::uint32_t, std::uint32_t now) { trace->cwnd.push_back(now); }
void NoteState(Trace* trace, TcpSocket::TcpStates_t, TcpSocket::TcpStates_t now) {
  trace->states.push_back(now);
}
void NoteNumber(Trace* trace, std::string context, std::uint32_t, std::uint32_t) {
  ++trace->changes[context.substr(context.rfind('/') + 1)];
}
void NoteTime(Trace* trace, std::string context, Time, Time) {
  ++trace->changes[context.substr(context.rfind('/') + 1)];
}

void ConnectTraces(Trace* trace) {
  std::string const path = "/NodeList/0/$ns3::LockstepHost/StackList/0/SocketList/0/";
  EXPECT_TRUE(Config::ConnectWithoutContextFailSafe(path + "CongestionWindow",
                                                    MakeBoundCallback(&NoteCwnd, trace)));
  EXPECT_TRUE(
      Config::ConnectWithoutContextFailSafe(path + "State", MakeBoundCallback(&NoteState, trace)));
  for (const char* name : {"SlowStartThreshold", "BytesInFlight"}) {
    EXPECT_TRUE(Config::ConnectFailSafe(path + name, MakeBoundCallback(&NoteNumber, trace)));
  }
  for (const char* name : {"RTT", "RTO"}) {
    EXPECT_TRUE(Config::ConnectFailSafe(path + name, MakeBoundCallback(&NoteTime, trace)));
  }
}

TEST(Ns3Features, TheTracesOfASocketHavePaths) {
  TwoNodes two;
  LockstepHelper().Install(two.nodes);
  auto const losses = CreateObject<ReceiveListErrorModel>();
  losses->SetList({60});
  two.devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(losses));
  auto const sink = StartFlow({two.nodes.Get(0), two.nodes.Get(1), two.Remote()});
  Trace trace;
  Simulator::Schedule(MilliSeconds(101), &ConnectTraces, &trace);
  RunFor(70);
  EXPECT_EQ(sink->GetTotalRx(), kMegabyte);
  EXPECT_THAT(trace.cwnd.size(), Gt(10u));
  for (const char* name : {"SlowStartThreshold", "BytesInFlight", "RTT", "RTO"}) {
    EXPECT_THAT(trace.changes[name], Gt(0)) << name;
  }
  EXPECT_THAT(trace.states, ::testing::ElementsAre(TcpSocket::ESTABLISHED, TcpSocket::FIN_WAIT_1,
                                                   TcpSocket::TIME_WAIT));
}

void NoteDrop(std::vector<std::string>* reasons, Ptr<const Packet>, std::string reason) {
  reasons->push_back(reason);
}

TEST(Ns3Features, DropsAreTracedWithTheirReason) {
  TwoNodes two;
  LockstepHelper().Install(two.nodes.Get(1));
  // ns-3's TCP connects to a closed port.
  BulkSendHelper source(kTheirs, two.Remote());
  source.Install(two.nodes.Get(0));
  std::vector<std::string> reasons;
  LockstepHelper::GetStack(two.devices.Get(1))
      ->TraceConnectWithoutContext("Drop", MakeBoundCallback(&NoteDrop, &reasons));
  RunFor(1);
  EXPECT_THAT(reasons, ::testing::ElementsAre("tcp_closed"));
}

TEST(Ns3Features, OnOffAndPacketSinkRunOnOurSockets) {
  TwoNodes two;
  LockstepHelper().Install(two.nodes);
  PacketSinkHelper sink(kOurs, two.Remote());
  auto const sinks = sink.Install(two.nodes.Get(1));
  OnOffHelper source(kOurs, two.Remote());
  source.SetConstantRate(DataRate("1Mbps"), 500);
  source.SetAttribute("MaxBytes", UintegerValue(100'000));
  source.Install(two.nodes.Get(0));
  RunFor(30);
  EXPECT_EQ(DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx(), 100'000u);
}

// A host on a LAN uses the gateway from the node's own routes.
TEST(Ns3Features, TheGatewayIsTakenFromTheRoutesOfTheNode) {
  Scene const scene;
  NodeContainer nodes(3);
  auto const lan = JoinCsma(NodeContainer(nodes.Get(0), nodes.Get(1)));
  auto const far = JoinPointToPoint(NodeContainer(nodes.Get(1), nodes.Get(2)));
  InternetStackHelper().Install(nodes);
  Address4(lan);
  auto const addresses = Address4(far, "10.1.2.0");
  LockstepHelper lockstep;
  lockstep.Install(nodes.Get(0));
  lockstep.Install(nodes.Get(2));
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  auto const sink =
      StartFlow({nodes.Get(0), nodes.Get(2), InetSocketAddress(addresses.GetAddress(1), 5001)});
  RunFor(60);
  EXPECT_EQ(sink->GetTotalRx(), kMegabyte);
}

// So does an IPv6 host, with routes set before or after its stack was installed; the gateway is the
// router's link-local address.
TEST(Ns3Features, TheIpv6GatewayIsTakenFromTheRoutesToo) {
  for (bool const routes_first : {true, false}) {
    Scene const scene;
    NodeContainer nodes(3);
    auto const lan = JoinCsma(NodeContainer(nodes.Get(0), nodes.Get(1)));
    auto const far = JoinCsma(NodeContainer(nodes.Get(1), nodes.Get(2)));
    InternetStackHelper().Install(nodes);
    Ipv6AddressHelper addresses;  // ns-3's routers do not forward documentation addresses
    addresses.SetBase(Ipv6Address("fd00:0:0:1::"), Ipv6Prefix(64));
    auto near_side = addresses.Assign(lan);
    addresses.SetBase(Ipv6Address("fd00:0:0:2::"), Ipv6Prefix(64));
    auto far_side = addresses.Assign(far);
    auto const set_routes = [&] {
      near_side.SetForwarding(1, true);
      near_side.SetDefaultRouteInAllNodes(1);
      far_side.SetForwarding(0, true);
      far_side.SetDefaultRouteInAllNodes(0);
    };
    if (routes_first) {
      set_routes();
    }
    LockstepHelper().Install(NodeContainer(nodes.Get(0), nodes.Get(2)));
    if (!routes_first) {
      set_routes();
    }
    Flow flow{nodes.Get(0), nodes.Get(2), Inet6SocketAddress(far_side.GetAddress(1, 1), 5001)};
    flow.at = Seconds(3);  // after the router's duplicate address detection
    auto const sink = StartFlow(flow);
    RunFor(60);
    EXPECT_EQ(sink->GetTotalRx(), kMegabyte);
    auto const& config = LockstepHelper::GetStack(lan.Get(0))->Fields();
    ASSERT_EQ(config.route_count.value, 1u);
    EXPECT_EQ(config.routes[0].gateway, ToLockstep(near_side.GetLinkLocalAddress(1)));
  }
}

// The device queue holds five packets: the stack waits for room and loses nothing.
TEST(Ns3Features, AStoppedQueueBlocksTheStack) {
  Scene const scene;
  NodeContainer nodes(2);
  PointToPointHelper link;
  link.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
  link.SetChannelAttribute("Delay", StringValue("20ms"));
  link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("5p"));
  auto const devices = link.Install(nodes);
  LockstepHelper lockstep;
  lockstep.AddAddress(devices.Get(0), "10.1.1.1/24");
  lockstep.AddAddress(devices.Get(1), "10.1.1.2/24");
  auto const sink = StartFlow({nodes.Get(0), nodes.Get(1), InetSocketAddress("10.1.1.2", 5001)});
  RunFor(60);
  EXPECT_EQ(sink->GetTotalRx(), kMegabyte);
  auto const stack = LockstepHelper::GetStack(devices.Get(0));
  EXPECT_THAT(stack->GetCounters().blocked_turns, Gt(10u));
  EXPECT_EQ(stack->GetCounters().refused_by_device, 0u);
  EXPECT_EQ(stack->GetCore().statistics().tcp.retransmissions, 0u);
}

// A queue disc on our node marks packets, and both ends react to the marks.
TEST(Ns3Features, AQueueDiscMarksAndTheSenderReacts) {
  Scene const scene;
  NodeContainer nodes(2);
  PointToPointHelper link;
  link.SetDeviceAttribute("DataRate", StringValue("5Mbps"));
  link.SetChannelAttribute("Delay", StringValue("20ms"));
  link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("2p"));
  auto const devices = link.Install(nodes);
  InternetStackHelper().Install(nodes);
  TrafficControlHelper discs;
  discs.SetRootQueueDisc("ns3::CoDelQueueDisc", "UseEcn", BooleanValue(true));
  auto const installed = discs.Install(devices.Get(0));
  auto const addresses = Address4(devices);
  LockstepHelper lockstep;
  lockstep.Set("Ecn", StringValue("on"));
  lockstep.Install(nodes);
  auto const sink =
      StartFlow({nodes.Get(0), nodes.Get(1), InetSocketAddress(addresses.GetAddress(1), 5001)});
  RunFor(60);
  EXPECT_EQ(sink->GetTotalRx(), kMegabyte);
  EXPECT_THAT(installed.Get(0)->GetStats().nTotalMarkedPackets, Gt(0u))
      << installed.Get(0)->GetStats();
  auto const stack = LockstepHelper::GetStack(devices.Get(1));
  EXPECT_EQ(stack->GetCore().statistics().drops.of(lockstep::Drop::ip_checksum), 0u);
}

// A dumbbell with random losses: the captures of all interfaces, concatenated.
std::string CaptureAll(std::uint64_t run) {
  RngSeedManager::SetSeed(1);
  RngSeedManager::SetRun(run);
  auto const folder = std::filesystem::temp_directory_path() /
                      ("lockstep-ns3-" + std::to_string(::getpid()) + "-" + std::to_string(run));
  std::filesystem::create_directory(folder);
  {
    TwoNodes two;
    LockstepHelper lockstep;
    lockstep.Install(two.nodes);
    auto const losses = CreateObject<RateErrorModel>();
    losses->AssignStreams(lockstep.AssignStreams(two.nodes, 100) + 100);
    losses->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    losses->SetRate(0.01);
    two.devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(losses));
    PointToPointHelper().EnablePcapAll((folder / "all").string());
    StartFlow({two.nodes.Get(0), two.nodes.Get(1), two.Remote()});
    RunFor(30);
  }
  std::vector<std::filesystem::path> names;
  for (auto const& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path());
  }
  std::ranges::sort(names);
  std::string all;
  for (auto const& name : names) {
    std::ifstream file(name, std::ios::binary);
    all.append(std::istreambuf_iterator<char>(file), {});
  }
  EXPECT_EQ(names.size(), 2u);
  std::filesystem::remove_all(folder);
  return all;
}

TEST(Ns3Features, ARunDependsOnlyOnTheRunNumber) {
  auto const first = CaptureAll(7);
  EXPECT_GT(first.size(), kMegabyte);
  EXPECT_TRUE(first == CaptureAll(7));
  EXPECT_FALSE(first == CaptureAll(8));
}

TEST(Ns3Features, EveryFieldOfConfigIsAnAttribute) {
  auto const stack = CreateObject<LockstepStack>();
  stack->SetAttribute("ReceiveBufferMaxBytes", UintegerValue(4096));
  stack->SetAttribute("DelayedAck", TimeValue(MilliSeconds(77)));
  stack->SetAttribute("Sack", BooleanValue(false));
  stack->SetAttribute("Congestion", StringValue("reno"));
  EXPECT_EQ(stack->Fields().tcp.receive_buffer_max.count, 4096u);
  EXPECT_EQ(stack->Fields().tcp.delayed_ack.ns, 77'000'000u);
  EXPECT_FALSE(stack->Fields().tcp.sack);
  EXPECT_EQ(stack->Fields().tcp.congestion, lockstep::tcp::Congestion::reno);
  StringValue word;
  stack->GetAttribute("Congestion", word);
  EXPECT_THAT(word.Get(), StrEq("reno"));
  // Out of range, and not a valid choice: refused, and nothing changes.
  EXPECT_FALSE(stack->SetAttributeFailSafe("DuplicateAcks", UintegerValue(0)));
  EXPECT_FALSE(stack->SetAttributeFailSafe("Congestion", StringValue("vegas")));
  EXPECT_EQ(stack->Fields().tcp.duplicate_acks.value, 3u);
}

// A socket that is still held after the simulation reports that it has no connection.
TEST(Ns3Features, ASocketOutlivesTheSimulation) {
  auto two = std::make_unique<TwoNodes>();
  LockstepHelper().Install(two->nodes);
  PacketSinkHelper sink(kOurs, two->Remote());
  sink.Install(two->nodes.Get(1));
  BulkSendHelper source(kOurs, two->Remote());
  source.SetAttribute("MaxBytes", UintegerValue(50 * kMegabyte));
  auto const sources = source.Install(two->nodes.Get(0));
  auto const listener = Socket::CreateSocket(two->nodes.Get(1), TypeId::LookupByName(kOurs));
  ASSERT_EQ(listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), 80)), 0);
  ASSERT_EQ(listener->Listen(), 0);
  RunFor(1);
  auto const socket =
      DynamicCast<LockstepSocket>(DynamicCast<BulkSendApplication>(sources.Get(0))->GetSocket());
  EXPECT_TRUE(socket->Inspect().exists);
  Address const remote = two->Remote();
  two.reset();  // Simulator::Destroy()
  Address name;
  EXPECT_EQ(socket->GetTxAvailable(), 0u);
  EXPECT_EQ(socket->GetRxAvailable(), 0u);
  EXPECT_EQ(socket->GetSockName(name), 0);
  EXPECT_EQ(InetSocketAddress::ConvertFrom(name).GetIpv4(), Ipv4Address("10.1.1.1"));
  EXPECT_EQ(socket->GetPeerName(name), -1);
  EXPECT_FALSE(socket->Inspect().exists);
  EXPECT_EQ(socket->Send(Create<Packet>(10)), -1);
  EXPECT_EQ(socket->Connect(remote), -1);
  EXPECT_EQ(socket->ShutdownSend(), 0);
  EXPECT_EQ(socket->Close(), 0);
  socket->Abort();
  EXPECT_EQ(listener->Close(), 0);
  EXPECT_EQ(listener->Listen(), -1);
}

using Ns3FeaturesDeathTest = ::testing::Test;

TEST(Ns3FeaturesDeathTest, UsingAStackAfterDestroyAborts) {
  Ptr<LockstepStack> stack;
  {
    TwoNodes two;
    LockstepHelper().Install(two.nodes);
    stack = LockstepHelper::GetStack(two.devices.Get(0));
    RunFor(1);
  }
  EXPECT_GT(stack->GetCounters().turns, 0u);
  stack->Kick();
  EXPECT_DEATH(stack->GetCore(), HasSubstr("is over: read its state before Sim"));
}

TEST(Ns3FeaturesDeathTest, AnAttributeOutOfRangeIsNamed) {
  LockstepHelper lockstep;
  lockstep.Set("DuplicateAcks", UintegerValue(0));
  NodeContainer nodes(2);
  auto const devices = JoinPointToPoint(nodes);
  EXPECT_DEATH(lockstep.Install(devices.Get(0)), HasSubstr("DuplicateAcks"));
  Simulator::Destroy();
}

TEST(Ns3FeaturesDeathTest, TwoStacksOnOneDeviceAreRefused) {
  TwoNodes two;
  LockstepHelper().Install(two.nodes);
  EXPECT_DEATH(LockstepHelper().Install(two.nodes.Get(0)),
               HasSubstr("device 0 of node 0 has a LockstepStack already: two stacks on one"));
}

TEST(Ns3FeaturesDeathTest, AnMtuTooSmallForIpv6IsNamed) {
  Scene const scene;
  NodeContainer nodes(2);
  auto const devices = JoinPointToPoint(nodes);
  devices.Get(0)->SetMtu(1000);
  LockstepHelper().AddAddress(devices.Get(0), "2001:db8::1/64");
  EXPECT_DEATH(RunFor(1), HasSubstr("the attribute Mtu of device 0 of node 0 is 1000: IPv6 needs"));
}

TEST(Ns3FeaturesDeathTest, ATopologyWithoutARouteIsNamed) {
  Scene const scene;
  NodeContainer nodes(2);
  auto const devices = JoinCsma(nodes);
  LockstepHelper().AddAddress(devices.Get(0), "10.1.1.1/24");
  auto const source = CreateObject<LockstepBulkSend>();
  source->SetAttribute("Remote", AddressValue(InetSocketAddress("10.9.9.9", 5001)));
  nodes.Get(0)->AddApplication(source);
  EXPECT_DEATH(RunFor(1), HasSubstr("no route from node 0 to 10.9.9.9: set one with"));
}

TEST(Ns3FeaturesDeathTest, ADeviceWithoutAnAddressIsNamed) {
  Scene const scene;
  NodeContainer nodes(2);
  auto const devices = JoinPointToPoint(nodes);
  EXPECT_DEATH(LockstepHelper().Install(nodes.Get(0)), HasSubstr("has no address"));
}

}  // namespace
}  // namespace ns3::testing
