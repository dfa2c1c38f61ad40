// Converts addresses between ns-3 and the core.
#pragma once

#include <ns3/address.h>
#include <ns3/ipv4-address.h>
#include <ns3/ipv6-address.h>

#include "core/units/address.hpp"

namespace ns3 {

lockstep::IpAddress ToLockstep(Ipv4Address address);
lockstep::IpAddress ToLockstep(Ipv6Address address);
/// Converts an InetSocketAddress or Inet6SocketAddress; false: `address` is neither.
bool ToLockstep(const Address& address, lockstep::Endpoint& out);
/// Returns an InetSocketAddress or an Inet6SocketAddress.
Address ToNs3(const lockstep::Endpoint& endpoint);

}  // namespace ns3
