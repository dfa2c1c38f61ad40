// IPv4 packets (RFC 791): a fully checked view to read, a writer to emit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/drop.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/ip.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::wire {

// Both addresses are IPv4's.
struct Ipv4Header : IpHeader {
  bool dont_fragment = false;
  std::uint16_t identification = 0;

  bool operator==(const Ipv4Header&) const = default;
};

// Valid as long as the bytes it was parsed from.
struct Ipv4Packet {
  Ipv4Header header;
  std::span<const std::byte> options;  // well-formed; usually empty
  std::span<const std::byte> payload;  // up to the total length: link padding is removed
  std::span<const std::byte> bytes;    // header, options and payload

  constexpr IpPacket as_ip() const { return {header, payload, bytes}; }
};

inline constexpr std::uint32_t ipv4_header_bytes = 20;
inline constexpr std::uint32_t ipv4_header_bytes_max = 60;

// Sums the first 20 octets of a header, for comparison with FFFF: so the order of words does not
// matter.
inline Partial sum_of_ipv4_header(const std::byte* at) {
  Partial total;
  for (std::uint32_t i = 0; i < ipv4_header_bytes; i += 4) {
    total.sum += load_raw32(at + i);
  }
  return total;
}
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
