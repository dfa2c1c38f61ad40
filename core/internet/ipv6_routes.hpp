// IPv6 routes: the next hop to a destination, and the source address to use.
#pragma once

#include <array>
#include <cstdint>

#include "core/internet/routes.hpp"

namespace lockstep::internet {

// A bounded table, filled from the configuration and constant afterwards. A plain value.
class Ipv6Routes {
 public:
  static constexpr std::uint32_t routes_max = 16;

  // False: the table is full, the length is above 128, or the gateway is not an IPv6 host.
  [[nodiscard]] bool add(const Route& route);

  // The next hop to `destination` by the longest prefix. On-link prefixes win over routes of the
  // same length: those of our addresses, link-local, and those advertised by routers
  // (`advertised_bits` long; 0: none). False: only a default router can help.
  [[nodiscard]] bool next_hop(const Addresses& addresses, IpAddress destination,
                              std::uint8_t advertised_bits, IpAddress& out) const;

  std::uint32_t count() const { return count_; }

 private:
  std::array<Route, routes_max> routes_{};  // longest prefix first, then in order of add()
  std::uint32_t count_ = 0;
};

// Selects the source address: one of the destination's scope first, then the one with the longest
// common prefix (RFC 6724 5, rules 2 and 8). Addresses whose bit in `usable` is clear come last.
// no_address: we have no IPv6 address.
std::uint16_t source_for(const Addresses& addresses, IpAddress destination, std::uint32_t usable);

}  // namespace lockstep::internet
