// Ready-made ns-3 networks: nodes, links, the bottleneck, and addresses.
#pragma once

#include <ns3/ipv4-address.h>
#include <ns3/net-device-container.h>
#include <ns3/node-container.h>
#include <ns3/ptr.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::tools {

inline constexpr std::array<std::string_view, 6> topology_names = {
    "dumbbell", "parking-lot", "lan", "wifi", "lossy", "datacenter"};

/// The settings of a network. Empty strings and negative numbers: the topology's defaults.
struct TopologySettings {
  std::string name = "dumbbell";
  std::uint32_t pairs = 2;  ///< of hosts, with one flow each
  std::string rate;         ///< of the bottleneck, in ns-3's notation: 10Mbps
  std::string delay;        ///< of the bottleneck: 20ms
  std::uint32_t queue = 0;  ///< packets that the bottleneck's queue can hold
  std::string disc;         ///< none, codel, fqcodel, red (a step), red1993, pie, pfifo
  bool ecn = false;         ///< the queue disc marks instead of dropping
  double loss = -1;         ///< probability of losing a packet after the bottleneck
};

/// A sender and a receiver.
struct Pair {
  ns3::Ptr<ns3::Node> from;
  ns3::Ptr<ns3::Node> to;
  ns3::Ipv4Address address;  ///< of the receiver
};

struct Topology {
  std::vector<Pair> pairs;
  ns3::NodeContainer hosts;
  ns3::NodeContainer routers;
  std::vector<ns3::Ptr<ns3::NetDevice>> bottlenecks;  ///< devices whose queues are recorded
  /// Gateways of hosts whose devices use ARP and that are not on one link with their peer.
  std::vector<std::pair<ns3::Ptr<ns3::NetDevice>, ns3::Ipv4Address>> gateways;
};

/// Fills in the topology's defaults. Throws Failure for an unknown topology.
TopologySettings completed(const TopologySettings& settings);

/// Creates nodes, links, ns-3's stack on every node, addresses and routes.
Topology build_topology(const TopologySettings& settings);

}  // namespace lockstep::tools
