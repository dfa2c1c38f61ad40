// Reads gateways from the routes of a node's own IPv4 and IPv6.
#include "sim/ns3/gateways.hpp"

#include <ns3/channel.h>
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
#include <ns3/loopback-net-device.h>
#include <ns3/node-list.h>
#include <ns3/packet.h>

#include <algorithm>
#include <cstdint>

#include "sim/ns3/addresses.hpp"
#include "sim/ns3/host.hpp"

namespace ns3 {
namespace {

using Addresses = std::vector<lockstep::HostAddress>;

void AddOurs(Ptr<const Node> node, Addresses& out) {
  auto const host = node->GetObject<LockstepHost>();
  for (std::size_t i = 0; host != nullptr && i < host->GetStacks().size(); ++i) {
    auto const& config = host->GetStacks()[i]->Fields();
    for (std::uint32_t j = 0; j < config.address_count.value; ++j) {
      out.push_back(config.addresses[j]);
    }
  }
}

// Skips the first interface, which is the loopback.
void AddIpv4(Ptr<const Node> node, Addresses& out) {
  auto const ipv4 = node->GetObject<Ipv4>();
  for (std::uint32_t i = 1; ipv4 != nullptr && i < ipv4->GetNInterfaces(); ++i) {
    for (std::uint32_t j = 0; j < ipv4->GetNAddresses(i); ++j) {
      auto const address = ipv4->GetAddress(i, j);
      out.push_back({ToLockstep(address.GetLocal()),
                     static_cast<std::uint8_t>(address.GetMask().GetPrefixLength())});
    }
  }
}

void AddIpv6(Ptr<const Node> node, Addresses& out) {
  auto const ipv6 = node->GetObject<Ipv6>();
  for (std::uint32_t i = 1; ipv6 != nullptr && i < ipv6->GetNInterfaces(); ++i) {
    for (std::uint32_t j = 0; j < ipv6->GetNAddresses(i); ++j) {
      auto const address = ipv6->GetAddress(i, j);
      if (!address.GetAddress().IsLinkLocal()) {
        out.push_back({ToLockstep(address.GetAddress()), address.GetPrefix().GetPrefixLength()});
      }
    }
  }
}

// For the classes of either family, whose members have the same names.
template <class Header, class Stack, class Destination>
LockstepNextHop LookUpRoute(Ptr<Stack> stack, Ptr<NetDevice> device, Destination destination) {
  if (stack == nullptr || stack->GetRoutingProtocol() == nullptr) {
    return {};
  }
  Header header;
  header.SetDestination(destination);
  Socket::SocketErrno error = Socket::ERROR_NOTERROR;
  auto const route =
      stack->GetRoutingProtocol()->RouteOutput(Create<Packet>(), header, device, error);
  return route == nullptr
             ? LockstepNextHop{}
             : LockstepNextHop{route->GetOutputDevice(), ToLockstep(route->GetGateway())};
}

// Addresses of one family behind one gateway.
struct GatewayGroup {
  lockstep::IpAddress gateway;
  Addresses destinations;
};

// The destinations of each gateway; the gateway of most destinations first.
std::vector<GatewayGroup> GatewaysOf(Ptr<NetDevice> device, const Addresses& destinations,
                                     bool v4) {
  std::vector<GatewayGroup> found;
  bool const one = RoutersBeside(device) <= 1;
  for (auto const& each : destinations) {
    if (each.address.is_v4() != v4 || (one && !found.empty())) {
      continue;
    }
    auto const way = NextHopTo(device->GetNode(), device, each.address);
    if (way.device != device || way.gateway.is_unspecified()) {
      continue;
    }
    auto at = std::ranges::find(found, way.gateway, &GatewayGroup::gateway);
    if (at == found.end()) {
      at = found.insert(found.end(), {way.gateway, {}});
    }
    at->destinations.push_back(each);
  }
  auto const most = std::ranges::max_element(
      found, {}, [](const GatewayGroup& each) { return each.destinations.size(); });
  if (most != found.end()) {
    std::rotate(found.begin(), most, most + 1);
  }
  return found;
}

// The network of an address, or the address alone if another gateway also leads to that network.
lockstep::ConfigRoute RouteOf(const lockstep::HostAddress& to, const std::vector<GatewayGroup>& all,
                              lockstep::IpAddress gateway) {
  std::uint32_t const more = to.address.is_v4() ? 96 : 0;
  auto const same = [&](const lockstep::HostAddress& each) {
    return lockstep::common_bits({each.address, to.address}) >= to.prefix_bits + more;
  };
  bool const alone = std::ranges::any_of(all, [&](const GatewayGroup& each) {
    return each.gateway != gateway && std::ranges::any_of(each.destinations, same);
  });
  auto const bits = alone ? static_cast<std::uint8_t>(128 - more) : to.prefix_bits;
  return {to.address, gateway, bits};
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

LockstepNextHop NextHopTo(Ptr<const Node> node, Ptr<NetDevice> device,
                          lockstep::IpAddress destination) {
  // The port does not matter.
  Address const address = ToNs3(lockstep::Endpoint{destination, {0}});
  return destination.is_v4()
             ? LookUpRoute<Ipv4Header>(node->GetObject<Ipv4>(), device,
                                       InetSocketAddress::ConvertFrom(address).GetIpv4())
             : LookUpRoute<Ipv6Header>(node->GetObject<Ipv6>(), device,
                                       Inet6SocketAddress::ConvertFrom(address).GetIpv6());
}

std::uint32_t RoutersBeside(Ptr<NetDevice> device) {
  auto const channel = device->GetChannel();
  std::uint32_t routers = 0;
  for (std::size_t i = 0; channel != nullptr && i < channel->GetNDevices(); ++i) {
    auto const other = channel->GetDevice(i);
    std::uint32_t links = 0;
    for (std::uint32_t j = 0; j < other->GetNode()->GetNDevices(); ++j) {
      links += DynamicCast<LoopbackNetDevice>(other->GetNode()->GetDevice(j)) == nullptr ? 1 : 0;
    }
    routers += other != device && links > 1 ? 1 : 0;
  }
  return routers;
}

std::vector<lockstep::ConfigRoute> RoutesBy(Ptr<NetDevice> device, const Addresses& destinations) {
  std::vector<lockstep::ConfigRoute> routes;
  for (bool const v4 : {true, false}) {
    auto const all = GatewaysOf(device, destinations, v4);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i == 0) {
        routes.push_back(
            {v4 ? ToLockstep(Ipv4Address::GetAny()) : lockstep::IpAddress{}, all[0].gateway, 0});
        continue;
      }
      for (auto const& each : all[i].destinations) {
        auto const route = RouteOf(each, all, all[i].gateway);
        bool const there = std::ranges::any_of(routes, [&](const lockstep::ConfigRoute& had) {
          std::uint32_t const bits = had.prefix_bits + (v4 ? 96u : 0u);
          return had.prefix_bits == route.prefix_bits && had.gateway == route.gateway &&
                 had.prefix.is_v4() == v4 &&
                 lockstep::common_bits({had.prefix, route.prefix}) >= bits;
        });
        if (!there) {
          routes.push_back(route);
        }
      }
    }
  }
  return routes;
}

}  // namespace ns3
