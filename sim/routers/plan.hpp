// The forwarding tables of all routers of a world, computed from its links.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// Where packets to a prefix go. The longest prefix comes first.
struct ForwardEntry {
  IpAddress prefix;
  std::uint32_t bits = 0;  // of 128
  std::uint32_t port = 0;
  Mac next;  // the next router; unspecified: the destination is on that link
};

// A node on a link of the router.
struct RouterNeighbour {
  IpAddress address;
  Mac mac;
};

struct RouterTable {
  std::vector<ForwardEntry> entries;
  std::vector<RouterNeighbour> neighbours;  // ordered by address

  // nullptr: no route.
  const ForwardEntry* entry_for(IpAddress destination) const;
  // nullptr: no such node.
  const Mac* mac_of(IpAddress destination) const;
};

struct RoutingPlan {
  std::vector<RouterTable> tables;  // by router
  WorldFault fault;
};

// Shortest paths by number of links, and each router's own routes before them. Reports a prefix on
// two sides of a router, a routing loop, a route via a node that is no neighbour, and an
// application whose hosts do not reach each other.
RoutingPlan plan_routes(const World& world);

// Gives the routers' ports link addresses and, where they have none, addresses: the highest free
// ones of the hosts' prefix. Gives hosts without a gateway the first router on their link, and all
// of them its link address. Needs the hosts' link addresses.
void complete_routers(World& world);

}  // namespace lockstep::sim
