// Ready networks of ns-3: who is where, what the bottleneck is, and addresses.
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

/// What a network is made of. Empty texts and negative numbers: as the topology has it.
struct TopologySettings {
  std::string name = "dumbbell";
  std::uint32_t pairs = 2;  ///< one flow each
  std::string rate;         ///< of the bottleneck, as ns-3 writes it: 10Mbps
  std::string delay;        ///< of the bottleneck: 20ms
  std::uint32_t queue = 0;  ///< packets at the bottleneck
  std::string disc;         ///< none, codel, fqcodel, red, pfifo
  bool ecn = false;         ///< the disc marks instead of dropping
  double loss = -1;         ///< of each packet behind the bottleneck
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
  std::vector<ns3::Ptr<ns3::NetDevice>> bottlenecks;  ///< the devices whose queues are watched
  /// Of hosts whose devices want ARP and that are not on one link with their peer.
  std::vector<std::pair<ns3::Ptr<ns3::NetDevice>, ns3::Ipv4Address>> gateways;
};

/// Fills in what the topology has by itself. Throws Failure for a name that none has.
TopologySettings completed(const TopologySettings& settings);

/// Nodes, links, ns-3's own stack on every node, addresses and routes.
Topology build_topology(const TopologySettings& settings);

}  // namespace lockstep::tools
