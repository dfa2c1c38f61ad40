// The stack on ns-3 nodes: with itself and with ns-3's TCP, on each kind of device.
#include "sim/ns3/stack.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "sim/ns3/scene_kit.hpp"

namespace ns3::testing {
namespace {

// Where our stack is (1: the sender, 2: the receiver, 3: both), the device, the IP version.
using Kinds = std::tuple<int, std::string, int>;

class Ns3Pairs : public ::testing::TestWithParam<Kinds> {};

// All data arrives with either stack as sender and receiver, using ns-3's own applications.
TEST_P(Ns3Pairs, AMegabyteArrives) {
  Scene const scene;
  auto const& [ours, device, version] = GetParam();
  bool const ours_sends = (ours & 1) != 0;
  bool const ours_receives = (ours & 2) != 0;
  NodeContainer nodes(2);
  auto const devices = device == "csma" ? JoinCsma(nodes) : JoinPointToPoint(nodes);
  InternetStackHelper().Install(nodes);
  Address remote;
  if (version == 4) {
    remote = InetSocketAddress(Address4(devices).GetAddress(1), 5001);
  } else {
    Ipv6AddressHelper addresses;
    addresses.SetBase(Ipv6Address("2001:db8::"), Ipv6Prefix(64));
    remote = Inet6SocketAddress(addresses.Assign(devices).GetAddress(1, 1), 5001);
  }
  if (ours_sends) {
    LockstepHelper().Install(nodes.Get(0));
  }
  if (ours_receives) {
    LockstepHelper().Install(nodes.Get(1));
  }
  Flow flow{nodes.Get(0), nodes.Get(1), remote, ours_sends ? kOurs : kTheirs,
            ours_receives ? kOurs : kTheirs};
  flow.at = Seconds(3);  // after duplicate address detection on both
  auto const sink = StartFlow(flow);
  Simulator::Stop(Seconds(60));
  Simulator::Run();
  EXPECT_EQ(sink->GetTotalRx(), kMegabyte);
  for (std::uint32_t i = 0; i < 2; ++i) {
    auto const stack = LockstepHelper::GetStack(devices.Get(i));
    if (stack != nullptr) {
      EXPECT_EQ(stack->GetCounters().refused_by_device, 0u);
      EXPECT_EQ(stack->GetCore().statistics().drops.of(lockstep::Drop::tcp_checksum), 0u);
      EXPECT_EQ(stack->GetCore().statistics().tcp.connections_opened, 1u);
    }
  }
}

// Without ns-3's TCP on both sides.
INSTANTIATE_TEST_SUITE_P(All, Ns3Pairs,
                         ::testing::Combine(::testing::Values(1, 2, 3),
                                            ::testing::Values("p2p", "csma"),
                                            ::testing::Values(4, 6)));

}  // namespace
}  // namespace ns3::testing
