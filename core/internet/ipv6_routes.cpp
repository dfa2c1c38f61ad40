// Choice of the next hop and of the source, for IPv6.
#include "core/internet/ipv6_routes.hpp"

#include <algorithm>

namespace lockstep::internet {

bool Ipv6Routes::add(const Route& route) {
  if (count_ == routes_max || route.prefix_bits > 128 || route.prefix.is_v4() ||
      !route.gateway.is_v6_host()) {
    return false;
  }
  std::uint32_t at = count_;
  for (; at != 0 && routes_[at - 1].prefix_bits < route.prefix_bits; --at) {
    routes_[at] = routes_[at - 1];
  }
  routes_[at] = route;
  ++count_;
  return true;
}

//= rfc4861#5.2
//# 4861:ND-35 on-link by the longest prefix: the destination itself; otherwise a router
bool Ipv6Routes::next_hop(const Addresses& addresses, IpAddress destination,
                          std::uint8_t advertised_bits, IpAddress& out) const {
  bool on_link = destination.is_link_local() || advertised_bits != 0;
  std::uint32_t longest = destination.is_link_local() ? 128 : advertised_bits;
  for (std::uint16_t i = 0; i < addresses.count(); ++i) {
    IpAddress const ours = addresses.all()[i];
    std::uint32_t const bits = addresses.prefix_bits(i);
    if (!ours.is_v4() && common_bits({ours, destination}) >= bits) {
      on_link = true;
      longest = std::max(longest, bits);
    }
  }
  for (std::uint32_t i = 0; i < count_; ++i) {
    Route const& route = routes_[i];
    if (on_link && route.prefix_bits <= longest) {
      break;
    }
    if (common_bits({route.prefix, destination}) >= route.prefix_bits) {
      out = route.gateway;
      return true;
    }
  }
  out = destination;
  return on_link;
}

std::uint16_t source_for(const Addresses& addresses, IpAddress destination, std::uint32_t usable) {
  std::uint16_t best = no_address;
  std::uint32_t best_rank = 0;
  for (std::uint16_t i = 0; i < addresses.count(); ++i) {
    IpAddress const ours = addresses.all()[i];
    if (ours.is_v4()) {
      continue;
    }
    bool const tested = (usable >> i & 1) != 0;
    bool const scope = ours.is_link_local() == destination.is_link_local();
    std::uint32_t const rank =
        1 + (tested ? 512u : 0u) + (scope ? 256u : 0u) + common_bits({ours, destination});
    if (rank > best_rank) {
      best = i;
      best_rank = rank;
    }
  }
  return best;
}

}  // namespace lockstep::internet
