// IPv6 packets (RFC 8200): a checked view to read, the walk along its headers, a writer to emit.
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
  std::uint8_t next_header = 0;  // what follows at once: an extension or a transport
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

// The error that a packet asks for: an ICMPv6 parameter problem, or none.
struct Ipv6Problem {
  bool complain = false;
  bool to_group_too = false;  // even if it was sent to a group (RFC 8200 4.2, option bits 10)
  std::uint8_t code = 0;
  std::uint32_t pointer = 0;  // the octet that is wrong, counted from the IPv6 header
};

// Valid as long as the bytes that it was parsed from.
struct Ipv6Packet {
  Ipv6Header header;
  std::span<const std::byte> bytes;  // up to the payload length: the link's padding is cut off
  // Known after walk():
  std::span<const std::byte> payload;  // behind the last header that was walked
  IpProtocol protocol{};               // of `payload`
  bool has_fragment = false;           // a fragment header was met: `fragment` is it
  Ipv6Fragment fragment;
  std::uint16_t fragment_at = 0;        // where that header begins
  std::uint16_t fragment_named_at = 0;  // where the header before it names it
  Ipv6Problem problem;
};

inline constexpr std::uint32_t ipv6_header_bytes = 40;
inline constexpr std::uint32_t ipv6_fragment_bytes = 8;
// Every link carries so much (RFC 8200 5).
inline constexpr std::uint32_t ipv6_mtu_least = 1280;
// Headers of one packet beyond which nobody sends in earnest (RFC 8504 5.3 lets a host limit them).
inline constexpr std::uint32_t ipv6_headers_max = 64;

// Codes of ICMPv6 parameter problems.
inline constexpr std::uint8_t problem_field = 0;
inline constexpr std::uint8_t problem_next_header = 1;
inline constexpr std::uint8_t problem_option = 2;
inline constexpr std::uint8_t problem_first_fragment = 3;

// Reads the fixed header. Drop::none, ip_too_short, ip_version or ip_total_length with `out`
// unspecified.
[[nodiscard]] Drop parse(std::span<const std::byte> bytes, Ipv6Packet& out);

// Walks the extension headers in their order up to a transport, to nothing, or to a header of a
// real fragment; an atomic fragment's is stepped over. For a packet that is for us, parsed. Fills
// the rest of `packet`. Drop::none; or ip_header_chain, ip_option_unknown, ip_routing_header,
// ip_no_next_header, ip_protocol_unknown, each with `problem` as it must be answered. At most
// ipv6_headers_max steps, each of them linear in its header's length.
[[nodiscard]] Drop walk(Ipv6Packet& packet);

// Writes a header of 40 octets to the front of `into`, which holds them, for `payload` octets to
// follow (at most 65,535), and gives its length.
Bytes write(const Ipv6Header& header, Bytes payload, std::span<std::byte> into);

}  // namespace lockstep::wire
