// A router as plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units/address.hpp"
#include "sim/bus/name.hpp"

namespace lockstep::sim {

// An interface: one end of a link.
struct RouterPort {
  std::uint32_t link = 0;  // position in World::links
  bool at_a = false;       // the end `a` of the link
  Mac mac;
  IpAddress address;  // in the prefix of the hosts there, or one of its own between routers
};

// Packets to a prefix go to the router with the address `via`, on a link of this one.
struct RouteSpec {
  IpAddress prefix;
  std::uint8_t prefix_bits = 0;
  IpAddress via;
};

struct RouterSpec {
  Name name;
  std::vector<RouterPort> ports;
  std::vector<RouteSpec> routes;  // take precedence over shortest paths
};

}  // namespace lockstep::sim
