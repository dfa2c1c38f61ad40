// Routes of IPv6: through which neighbour a destination is reached, and from which address.
#pragma once

#include <array>
#include <cstdint>

#include "core/internet/routes.hpp"

namespace lockstep::internet {

// A bounded table, filled from the configuration and constant from then on. A plain value.
class Ipv6Routes {
 public:
  static constexpr std::uint32_t routes_max = 16;

  // False: the table is full, the length is above 128, or the gateway is no host of IPv6.
  [[nodiscard]] bool add(const Route& route);

  // The next hop to `destination`, by the longest prefix: those of our addresses are on-link and
  // beat routes of the same length, so do link-local destinations, and prefixes of which routers
  // say so, `told_bits` long (0: none). False: only a default router may know more.
  [[nodiscard]] bool next_hop(const Addresses& addresses, IpAddress destination,
                              std::uint8_t told_bits, IpAddress& out) const;

  std::uint32_t count() const { return count_; }

 private:
  std::array<Route, routes_max> routes_{};  // longest prefix first, then in order of adding
  std::uint32_t count_ = 0;
};

// Which of our addresses to send from: of the destination's scope before others, then that which
// shares the longest prefix with it (RFC 6724 5, rules 2 and 8). Those whose bit is clear in
// `usable` come last. no_address: none of ours is of IPv6.
std::uint16_t source_for(const Addresses& addresses, IpAddress destination, std::uint32_t usable);

}  // namespace lockstep::internet
