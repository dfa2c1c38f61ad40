// IPv4 routes: the next hop to a destination, and the source address to use.
#pragma once

#include <array>
#include <cstdint>

#include "core/internet/addresses.hpp"
#include "core/units/address.hpp"

namespace lockstep::internet {

struct Route {
  IpAddress prefix;
  IpAddress gateway;             // on one of our links
  std::uint8_t prefix_bits = 0;  // 0: the default route
};

// The result of a look-up.
struct NextHop {
  IpAddress address;                  // of the neighbour; the destination itself if it is on-link
  std::uint16_t source = no_address;  // index of the source address among ours
};

// A bounded table, filled from the configuration and constant afterwards. A plain value.
class Routes {
 public:
  static constexpr std::uint32_t routes_max = 16;

  // False: the table is full, the length is above 32, or the gateway is not IPv4 or unspecified.
  [[nodiscard]] bool add(const Route& route);

  // The longest prefix wins; the on-link prefixes of our addresses win over routes of the same
  // length. A gateway that is on none of our links is reached from our first IPv4 address. False:
  // no route, or no IPv4 address. At most addresses_max + routes_max steps. RFC 1122 3.3.1.
  [[nodiscard]] bool next_hop(const Addresses& addresses, IpAddress destination,
                              NextHop& out) const;

  std::uint32_t count() const { return count_; }

 private:
  std::array<Route, routes_max> routes_{};  // longest prefix first, then in order of add()
  std::uint32_t count_ = 0;
};

}  // namespace lockstep::internet
