// Web server and clients on ns-3 nodes: responses arrive intact, also over loss; errors are one
// line.
#include "tools/lib/ns3_http/applications.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ns3/error-model.h>
#include <ns3/pointer.h>

#include <vector>

#include "sim/ns3/scene_kit.hpp"

namespace ns3::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A server at one end of a link and a client at the other, both directly on the core.
struct Web {
  explicit Web(int version = 4) : devices(JoinPointToPoint(nodes)) {
    LockstepHelper lockstep;
    lockstep.AddAddress(devices.Get(0), version == 4 ? "10.1.1.1/24" : "2001:db8::1/64");
    lockstep.AddAddress(devices.Get(1), version == 4 ? "10.1.1.2/24" : "2001:db8::2/64");
    nodes.Get(1)->AddApplication(server);
    nodes.Get(0)->AddApplication(client);
    client->SetAttribute("Remote",
                         AddressValue(version == 4 ? Address(InetSocketAddress("10.1.1.2", 80))
                                                   : Inet6SocketAddress("2001:db8::2", 80)));
  }
  void Run(double seconds) {
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
  }

  Scene scene;
  NodeContainer nodes{2};
  NetDeviceContainer devices;
  Ptr<LockstepHttpServer> server = CreateObject<LockstepHttpServer>();
  Ptr<LockstepHttpClient> client = CreateObject<LockstepHttpClient>();
};

class Ns3Http : public ::testing::TestWithParam<int> {};

TEST_P(Ns3Http, EveryAnswerArrivesWholeOverLosses) {
  Web web(GetParam());
  auto const losses = CreateObject<ReceiveListErrorModel>();
  losses->SetList({2, 30, 31, 200});
  web.devices.Get(0)->SetAttribute("ReceiveErrorModel", PointerValue(losses));
  web.client->SetAttribute("Path", StringValue("/bytes/50000"));
  web.client->SetAttribute("Requests", UintegerValue(20));
  web.client->SetAttribute("Connections", UintegerValue(4));
  web.client->SetAttribute("RequestsPerConnection", UintegerValue(2));
  web.Run(60);
  EXPECT_TRUE(web.client->IsFinished());
  EXPECT_EQ(web.client->GetAnswered(), 20u);
  EXPECT_EQ(web.client->GetFailed(), 0u);
  EXPECT_EQ(web.client->GetBodyOctets(), 20u * 50'000);
  EXPECT_EQ(web.server->GetRequests(), 20u);
  EXPECT_GE(web.server->GetConnections(), 10u);
  EXPECT_EQ(web.server->GetBodyOctets(), 20u * 50'000);
  // 400,000 bits at 10 Mbit/s take 40 ms, plus a round trip of 10 ms.
  EXPECT_GT(web.client->GetLatency(50), MilliSeconds(50));
  EXPECT_GE(web.client->GetLatency(100), web.client->GetLatency(50));
}

INSTANTIATE_TEST_SUITE_P(Versions, Ns3Http, ::testing::Values(4, 6));

void Note(std::vector<std::uint64_t>* seen, std::uint64_t, std::uint64_t now) {
  seen->push_back(now);
}

TEST(Ns3Http, EachAnswerIsTraced) {
  Web web;
  web.client->SetAttribute("Requests", UintegerValue(3));
  std::vector<std::uint64_t> answered;
  std::vector<std::uint64_t> served;
  web.client->TraceConnectWithoutContext("Answered", MakeBoundCallback(&Note, &answered));
  web.server->TraceConnectWithoutContext("Served", MakeBoundCallback(&Note, &served));
  web.Run(30);
  EXPECT_THAT(answered, ElementsAre(1, 2, 3));
  EXPECT_THAT(served, ElementsAre(1, 2, 3));
}

TEST(Ns3Http, APageIsServed) {
  Web web;
  ASSERT_TRUE(web.server->AddPage("/hello", "good day"));
  EXPECT_FALSE(web.server->AddPage("/hello", "again"));
  web.client->SetAttribute("Path", StringValue("/hello"));
  web.Run(30);
  EXPECT_EQ(web.client->GetAnswered(), 1u);
  EXPECT_EQ(web.client->GetBodyOctets(), 8u);
}

TEST(Ns3Http, AMissingPageIsAFailure) {
  Web web;
  web.client->SetAttribute("Path", StringValue("/nowhere"));
  std::vector<std::uint64_t> failed;
  web.client->TraceConnectWithoutContext("Failed", MakeBoundCallback(&Note, &failed));
  web.Run(30);
  EXPECT_THAT(failed, ElementsAre(1));
  EXPECT_EQ(web.client->GetAnswered(), 0u);
  EXPECT_EQ(web.client->GetFailed(), 1u);
  EXPECT_EQ(web.server->GetRequests(), 1u);
}

// Sockets of other applications on the same stacks still work.
TEST(Ns3Http, SocketsWorkBesideIt) {
  Web web;
  auto const sink =
      StartFlow({web.nodes.Get(0), web.nodes.Get(1), InetSocketAddress("10.1.1.2", 5001)});
  web.client->SetAttribute("Requests", UintegerValue(5));
  web.Run(60);
  EXPECT_EQ(sink->GetTotalRx(), kMegabyte);
  EXPECT_EQ(web.client->GetAnswered(), 5u);
}

TEST(Ns3HttpDeathTest, WhatIsWrongIsALine) {
  {
    Web web;
    web.client->SetAttribute("Path", StringValue("hello"));
    EXPECT_DEATH(web.Run(1), HasSubstr("the attribute Path is 'hello': it begins with /"));
  }
  {
    Web web;
    auto const second = CreateObject<LockstepHttpServer>();
    second->SetAttribute("Port", UintegerValue(8080));
    web.nodes.Get(1)->AddApplication(second);
    EXPECT_DEATH(web.Run(1),
                 HasSubstr("device 0 of node 1 has an application on the core already"));
  }
  {
    Scene const scene;
    NodeContainer nodes(1);
    nodes.Get(0)->AddApplication(CreateObject<LockstepHttpServer>());
    EXPECT_DEATH(
        {
          Simulator::Stop(Seconds(1));
          Simulator::Run();
        },
        HasSubstr("LockstepHttpServer: node 0 has no LockstepStack: use LockstepHelper::Install"));
  }
}

}  // namespace
}  // namespace ns3::testing
