// The IP header of what this host sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::internet {

// One datagram to send. The source is one of our addresses.
struct Departure {
  IpAddress source;
  IpAddress destination;
  wire::IpProtocol protocol{};
  std::uint8_t time_to_live = 64;  // at least 1
  std::uint8_t traffic_class = 0;
  Bytes payload;  // at most 65,515; of IPv6 65,535
};

// The length of the IP header of what leaves from `source`.
constexpr std::uint32_t ip_header_bytes(IpAddress source) {
  return source.is_v4() ? wire::ipv4_header_bytes : wire::ipv6_header_bytes;
}

// Writes the header for `payload` octets to follow to the front of `into`, which holds it, and
// gives its length: 20, or 40 of IPv6. Never fragmented: DF is set.
Bytes write_ip_header(const Departure& departure, std::span<std::byte> into);

}  // namespace lockstep::internet
