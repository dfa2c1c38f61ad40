// A dumbbell (four hosts, two switches and a bottleneck that drops) sends the same frames at the
// same nanosecond in our simulator and in ns-3.
#include <gtest/gtest.h>
#include <ns3/bridge-helper.h>
#include <ns3/drop-tail-queue.h>
#include <ns3/error-model.h>
#include <ns3/mac48-address.h>
#include <ns3/pointer.h>
#include <ns3/simple-channel.h>
#include <ns3/simple-net-device.h>

#include <algorithm>
#include <array>
#include <list>
#include <string>
#include <vector>

#include "sim/kernel/kernel.hpp"
#include "sim/ns3/applications.hpp"
#include "sim/ns3/scene_kit.hpp"
#include "sim/ns3/worlds_kit.hpp"
#include "sim/worlds/build.hpp"

namespace ns3::testing {
namespace {

using lockstep::Duration;
using lockstep::sim::NodeKind;

constexpr std::uint32_t host_count = 4;  // hosts 0 and 1 send to hosts 2 and 3
constexpr std::array<const char*, host_count> names{"a", "b", "c", "d"};
constexpr std::uint32_t ethernet_header = 14;

struct Scenario {
  std::uint64_t access_bits_per_second = 100'000'000;
  std::uint64_t bottleneck_bits_per_second = 10'000'000;
  std::uint64_t delay_us = 10'000;  // of the bottleneck; an access link has 1 ms
  std::uint32_t queue = 20;         // frames queued at the bottleneck, without the one being sent
  std::uint64_t bytes = 400'000;    // of each flow
  std::list<std::uint32_t> lost;    // frames after the bottleneck, counted from 0
  void (*change)(lockstep::Config&) = nullptr;
};

lockstep::Config ConfigOf(const Scenario& scenario, std::uint32_t host) {
  auto const last = static_cast<std::uint8_t>(host + 1);
  lockstep::Config config;
  if (scenario.change != nullptr) {
    scenario.change(config);
  }
  config.mac.octets = {0x02, 0, 0, 0, 0, last};
  config.addresses[0] = {lockstep::IpAddress::v4(10, 0, 0, last), 24};
  config.address_count = {1};
  lockstep::draw_keys(config, lockstep::entropy_of(lockstep::Random(last)));
  return config;
}

lockstep::sim::LaneSpec LaneOf(std::uint64_t bits_per_second, std::uint64_t delay_us) {
  lockstep::sim::LaneSpec lane;
  lane.rate_bits_per_second = bits_per_second;
  lane.delay = Duration::microseconds(delay_us);
  return lane;
}

lockstep::sim::World OurDumbbell(const Scenario& scenario, std::uint32_t queue_packets) {
  lockstep::sim::World world;
  world.switches = {{"left"}, {"right"}};
  auto const access = LaneOf(scenario.access_bits_per_second, 1'000);
  for (std::uint32_t i = 0; i < host_count; ++i) {
    auto host = lockstep::sim::plain_host(names[i], static_cast<std::uint8_t>(i + 1));
    host.config = ConfigOf(scenario, i);
    host.transmit_ring = 4096;
    world.hosts.push_back(host);
    world.links.push_back(
        {host.name, {NodeKind::host, i}, {NodeKind::learning_switch, i / 2}, access, access});
  }
  auto const wire = LaneOf(scenario.bottleneck_bits_per_second, scenario.delay_us);
  world.links.push_back(
      {"bottleneck", {NodeKind::learning_switch, 0}, {NodeKind::learning_switch, 1}, wire, wire});
  world.links.back().forward.queue_packets = queue_packets;
  for (std::uint32_t i = 0; i < 2; ++i) {
    auto app = lockstep::sim::app_of("bulk", scenario.bytes);
    app.name = i == 0 ? "first" : "second";
    app.client = {i};
    app.server = {i + 2};
    app.port = {5001};
    app.start = Duration::milliseconds(50 * i);
    world.apps.push_back(app);
  }
  return world;
}

std::vector<Sighting> RunOurs(const Scenario& scenario, std::uint32_t queue_packets) {
  return RunWorld(OurDumbbell(scenario, queue_packets), host_count, scenario.lost);
}

// SimpleNetDevice computes the transmission time of a packet without its link header. This device
// appends the 14 octets of Ethernet to each packet on the wire, and removes them on receipt.
class EthernetDevice : public SimpleNetDevice {
 public:
  explicit EthernetDevice(bool counted) : counted_(counted) {}
  bool Send(Ptr<Packet> packet, const Address& to, std::uint16_t protocol) override {
    return SendFrom(packet, GetAddress(), to, protocol);
  }
  bool SendFrom(Ptr<Packet> packet, const Address& from, const Address& to,
                std::uint16_t protocol) override {
    auto const framed = packet->Copy();
    framed->AddPaddingAtEnd(counted_ ? ethernet_header : 0);
    framing_ = true;
    bool const sent = SimpleNetDevice::SendFrom(framed, from, to, protocol);
    framing_ = false;
    return sent;
  }
  // The MTU that the base class checks must include the header as well.
  std::uint16_t GetMtu() const override {
    return static_cast<std::uint16_t>(SimpleNetDevice::GetMtu() + (framing_ ? ethernet_header : 0));
  }
  void SetReceiveCallback(ReceiveCallback) override {}  // the promiscuous one gets everything
  void SetPromiscReceiveCallback(PromiscReceiveCallback callback) override {
    callback_ = callback;
    SimpleNetDevice::SetReceiveCallback(MakeCallback(&EthernetDevice::Mute, this));
    SimpleNetDevice::SetPromiscReceiveCallback(MakeCallback(&EthernetDevice::Unframe, this));
  }

 private:
  bool Mute(Ptr<NetDevice>, Ptr<const Packet>, std::uint16_t, const Address&) { return true; }
  bool Unframe(Ptr<NetDevice> device, Ptr<const Packet> packet, std::uint16_t protocol,
               const Address& from, const Address& to, PacketType type) {
    auto const bare = packet->Copy();
    bare->RemoveAtEnd(counted_ ? ethernet_header : 0);
    return callback_(device, bare, protocol, from, to, type);
  }

  bool counted_;
  bool framing_ = false;
  PromiscReceiveCallback callback_;
};

struct Wire {
  std::uint64_t bits_per_second = 0;
  std::uint64_t delay_us = 0;
  std::uint32_t queue = 100'000;  // in packets, of the access links
  bool counted = true;
};

NetDeviceContainer Join(Ptr<Node> a, Ptr<Node> b, const Wire& wire) {
  auto const channel = CreateObject<SimpleChannel>();
  channel->SetAttribute("Delay", TimeValue(MicroSeconds(wire.delay_us)));
  NetDeviceContainer devices;
  for (auto const& node : {a, b}) {
    auto const device = CreateObject<EthernetDevice>(wire.counted);
    device->SetAttribute("DataRate", DataRateValue(DataRate(wire.bits_per_second)));
    auto const queue = CreateObject<DropTailQueue<Packet>>();
    queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, node == a ? wire.queue : 100'000));
    device->SetQueue(queue);
    device->SetAddress(Mac48Address::Allocate());
    device->SetMtu(1500);
    device->SetChannel(channel);
    node->AddDevice(device);
    devices.Add(device);
  }
  return devices;
}

void StartFlow(const Scenario& scenario, const NodeContainer& hosts, std::uint32_t flow) {
  InetSocketAddress const remote(Ipv4Address(("10.0.0." + std::to_string(flow + 3)).c_str()), 5001);
  auto const source = CreateObject<LockstepBulkSend>();
  source->SetAttribute("Remote", AddressValue(remote));
  source->SetAttribute("MaxBytes", UintegerValue(scenario.bytes));
  source->SetAttribute("Text", UintegerValue(2 * flow));
  source->SetStartTime(MilliSeconds(50 * flow));
  hosts.Get(flow)->AddApplication(source);
  auto const sink = CreateObject<LockstepSink>();
  sink->SetAttribute("Local", AddressValue(remote));
  sink->SetAttribute("Text", UintegerValue(2 * flow));
  hosts.Get(flow + 2)->AddApplication(sink);
}

std::vector<Sighting> RunInNs3(const Scenario& scenario, bool counted = true) {
  Scene const scene;
  NodeContainer hosts(host_count);
  NodeContainer switches(2);
  NetDeviceContainer ends;
  std::vector<NetDeviceContainer> ports(2);
  for (std::uint32_t i = 0; i < host_count; ++i) {
    auto const devices = Join(hosts.Get(i), switches.Get(i / 2),
                              {scenario.access_bits_per_second, 1'000, 100'000, counted});
    ends.Add(devices.Get(0));
    ports[i / 2].Add(devices.Get(1));
  }
  auto const wire =
      Join(switches.Get(0), switches.Get(1),
           {scenario.bottleneck_bits_per_second, scenario.delay_us, scenario.queue, counted});
  for (std::uint32_t i = 0; i < 2; ++i) {
    ports[i].Add(wire.Get(i));
    BridgeHelper().Install(switches.Get(i), ports[i]);
  }
  if (!scenario.lost.empty()) {
    auto const losses = CreateObject<ReceiveListErrorModel>();
    losses->SetList(scenario.lost);
    wire.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(losses));
  }
  std::vector<Sighting> seen;
  for (std::uint32_t i = 0; i < host_count; ++i) {
    ends.Get(i)->SetAddress(Mac48Address(("02:00:00:00:00:0" + std::to_string(i + 1)).c_str()));
    auto const stack = LockstepHelper().Install(ends.Get(i));
    stack->Fields() = ConfigOf(scenario, i);
    stack->KeepKeys();
    stack->TraceConnectWithoutContext("Tx", MakeBoundCallback(&NoteSighting, &seen, i));
  }
  StartFlow(scenario, hosts, 0);
  StartFlow(scenario, hosts, 1);
  Simulator::Stop(Seconds(300));
  Simulator::Run();
  return seen;
}

// Our run ends with its last flow; ns-3's continues with neighbour probes, which are removed here.
std::vector<Sighting> UntilTheEndOf(const std::vector<Sighting>& ours,
                                    std::vector<Sighting> theirs) {
  std::erase_if(theirs, [&](const auto& each) { return each.ns > ours.back().ns; });
  return theirs;
}

// ns-3 traces a packet without its link header.
std::vector<Sighting> WithoutHeaders(std::vector<Sighting> all) {
  for (auto& each : all) {
    each.bytes.erase(each.bytes.begin(), each.bytes.begin() + ethernet_header);
  }
  return all;
}

// Delayed ACKs are due at the very nanosecond at which the next segment arrives.
Scenario Tied() {
  Scenario scenario;
  scenario.lost = {12, 60, 61};
  scenario.delay_us = 50'000;
  scenario.queue = 60;
  return scenario;
}

std::vector<Scenario> Scenarios() {
  std::vector<Scenario> all(5);
  all[1].lost = {20, 21, 40, 90, 200};
  all[2] = Tied();
  all[3].change = [](lockstep::Config& config) {
    config.tcp.congestion = lockstep::tcp::Congestion::reno;
    config.tcp.pacing = true;
  };
  all[4].queue = 5;
  all[4].lost = {7, 33};
  return all;
}

// ns-3's queue does not count the packet being sent, so our queue limit is one larger.
TEST(Ns3Dumbbell, SendsTheSameFramesAtTheSameNanosecond) {
  for (auto const& scenario : Scenarios()) {
    auto const ours = RunOurs(scenario, scenario.queue + 1);
    ExpectAlike(WithoutHeaders(ours), UntilTheEndOf(ours, RunInNs3(scenario)), host_count);
    EXPECT_GT(ours.size(), 800u);
  }
}

bool IsSame(const Sighting& a, const Sighting& b) { return a.ns == b.ns && a.bytes == b.bytes; }

TEST(Ns3Dumbbell, EachOfTheTwoRulesIsNeeded) {
  Scenario const scenario = Scenarios()[0];
  auto const whole = RunOurs(scenario, scenario.queue + 1);
  auto const theirs = UntilTheEndOf(whole, RunInNs3(scenario));
  auto const bare = UntilTheEndOf(whole, RunInNs3(scenario, false));
  for (std::uint32_t host = 0; host < 2; ++host) {
    auto const of = [&](std::uint32_t queue_packets) {
      return OfHost(WithoutHeaders(RunOurs(scenario, queue_packets)), host);
    };
    EXPECT_TRUE(std::ranges::equal(of(scenario.queue + 1), OfHost(theirs, host), IsSame)) << host;
    EXPECT_FALSE(std::ranges::equal(of(scenario.queue), OfHost(theirs, host), IsSame)) << host;
    EXPECT_FALSE(std::ranges::equal(of(scenario.queue + 1), OfHost(bare, host), IsSame)) << host;
  }
}

}  // namespace
}  // namespace ns3::testing
