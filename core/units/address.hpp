// Addresses: link, internet (one type for IPv4 and IPv6), port, endpoint, four-tuple.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstdint>

namespace lockstep {

// An Ethernet address; the first octet is the first on the wire.
struct Mac {
  std::array<std::uint8_t, 6> octets{};

  static constexpr Mac broadcast() { return {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}; }
  constexpr bool is_group() const { return (octets[0] & 1) != 0; }
  // As a 48-bit number, the first octet highest.
  constexpr std::uint64_t number() const {
    std::uint64_t value = 0;
    for (std::uint8_t octet : octets) {
      value = value << 8 | octet;
    }
    return value;
  }
  constexpr auto operator<=>(const Mac&) const = default;
};

// An IPv4 address as a number: 10.0.0.1 is 0x0a000001.
struct Ipv4 {
  std::uint32_t value = 0;

  constexpr bool is_unspecified() const { return value == 0; }
  constexpr bool is_limited_broadcast() const { return value == 0xffff'ffff; }
  constexpr bool is_multicast() const { return (value >> 28) == 0xe; }
  constexpr bool is_loopback() const { return (value >> 24) == 127; }
  // 0.0.0.0/8 and 240.0.0.0/4 (which includes the limited broadcast): not valid as a source.
  constexpr bool is_reserved() const { return (value >> 24) == 0 || (value >> 28) == 0xf; }
  constexpr auto operator<=>(const Ipv4&) const = default;
};

// An IPv4 or IPv6 address; IPv4 is stored as ::ffff:a.b.c.d, so both compare and hash the same way.
// `high` and `low` are the two halves as big-endian numbers.
struct IpAddress {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  // The IPv4 address as ::ffff:a.b.c.d.
  static constexpr IpAddress from(Ipv4 v4) {
    return {0, std::uint64_t{0xffff'0000'0000} | v4.value};
  }
  // The IPv4 address a.b.c.d.
  static constexpr IpAddress v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    return from(Ipv4{static_cast<std::uint32_t>(a) << 24 | static_cast<std::uint32_t>(b) << 16 |
                     static_cast<std::uint32_t>(c) << 8 | d});
  }
  constexpr bool is_v4() const { return high == 0 && (low >> 32) == 0xffff; }
  // Only valid if is_v4().
  constexpr Ipv4 as_v4() const { return {static_cast<std::uint32_t>(low)}; }
  // ::, or ::ffff:0.0.0.0
  constexpr bool is_unspecified() const {
    return high == 0 && (low == 0 || low == 0xffff'0000'0000);
  }
  // 224.0.0.0/4 (RFC 1112) or ff00::/8 (RFC 4291 2.7).
  constexpr bool is_multicast() const {
    return is_v4() ? as_v4().is_multicast() : (high >> 56) == 0xff;
  }
  // The following are only valid if not is_v4().
  // fe80::/10, link-local (RFC 4291 2.5.6).
  constexpr bool is_link_local() const { return (high >> 54) == 0x3fa; }
  // A unicast address that a host may have: not ::, ::1, multicast or IPv4-mapped.
  constexpr bool is_v6_host() const {
    bool const first = high == 0 && (low <= 1 || (low >> 32) == 0xffff);
    return !first && (high >> 56) != 0xff;
  }
  // The solicited-node group of this address (RFC 4291 2.7.1).
  constexpr IpAddress solicited_node() const {
    return {0xff02'0000'0000'0000, std::uint64_t{0x1'ff00'0000} | (low & 0xff'ffff)};
  }
  constexpr auto operator<=>(const IpAddress&) const = default;
};

inline constexpr IpAddress all_nodes{0xff02'0000'0000'0000, 1};
inline constexpr IpAddress all_routers{0xff02'0000'0000'0000, 2};

// The Ethernet address of an IPv6 multicast group (RFC 2464 7).
constexpr Mac group_mac(IpAddress group) {
  Mac mac{{0x33, 0x33, 0, 0, 0, 0}};
  for (std::uint32_t i = 0; i < 4; ++i) {
    mac.octets[2 + i] = static_cast<std::uint8_t>(group.low >> (24 - 8 * i));
  }
  return mac;
}

// fe80:: and the modified EUI-64 of an Ethernet address (RFC 4291 2.5.1, RFC 2464 5).
//= rfc4862#5.3
//# 4862:DAD-12 the prefix, zeros, and the interface identifier
constexpr IpAddress link_local_of(Mac mac) {
  std::uint64_t const upper = mac.number() >> 24 ^ 0x2'0000;
  std::uint64_t const lower = mac.number() & 0xff'ffff;
  return {0xfe80'0000'0000'0000, upper << 40 | std::uint64_t{0xff'fe} << 24 | lower};
}

// Two addresses of equal rank.
struct IpAddressPair {
  IpAddress first;
  IpAddress second;
};

// The length of the common prefix of two addresses: 0 to 128. IPv4 counts as ::ffff:a.b.c.d.
constexpr std::uint32_t common_bits(const IpAddressPair& pair) {
  std::uint64_t const high = pair.first.high ^ pair.second.high;
  if (high != 0) {
    return static_cast<std::uint32_t>(std::countl_zero(high));
  }
  return 64 + static_cast<std::uint32_t>(std::countl_zero(pair.first.low ^ pair.second.low));
}

// A TCP port in host byte order. 0: none.
struct Port {
  std::uint16_t value = 0;
  constexpr auto operator<=>(const Port&) const = default;
};

// An address with a port: one end of a connection.
struct Endpoint {
  IpAddress address;
  Port port;
  constexpr auto operator<=>(const Endpoint&) const = default;
};

// A connection from this host's point of view.
struct FourTuple {
  Endpoint local;
  Endpoint remote;
  constexpr auto operator<=>(const FourTuple&) const = default;
};

}  // namespace lockstep
