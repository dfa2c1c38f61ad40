// Attributes and drops: bad values are refused with a message; a drop is reported for the right
// packet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ns3/boolean.h>
#include <ns3/config.h>
#include <ns3/error-model.h>
#include <ns3/integer.h>
#include <ns3/pointer.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sim/ns3/applications.hpp"
#include "sim/ns3/scene_kit.hpp"

namespace ns3::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void RunUntil(double seconds) {
  Simulator::Stop(Seconds(seconds) - Simulator::Now());
  Simulator::Run();
}

using Ns3AttributesDeathTest = ::testing::Test;

TEST(Ns3AttributesDeathTest, AnInvalidChoiceListsTheChoices) {
  std::string const line = "the attribute Congestion is 'vegas': it is one of ";
  EXPECT_FALSE(Config::SetDefaultFailSafe("ns3::LockstepStack::Congestion", StringValue("vegas")));
  EXPECT_DEATH(Config::SetDefault("ns3::LockstepStack::Congestion", StringValue("vegas")),
               HasSubstr(line));
  EXPECT_DEATH(CreateObject<LockstepStack>()->SetAttribute("Congestion", StringValue("vegas")),
               ::testing::AllOf(HasSubstr(line), HasSubstr("cubic"), HasSubstr("reno")));
  Config::SetDefault("ns3::LockstepStack::Congestion", StringValue("reno"));
  EXPECT_EQ(CreateObject<LockstepStack>()->Fields().tcp.congestion,
            lockstep::tcp::Congestion::reno);
  Config::SetDefault("ns3::LockstepStack::Congestion", StringValue("cubic"));
}

TEST(Ns3AttributesDeathTest, AnAttributeSetWhileTheStackRunsIsRefused) {
  TwoNodes link;
  LockstepHelper().Install(link.nodes);
  RunUntil(1);
  auto const stack = LockstepHelper::GetStack(link.devices.Get(0));
  std::string const path = "/NodeList/*/$ns3::LockstepHost/StackList/*/";
  EXPECT_DEATH(Config::Set(path + "Congestion", StringValue("reno")),
               HasSubstr("the attribute Congestion of device 0 of node 0 is set too late: "
                         "the stack has begun to run"));
  EXPECT_DEATH(Config::Set(path + "ReceiveBufferBytes", UintegerValue(4096)),
               HasSubstr("the attribute ReceiveBufferBytes of device 0 of node 0 is set too late"));
  EXPECT_FALSE(stack->SetAttributeFailSafe("UseQueueDisc", BooleanValue(false)));
  EXPECT_FALSE(stack->SetAttributeFailSafe("Stream", IntegerValue(7)));
  StringValue word;
  stack->GetAttribute("Congestion", word);
  EXPECT_EQ(word.Get(), "cubic");
  IntegerValue stream;
  stack->GetAttribute("Stream", stream);
  EXPECT_EQ(stream.Get(), -1);
}

TEST(Ns3AttributesDeathTest, AnInvalidAddressIsReported) {
  Scene const scene;
  NodeContainer nodes(2);
  auto const device = JoinPointToPoint(nodes).Get(0);
  for (const char* wrong : {"2001:db8::zz/64", "10.1.1.1/24x", "10.1.1.1/", "10.1.1.1", "10.1.1/24",
                            "10.1.1.1/33", "2001:db8::1/129", "/24", "", "10.1.1.256/24"}) {
    EXPECT_DEATH(LockstepHelper().AddAddress(device, wrong),
                 HasSubstr("AddAddress: '" + std::string(wrong) +
                           "' is not an address with "
                           "a prefix length, like 10.1.1.1/24"));
  }
  LockstepHelper().AddAddress(device, "10.1.1.1/24");
  auto const stack = LockstepHelper().AddAddress(device, "2001:db8::a:1/64");
  EXPECT_EQ(stack->Fields().addresses[0].address.as_v4().value, 0x0a01'0101u);
  EXPECT_EQ(stack->Fields().addresses[1].address.high, 0x2001'0db8'0000'0000u);
  EXPECT_EQ(stack->Fields().addresses[1].address.low, 0x0000'0000'000a'0001u);
  EXPECT_EQ(stack->Fields().addresses[1].prefix_bits, 64u);
}

TEST(Ns3AttributesDeathTest, SendingToPortZeroIsRefused) {
  TwoNodes link;
  LockstepHelper().Install(link.nodes);
  auto const source = CreateObject<LockstepBulkSend>();
  source->SetAttribute("Remote", AddressValue(InetSocketAddress("10.1.1.2", 0)));
  link.nodes.Get(0)->AddApplication(source);
  EXPECT_DEATH(RunUntil(1), HasSubstr("on node 0 has the port 0: no socket can listen there"));
}

// 1460 is the default of the core, but not what a device with an MTU of 9000 octets would use.
TEST(Ns3Attributes, AnMssThatIsSetIsUsed) {
  for (auto const& [set, used] : {std::pair{0u, 8960u}, {1460u, 1460u}, {536u, 536u}}) {
    for (const char* profile : {"default", "linux"}) {
      TwoNodes link;
      link.devices.Get(0)->SetMtu(9000);
      LockstepHelper lockstep;
      lockstep.SetProfile(profile);
      if (set != 0) {
        lockstep.Set("Mss", UintegerValue(set));
      }
      lockstep.Install(link.nodes.Get(0));
      RunUntil(1);
      UintegerValue mss;
      LockstepHelper::GetStack(link.devices.Get(0))->GetAttribute("Mss", mss);
      EXPECT_EQ(mss.Get(), used) << profile;
    }
  }
}

struct Died {
  double at_s;
  std::uint32_t size;
  std::string reason;
  bool operator==(const Died&) const = default;
};

void NoteDied(std::vector<Died>* died, Ptr<const Packet> packet, std::string reason) {
  died->push_back({Simulator::Now().GetSeconds(), packet->GetSize(), reason});
}

// Two connects to a closed port are dropped before a trace sink is connected; a valid one follows.
TEST(Ns3Attributes, ALateTraceSinkGetsNoEarlierDrops) {
  TwoNodes link;
  LockstepHelper().Install(link.nodes.Get(1));
  BulkSendHelper deaf(kTheirs, InetSocketAddress(link.addresses.GetAddress(1), 9));
  deaf.SetAttribute("MaxBytes", UintegerValue(1));
  deaf.Install(link.nodes.Get(0)).Start(Seconds(0.1));
  RunUntil(1);
  auto const stack = LockstepHelper::GetStack(link.devices.Get(1));
  EXPECT_GE(stack->GetCore().statistics().drops.of(lockstep::Drop::tcp_closed), 1u);
  std::vector<Died> died;
  stack->TraceConnectWithoutContext("Drop", MakeBoundCallback(&NoteDied, &died));
  Flow flow{link.nodes.Get(0), link.nodes.Get(1), link.Remote(), kTheirs};
  flow.bytes = 10'000;
  flow.at = Seconds(0.1);
  auto const sink = StartFlow(flow);
  RunUntil(5);
  EXPECT_EQ(sink->GetTotalRx(), 10'000u);
  EXPECT_THAT(died, ElementsAre());
}

}  // namespace
}  // namespace ns3::testing
