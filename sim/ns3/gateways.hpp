// What the routes of a node's own IPv4 and IPv6 say of the way to somewhere else.
#pragma once

#include <ns3/net-device.h>
#include <ns3/node.h>
#include <ns3/ptr.h>

#include <vector>

#include "core/stack/config.hpp"
#include "core/units/address.hpp"

namespace ns3 {

/// The addresses that nodes other than `node` have, of either family, of ns-3's stacks and of ours,
/// in the order of the nodes, with the lengths of their prefixes; without those of a link or the
/// host alone.
std::vector<lockstep::HostAddress> AddressesOfOthers(Ptr<const Node> node);

/// Where what leaves for somewhere goes.
struct LockstepWay {
  Ptr<NetDevice> device;        // null: the routes of the node say nothing
  lockstep::IpAddress gateway;  // unspecified: straight to it
};

/// What the routes of the node say of what leaves by `device`, or by any if that is null.
LockstepWay WayTo(Ptr<const Node> node, Ptr<NetDevice> device, lockstep::IpAddress destination);

/// How many other nodes on the link of a device have further links: who may be a gateway there.
std::uint32_t RoutersBeside(Ptr<NetDevice> device);

/// The routes that lead by this device to all these destinations, the default ones first: the
/// gateway of most destinations of a family is that of all, and prefixes behind others are named.
std::vector<lockstep::ConfigRoute> RoutesBy(Ptr<NetDevice> device,
                                            const std::vector<lockstep::HostAddress>& destinations);

}  // namespace ns3
