// IPv4 packets (RFC 791): a fully checked view to read, a writer to emit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/drop.hpp"

namespace lockstep::wire {

// The transports that we know. A parsed packet may have any other number.
enum class IpProtocol : std::uint8_t { icmp = 1, tcp = 6, udp = 17, icmpv6 = 58 };

struct Ipv4Header {
  IpAddress source;       // is_v4()
  IpAddress destination;  // is_v4()
  IpProtocol protocol{};
  std::uint8_t time_to_live = 0;
  std::uint8_t traffic_class = 0;  // DSCP in the upper six bits, ECN in the lower two
  bool dont_fragment = false;
  bool more_fragments = false;
  std::uint16_t fragment_offset = 0;  // in units of 8 octets, at most 0x1fff
  std::uint16_t identification = 0;

  constexpr bool is_fragment() const { return more_fragments || fragment_offset != 0; }
  bool operator==(const Ipv4Header&) const = default;
};

// Valid as long as the bytes it was parsed from.
struct Ipv4Packet {
  Ipv4Header header;
  std::span<const std::byte> options;  // well-formed; usually empty
  std::span<const std::byte> payload;  // up to the total length: link padding is removed
  std::span<const std::byte> bytes;    // header, options and payload
};

inline constexpr std::uint32_t ipv4_header_bytes = 20;
inline constexpr std::uint32_t ipv4_header_bytes_max = 60;
// Mask of the fragment offset, in units of eight octets, in the word shared with the flags.
inline constexpr std::uint16_t fragment_offset_mask = 0x1fff;

// Checks version, header length, total length, header checksum and the form of each option. Returns
// Drop::none, or the reason (ip_too_short, ip_version, ip_header_length, ip_total_length,
// ip_checksum, ip_option_malformed, ip_source_routed) with `out` unspecified. Does not check
// whether the addresses are ours. RFC 791 3.1, RFC 1122 3.2.1.
[[nodiscard]] Drop parse(std::span<const std::byte> bytes, Ipv4Packet& out);

// Writes a header of 20 octets with its checksum to the front of `into`, which must have space for
// it, for a payload of `payload` octets (at most 65,515). Returns 20.
Bytes write(const Ipv4Header& header, Bytes payload, std::span<std::byte> into);

}  // namespace lockstep::wire
