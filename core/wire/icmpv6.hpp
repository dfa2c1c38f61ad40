// ICMPv6 messages (RFC 4443): a checked view to read, a writer to emit, quoted packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/drop.hpp"
#include "core/wire/icmp.hpp"

namespace lockstep::wire {

// The types that a host uses. A parsed message may have any other number; below 128: an error.
enum class Icmp6Type : std::uint8_t {
  unreachable = 1,
  packet_too_big = 2,
  time_exceeded = 3,
  parameter_problem = 4,
  echo_request = 128,
  echo_reply = 129,
  router_solicitation = 133,
  router_advertisement = 134,
  neighbour_solicitation = 135,
  neighbour_advertisement = 136,
  redirect = 137,
};

// The codes of Icmp6Type::unreachable that are distinguished.
inline constexpr std::uint8_t unreachable6_no_route = 0;
inline constexpr std::uint8_t unreachable6_prohibited = 1;
inline constexpr std::uint8_t unreachable6_beyond_scope = 2;
inline constexpr std::uint8_t unreachable6_address = 3;
inline constexpr std::uint8_t unreachable6_port = 4;
inline constexpr std::uint8_t unreachable6_policy = 5;
inline constexpr std::uint8_t unreachable6_reject_route = 6;

// Valid as long as the bytes it was parsed from.
struct Icmp6Message {
  Icmp6Type type{};
  std::uint8_t code = 0;
  std::uint32_t rest = 0;           // the second word; its meaning depends on the type
  std::span<const std::byte> body;  // after eight octets: echoed data, or the quoted packet
};

inline constexpr std::uint32_t icmp6_header_bytes = 8;

// Source and destination: the checksum covers both.
struct Icmp6Path {
  IpAddress source;
  IpAddress destination;
};

// Returns Drop::none, or icmp_too_short or icmp_checksum with `out` unspecified. Sums all of
// `bytes`.
[[nodiscard]] Drop parse(const Icmp6Path& path, std::span<const std::byte> bytes,
                         Icmp6Message& out);

// Writes header, checksum and a copy of the body to the front of `into`, which must have space for
// them, and returns the number of octets. The body must not overlap `into`.
Bytes write(const Icmp6Path& path, const Icmp6Message& message, std::span<std::byte> into);

// Parses the body of an error into the same form as for IPv4. Returns Drop::none, or
// icmp_quote_malformed with `out` unspecified: shorter than header and eight octets, not IPv6, or
// with extension headers, which we never send.
[[nodiscard]] Drop parse_quote6(std::span<const std::byte> body, IcmpQuote& out);

}  // namespace lockstep::wire
