// Two or three nodes for the tests: devices, addresses, and received data.
#pragma once

#include <ns3/application-container.h>
#include <ns3/bulk-send-helper.h>
#include <ns3/csma-helper.h>
#include <ns3/inet-socket-address.h>
#include <ns3/inet6-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-address-helper.h>
#include <ns3/ipv4-global-routing-helper.h>
#include <ns3/ipv6-address-helper.h>
#include <ns3/net-device-container.h>
#include <ns3/node-container.h>
#include <ns3/packet-sink-helper.h>
#include <ns3/packet-sink.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/uinteger.h>

#include <cstdint>
#include <string>

#include "core/stack/statistics.hpp"
#include "sim/ns3/helper.hpp"
#include "sim/ns3/stack.hpp"

namespace ns3::testing {

inline constexpr const char* kOurs = "ns3::LockstepSocketFactory";
inline constexpr const char* kTheirs = "ns3::TcpSocketFactory";
inline constexpr std::uint64_t kMegabyte = 1'000'000;

/// Restores the simulator's global state at its end.
struct Scene {
  Scene() = default;
  ~Scene() { Simulator::Destroy(); }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
};

inline NetDeviceContainer JoinPointToPoint(const NodeContainer& nodes,
                                           const std::string& rate = "10Mbps",
                                           const std::string& delay = "5ms") {
  PointToPointHelper link;
  link.SetDeviceAttribute("DataRate", StringValue(rate));
  link.SetChannelAttribute("Delay", StringValue(delay));
  return link.Install(nodes);
}

inline NetDeviceContainer JoinCsma(const NodeContainer& nodes) {
  CsmaHelper link;
  link.SetChannelAttribute("DataRate", StringValue("100Mbps"));
  link.SetChannelAttribute("Delay", StringValue("10us"));
  return link.Install(nodes);
}

inline Ipv4InterfaceContainer Address4(const NetDeviceContainer& devices,
                                       const char* network = "10.1.1.0") {
  Ipv4AddressHelper addresses;
  addresses.SetBase(network, "255.255.255.0");
  return addresses.Assign(devices);
}

/// Transfers `bytes` from one node to a port of the other, with the named kinds of sockets.
struct Flow {
  Ptr<Node> from;
  Ptr<Node> to;
  Address remote;  // including the port
  const char* sender = kOurs;
  const char* receiver = kOurs;
  std::uint64_t bytes = kMegabyte;
  Time at = MilliSeconds(100);
};

inline Ptr<PacketSink> StartFlow(const Flow& flow) {
  PacketSinkHelper sink(flow.receiver, flow.remote);
  auto const sinks = sink.Install(flow.to);
  BulkSendHelper source(flow.sender, flow.remote);
  source.SetAttribute("MaxBytes", UintegerValue(flow.bytes));
  auto sources = source.Install(flow.from);
  sources.Start(flow.at);
  return DynamicCast<PacketSink>(sinks.Get(0));
}

/// Two nodes on a point-to-point link with addresses; the test installs our stack.
struct TwoNodes {
  explicit TwoNodes(const std::string& rate = "10Mbps", const std::string& delay = "5ms")
      : devices(JoinPointToPoint(nodes, rate, delay)) {
    InternetStackHelper().Install(nodes);
    addresses = Address4(devices);
  }
  Address Remote() const { return InetSocketAddress(addresses.GetAddress(1), 5001); }

  Scene scene;
  NodeContainer nodes{2};
  NetDeviceContainer devices;
  Ipv4InterfaceContainer addresses;
};

}  // namespace ns3::testing
