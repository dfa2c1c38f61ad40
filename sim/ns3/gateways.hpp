// Reads gateways from the routes of a node's own IPv4 and IPv6.
#pragma once

#include <ns3/net-device.h>
#include <ns3/node.h>
#include <ns3/ptr.h>

#include <vector>

#include "core/stack/config.hpp"
#include "core/units/address.hpp"

namespace ns3 {

/// The IPv4 and IPv6 addresses of the nodes other than `node`, on ns-3's stacks and on ours, in the
/// order of the nodes, with their prefix lengths. Link-local and host-local addresses are left out.
std::vector<lockstep::HostAddress> AddressesOfOthers(Ptr<const Node> node);

/// The next hop to a destination.
struct LockstepNextHop {
  Ptr<NetDevice> device;        // null: the node has no route
  lockstep::IpAddress gateway;  // unspecified: the destination is on the link
};

/// The node's route to `destination` through `device`, or through any device if that is null.
LockstepNextHop NextHopTo(Ptr<const Node> node, Ptr<NetDevice> device,
                          lockstep::IpAddress destination);

/// The number of other nodes on the device's link that have further links, and so may be gateways.
std::uint32_t RoutersBeside(Ptr<NetDevice> device);

/// The routes through this device to all `destinations`. The gateway of most destinations of a
/// family becomes the default route, listed first; the prefixes behind other gateways follow.
std::vector<lockstep::ConfigRoute> RoutesBy(Ptr<NetDevice> device,
                                            const std::vector<lockstep::HostAddress>& destinations);

}  // namespace ns3
