// Addresses of ns-3 in the core's words, and back.
#pragma once

#include <ns3/address.h>
#include <ns3/ipv4-address.h>
#include <ns3/ipv6-address.h>

#include "core/units/address.hpp"

namespace ns3 {

lockstep::IpAddress ToLockstep(Ipv4Address address);
lockstep::IpAddress ToLockstep(Ipv6Address address);
/// Of an InetSocketAddress or an Inet6SocketAddress; false: `address` is neither.
bool ToLockstep(const Address& address, lockstep::Endpoint& out);
/// An InetSocketAddress or an Inet6SocketAddress.
Address ToNs3(const lockstep::Endpoint& endpoint);

}  // namespace ns3
