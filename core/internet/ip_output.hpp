// The IP header of packets that this host sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::internet {

// One datagram to send. `source` is one of our addresses.
struct Departure {
  IpAddress source;
  IpAddress destination;
  wire::IpProtocol protocol{};
  std::uint8_t time_to_live = 64;  // at least 1
  std::uint8_t traffic_class = 0;
  Bytes payload;  // IPv4: at most 65,515 octets; IPv6: 65,535
};

// The length of the IP header of packets sent from `source`.
constexpr std::uint32_t ip_header_bytes(IpAddress source) {
  return source.is_v4() ? wire::ipv4_header_bytes : wire::ipv6_header_bytes;
}

// Writes the IP header for `payload` octets to the front of `into`, which must have space for it,
// and returns its length: 20 for IPv4, 40 for IPv6. DF is set; we send no fragments.
Bytes write_ip_header(const Departure& departure, std::span<std::byte> into);

}  // namespace lockstep::internet
