// The ICMP errors of routers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"

namespace lockstep::sim {

enum class RouterError : std::uint8_t { hops_exceeded, no_network, no_host, too_big };

struct IcmpErrorAbout {
  RouterError error = RouterError::no_network;
  std::uint32_t mtu_bytes = 0;        // of too_big
  std::span<const std::byte> packet;  // the IP packet
  IpAddress router;                   // source of the error
  std::uint32_t quoted_v4 =
      576 - 28;  // octets of an IPv4 packet that are quoted (RFC 1812 4.3.2.3)
};

inline constexpr std::uint32_t icmp_error_bytes_max = 1'280;

// Writes an IP packet with the error to `into`, which must hold icmp_error_bytes_max octets, and
// returns its length; 0 where a router sends none: about an ICMP error, a later fragment, or a
// group or unspecified address (RFC 1812 4.3.2.7, RFC 4443 2.4).
std::uint32_t write_icmp_error(const IcmpErrorAbout& about, std::span<std::byte> into);

}  // namespace lockstep::sim
