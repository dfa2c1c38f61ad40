// What the routes of a node's own IPv4 and IPv6 say of the way to somewhere else.
#include "sim/ns3/gateways.hpp"

#include <ns3/inet-socket-address.h>
#include <ns3/inet6-socket-address.h>
#include <ns3/ipv4-header.h>
#include <ns3/ipv4-route.h>
#include <ns3/ipv4-routing-protocol.h>
#include <ns3/ipv4.h>
#include <ns3/ipv6-header.h>
#include <ns3/ipv6-route.h>
#include <ns3/ipv6-routing-protocol.h>
#include <ns3/ipv6.h>
#include <ns3/node-list.h>
#include <ns3/packet.h>

#include <cstdint>

#include "sim/ns3/addresses.hpp"
#include "sim/ns3/host.hpp"

namespace ns3 {
namespace {

using Addresses = std::vector<lockstep::IpAddress>;

void AddOurs(Ptr<const Node> node, Addresses& out) {
  auto const host = node->GetObject<LockstepHost>();
  for (std::size_t i = 0; host != nullptr && i < host->GetStacks().size(); ++i) {
    auto const& config = host->GetStacks()[i]->Fields();
    for (std::uint32_t j = 0; j < config.address_count.value; ++j) {
      out.push_back(config.addresses[j].address);
    }
  }
}

// The first interface is the loopback.
void AddIpv4(Ptr<const Node> node, Addresses& out) {
  auto const ipv4 = node->GetObject<Ipv4>();
  for (std::uint32_t i = 1; ipv4 != nullptr && i < ipv4->GetNInterfaces(); ++i) {
    for (std::uint32_t j = 0; j < ipv4->GetNAddresses(i); ++j) {
      out.push_back(ToLockstep(ipv4->GetAddress(i, j).GetLocal()));
    }
  }
}

void AddIpv6(Ptr<const Node> node, Addresses& out) {
  auto const ipv6 = node->GetObject<Ipv6>();
  for (std::uint32_t i = 1; ipv6 != nullptr && i < ipv6->GetNInterfaces(); ++i) {
    for (std::uint32_t j = 0; j < ipv6->GetNAddresses(i); ++j) {
      auto const address = ipv6->GetAddress(i, j).GetAddress();
      if (!address.IsLinkLocal()) {
        out.push_back(ToLockstep(address));
      }
    }
  }
}

lockstep::IpAddress Gateway4(Ptr<NetDevice> device, Ipv4Address destination) {
  auto const ipv4 = device->GetNode()->GetObject<Ipv4>();
  if (ipv4 == nullptr || ipv4->GetRoutingProtocol() == nullptr) {
    return {};
  }
  Ipv4Header header;
  header.SetDestination(destination);
  Socket::SocketErrno error = Socket::ERROR_NOTERROR;
  auto const route =
      ipv4->GetRoutingProtocol()->RouteOutput(Create<Packet>(), header, device, error);
  bool const leads = route != nullptr && route->GetOutputDevice() == device &&
                     route->GetGateway() != Ipv4Address::GetAny();
  return leads ? ToLockstep(route->GetGateway()) : lockstep::IpAddress{};
}

lockstep::IpAddress Gateway6(Ptr<NetDevice> device, Ipv6Address destination) {
  auto const ipv6 = device->GetNode()->GetObject<Ipv6>();
  if (ipv6 == nullptr || ipv6->GetRoutingProtocol() == nullptr) {
    return {};
  }
  Ipv6Header header;
  header.SetDestination(destination);
  Socket::SocketErrno error = Socket::ERROR_NOTERROR;
  auto const route =
      ipv6->GetRoutingProtocol()->RouteOutput(Create<Packet>(), header, device, error);
  bool const leads = route != nullptr && route->GetOutputDevice() == device &&
                     route->GetGateway() != Ipv6Address::GetAny();
  return leads ? ToLockstep(route->GetGateway()) : lockstep::IpAddress{};
}

}  // namespace

Addresses AddressesOfOthers(Ptr<const Node> node) {
  Addresses out;
  for (std::uint32_t i = 0; i < NodeList::GetNNodes(); ++i) {
    Ptr<const Node> const other = NodeList::GetNode(i);
    if (other != node) {
      AddOurs(other, out);
      AddIpv4(other, out);
      AddIpv6(other, out);
    }
  }
  return out;
}

lockstep::IpAddress GatewayTo(Ptr<NetDevice> device, lockstep::IpAddress destination) {
  // Their ports do not matter.
  Address const address = ToNs3(lockstep::Endpoint{destination, {0}});
  return destination.is_v4()
             ? Gateway4(device, InetSocketAddress::ConvertFrom(address).GetIpv4())
             : Gateway6(device, Inet6SocketAddress::ConvertFrom(address).GetIpv6());
}

}  // namespace ns3
