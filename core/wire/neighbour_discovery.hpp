// Messages of neighbour discovery (RFC 4861 4): a checked view to read, a writer to emit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/drop.hpp"
#include "core/wire/icmpv6.hpp"

namespace lockstep::wire {

// A prefix option of a router advertisement.
struct NdPrefix {
  IpAddress prefix;
  std::uint8_t bits = 0;  // 0 to 128
  bool on_link = false;
  std::uint32_t lifetime_s = 0;  // ffffffff: infinite
};

// One message in host order. Which fields are valid depends on the type.
struct NdMessage {
  static constexpr std::uint32_t prefixes_max = 8;

  Icmp6Type type = Icmp6Type::neighbour_solicitation;
  IpAddress target;     // of solicitations, advertisements and redirects
  bool router = false;  // flags of an advertisement
  bool solicited = false;
  bool override = false;
  bool has_link_address = false;
  Mac link_address;  // target link address in a neighbour advertisement, otherwise source link
                     // address
  std::uint8_t hop_limit = 0;  // router advertisement only, as all below; 0: unspecified
  std::uint16_t lifetime_s = 0;
  std::uint32_t reachable_ms = 0;
  std::uint32_t retrans_ms = 0;
  std::uint32_t mtu = 0;                          // 0: not present
  std::array<NdPrefix, prefixes_max> prefixes{};  // the first prefixes_max
  std::uint32_t prefix_count = 0;
};

// The largest message that write() makes: a solicitation or advertisement with a link address.
inline constexpr std::uint32_t nd_message_bytes_max = 32;

constexpr bool is_neighbour_discovery(Icmp6Type type) {
  return type >= Icmp6Type::router_solicitation && type <= Icmp6Type::redirect;
}

// Parses a neighbour discovery message. Returns Drop::none, or nd_malformed with `out` unspecified:
// a code other than 0, too short, an option of length 0 or beyond the end, or a multicast target.
// Unknown options and reserved fields are ignored. One step per option.
[[nodiscard]] Drop parse(const Icmp6Message& message, NdMessage& out);

// Writes a neighbour solicitation, neighbour advertisement or router solicitation with ICMPv6
// header and checksum to the front of `into`, which must have space for nd_message_bytes_max
// octets, and returns its length.
Bytes write(const Icmp6Path& path, const NdMessage& message, std::span<std::byte> into);

}  // namespace lockstep::wire
