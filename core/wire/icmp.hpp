// ICMP messages for IPv4 (RFC 792): a checked view to read, a writer to emit, quoted packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/drop.hpp"
#include "core/units/sequence.hpp"
#include "core/wire/ipv4.hpp"

namespace lockstep::wire {

// An error message quotes at least so many octets of data behind the IP header (RFC 792).
inline constexpr std::uint32_t quoted_data_bytes = 8;

// The types that a host uses. A parsed message may have any other number.
enum class IcmpType : std::uint8_t {
  echo_reply = 0,
  unreachable = 3,
  source_quench = 4,
  redirect = 5,
  echo_request = 8,
  time_exceeded = 11,
  parameter_problem = 12,
};

// The codes of IcmpType::unreachable that are distinguished.
enum class Unreachable : std::uint8_t {
  network = 0,
  host = 1,
  protocol = 2,
  port = 3,
  fragmentation_needed = 4,
  source_route_failed = 5,
  network_unknown = 6,
  host_unknown = 7,
  source_isolated = 8,
  network_prohibited = 9,
  host_prohibited = 10,
  network_not_by_service = 11,
  host_not_by_service = 12,
  filtered = 13,
  precedence_violation = 14,
  precedence_cutoff = 15,
};

// Valid as long as the bytes it was parsed from.
struct IcmpMessage {
  IcmpType type{};
  std::uint8_t code = 0;
  std::uint32_t rest = 0;           // the second word; its meaning depends on the type
  std::span<const std::byte> body;  // echoed data, or the quoted packet

  // Of echo messages.
  constexpr std::uint16_t identifier() const { return static_cast<std::uint16_t>(rest >> 16); }
  constexpr std::uint16_t sequence() const { return static_cast<std::uint16_t>(rest); }
  // Of "fragmentation needed" (RFC 1191 4). Zero: from a router that predates RFC 1191.
  constexpr std::uint16_t next_hop_mtu() const { return static_cast<std::uint16_t>(rest); }
  // Of a parameter problem: the offset of the invalid octet in the quoted packet.
  constexpr std::uint8_t pointer() const { return static_cast<std::uint8_t>(rest >> 24); }
};

inline constexpr std::uint32_t icmp_header_bytes = 8;

// Returns Drop::none, or icmp_too_short or icmp_checksum with `out` unspecified. Sums all of
// `bytes`.
[[nodiscard]] Drop parse(std::span<const std::byte> bytes, IcmpMessage& out);

// Writes header, checksum and a copy of the body to the front of `into`, which must have space for
// them, and returns the number of octets. The body must not overlap `into`.
Bytes write(const IcmpMessage& message, std::span<std::byte> into);

// The packet quoted by an error: its IP header and at least eight octets of its payload. Not
// authenticated: it may be forged, and routers have changed TTL and checksum.
struct IcmpQuote {
  IpHeader header;
  Bytes packet_bytes;  // the total length that the quoted header claims
  // The first eight octets, as TCP has them; of UDP, only the ports.
  Port source_port;
  Port destination_port;
  Sequence sequence;
};

// Parses the body of an error. Returns Drop::none, or icmp_quote_malformed with `out` unspecified:
// shorter than header and eight octets, not IPv4, or a fragment other than the first. RFC 1122
// 3.2.2.
[[nodiscard]] Drop parse(std::span<const std::byte> body, IcmpQuote& out);

}  // namespace lockstep::wire
