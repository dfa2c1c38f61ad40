// Choice of the next hop and of the source, for IPv4.
#include "core/internet/routes.hpp"

namespace lockstep::internet {

bool Routes::add(const Route& route) {
  if (count_ == routes_max || route.prefix_bits > 32 || !route.prefix.is_v4() ||
      !route.gateway.is_v4() || route.gateway.is_unspecified()) {
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

//= rfc1122#3.2.1.3
//# 1122:H-18 the source is one of our addresses, which Addresses::add() has checked
bool Routes::next_hop(const Addresses& addresses, IpAddress destination, NextHop& out) const {
  if (!destination.is_v4() || addresses.count() == 0) {
    return false;
  }
  std::uint16_t on_link = no_address;
  std::uint8_t on_link_bits = 0;
  for (std::uint16_t i = 0; i < addresses.count(); ++i) {
    std::uint8_t const bits = addresses.prefix_bits(i);
    if (addresses.all()[i].is_v4() && (on_link == no_address || bits > on_link_bits) &&
        same_prefix({addresses.all()[i].as_v4(), destination.as_v4()}, bits)) {
      on_link = i;
      on_link_bits = bits;
    }
  }
  for (std::uint32_t i = 0; i < count_; ++i) {
    Route const& route = routes_[i];
    if (on_link != no_address && route.prefix_bits <= on_link_bits) {
      break;
    }
    if (same_prefix({route.prefix.as_v4(), destination.as_v4()}, route.prefix_bits)) {
      std::uint16_t const source = addresses.on_link(route.gateway);
      out = {route.gateway, source == no_address ? addresses.first_v4() : source};
      return out.source != no_address;
    }
  }
  if (on_link == no_address) {
    return false;
  }
  out = {destination, on_link};
  return true;
}

}  // namespace lockstep::internet
