// Converts addresses between ns-3 and the core.
#include "sim/ns3/addresses.hpp"

#include <ns3/inet-socket-address.h>
#include <ns3/inet6-socket-address.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ns3 {

lockstep::IpAddress ToLockstep(Ipv4Address address) {
  return lockstep::IpAddress::from(lockstep::Ipv4{address.Get()});
}

lockstep::IpAddress ToLockstep(Ipv6Address address) {
  std::array<std::uint8_t, 16> octets{};
  address.GetBytes(octets.data());
  lockstep::IpAddress out;
  for (std::size_t i = 0; i < 8; ++i) {
    out.high = out.high << 8 | octets[i];
    out.low = out.low << 8 | octets[i + 8];
  }
  return out;
}

bool ToLockstep(const Address& address, lockstep::Endpoint& out) {
  if (InetSocketAddress::IsMatchingType(address)) {
    auto const inet = InetSocketAddress::ConvertFrom(address);
    out = {ToLockstep(inet.GetIpv4()), {inet.GetPort()}};
    return true;
  }
  if (Inet6SocketAddress::IsMatchingType(address)) {
    auto const inet = Inet6SocketAddress::ConvertFrom(address);
    out = {ToLockstep(inet.GetIpv6()), {inet.GetPort()}};
    return true;
  }
  return false;
}

Address ToNs3(const lockstep::Endpoint& endpoint) {
  if (endpoint.address.is_v4()) {
    return InetSocketAddress(Ipv4Address(endpoint.address.as_v4().value), endpoint.port.value);
  }
  std::array<std::uint8_t, 16> octets{};
  for (std::uint32_t i = 0; i < 8; ++i) {
    octets[i] = static_cast<std::uint8_t>(endpoint.address.high >> (56 - 8 * i));
    octets[i + 8] = static_cast<std::uint8_t>(endpoint.address.low >> (56 - 8 * i));
  }
  return Inet6SocketAddress(Ipv6Address(octets.data()), endpoint.port.value);
}

}  // namespace ns3
