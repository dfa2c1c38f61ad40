// What the routes of a node's own IPv4 and IPv6 say of the way to somewhere else.
#pragma once

#include <ns3/net-device.h>
#include <ns3/node.h>
#include <ns3/ptr.h>

#include <vector>

#include "core/units/address.hpp"

namespace ns3 {

/// The addresses that nodes other than `node` have, of either family, of ns-3's stacks and of ours,
/// in the order of the nodes; without those of a link or the host alone.
std::vector<lockstep::IpAddress> AddressesOfOthers(Ptr<const Node> node);

/// Where the routes of the device's node send what leaves by this device for `destination`;
/// unspecified: nowhere, or straight to it.
lockstep::IpAddress GatewayTo(Ptr<NetDevice> device, lockstep::IpAddress destination);

}  // namespace ns3
