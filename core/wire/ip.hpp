// What packets of IPv4 and of IPv6 have in common, for the layers that need not tell them apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"

namespace lockstep::wire {

// The transports of ours. A parsed packet may hold any other number.
enum class IpProtocol : std::uint8_t { icmp = 1, tcp = 6, udp = 17, icmpv6 = 58 };

struct IpHeader {
  IpAddress source;  // both of one family
  IpAddress destination;
  IpProtocol protocol{};           // of the payload: behind the extension headers of IPv6
  std::uint8_t time_to_live = 0;   // the hop limit of IPv6
  std::uint8_t traffic_class = 0;  // DSCP in the upper six bits, ECN in the lower two
  bool more_fragments = false;
  std::uint16_t fragment_offset = 0;  // in units of 8 octets, at most 0x1fff

  constexpr bool is_fragment() const { return more_fragments || fragment_offset != 0; }
  bool operator==(const IpHeader&) const = default;
};

// Valid as long as the bytes that it was parsed from.
struct IpPacket {
  IpHeader header;
  std::span<const std::byte> payload;  // without the link's padding
  std::span<const std::byte> bytes;    // all headers and the payload
};

}  // namespace lockstep::wire
