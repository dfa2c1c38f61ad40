// Routes: which neighbour a destination is reached through, and from which of our addresses.
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

// The way to a destination.
struct NextHop {
  IpAddress address;                  // of the neighbour; the destination itself when it is on-link
  std::uint16_t source = no_address;  // the place of the source address among ours
};

// A bounded table, filled from the configuration and constant from then on. A plain value.
class Routes {
 public:
  static constexpr std::uint32_t routes_max = 16;

  // False: the table is full, the length is above 32, or the gateway is not IPv4 or unspecified.
  [[nodiscard]] bool add(const Route& route);

  // The longest prefix wins: those of our addresses are on-link and beat routes of the same length.
  // False: nothing leads there. At most addresses_max + routes_max steps. RFC 1122 3.3.1.
  [[nodiscard]] bool next_hop(const Addresses& addresses, IpAddress destination,
                              NextHop& out) const;

  std::uint32_t count() const { return count_; }

 private:
  std::array<Route, routes_max> routes_{};  // longest prefix first, then in order of adding
  std::uint32_t count_ = 0;
};

}  // namespace lockstep::internet
