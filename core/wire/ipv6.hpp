// IPv6 packets (RFC 8200): a checked view to read, a walk along the headers, a writer to emit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/drop.hpp"
#include "core/wire/ipv4.hpp"

namespace lockstep::wire {

struct Ipv6Header {
  IpAddress source;
  IpAddress destination;
  std::uint8_t next_header = 0;  // what follows immediately: an extension header or a transport
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;  // DSCP in the upper six bits, ECN in the lower two
  std::uint32_t flow_label = 0;    // 20 bits

  bool operator==(const Ipv6Header&) const = default;
};

struct Ipv6Fragment {
  std::uint32_t identification = 0;
  std::uint16_t offset = 0;  // in units of 8 octets, at most 0x1fff
  bool more = false;

  constexpr bool is_atomic() const { return offset == 0 && !more; }
  bool operator==(const Ipv6Fragment&) const = default;
};

// The ICMPv6 parameter problem that a packet requires as an answer, or none.
struct Ipv6Problem {
  bool send_icmp_error = false;
  bool to_group_too =
      false;  // also if the packet was sent to a group (RFC 8200 4.2, option bits 10)
  std::uint8_t code = 0;
  std::uint32_t pointer = 0;  // offset of the invalid octet from the IPv6 header
};

// Valid as long as the bytes it was parsed from.
struct Ipv6Packet {
  Ipv6Header header;
  std::span<const std::byte> bytes;  // up to the payload length: link padding is removed
  // Set by walk():
  std::span<const std::byte> payload;  // after the last header walked
  IpProtocol protocol{};               // of `payload`
  bool has_fragment = false;           // there is a fragment header: `fragment`
  Ipv6Fragment fragment;
  std::uint16_t fragment_at = 0;        // offset of that header
  std::uint16_t fragment_named_at = 0;  // offset of the next-header field that names it
  Ipv6Problem problem;
};

inline constexpr std::uint32_t ipv6_header_bytes = 40;
inline constexpr std::uint32_t ipv6_fragment_bytes = 8;
// The minimum MTU of every link (RFC 8200 5).
inline constexpr std::uint32_t ipv6_mtu_least = 1280;
// Limit of headers in one packet, more than real traffic has (RFC 8504 5.3 permits a limit).
inline constexpr std::uint32_t ipv6_headers_max = 64;

// Codes of ICMPv6 parameter problems.
inline constexpr std::uint8_t problem_field = 0;
inline constexpr std::uint8_t problem_next_header = 1;
inline constexpr std::uint8_t problem_option = 2;
inline constexpr std::uint8_t problem_first_fragment = 3;

// Parses the fixed header. Returns Drop::none; or ip_too_short, ip_version or ip_total_length with
// `out` unspecified.
[[nodiscard]] Drop parse(std::span<const std::byte> bytes, Ipv6Packet& out);

// Walks the extension headers in order, up to a transport, to "no next header", or to a fragment
// header; an atomic fragment's header is skipped. `packet` must be parsed and addressed to us;
// fills in its remaining fields. Returns Drop::none; or ip_header_chain, ip_option_unknown,
// ip_routing_header, ip_no_next_header or ip_protocol_unknown, each with `problem` set to the
// required answer. At most ipv6_headers_max steps, each linear in the length of its header.
[[nodiscard]] Drop walk(Ipv6Packet& packet);

// Writes a header of 40 octets to the front of `into`, which must have space for it, for a payload
// of `payload` octets (at most 65,535). Returns 40.
Bytes write(const Ipv6Header& header, Bytes payload, std::span<std::byte> into);

}  // namespace lockstep::wire
