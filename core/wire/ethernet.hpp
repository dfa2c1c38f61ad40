// Ethernet II frames: a checked view to read, a writer to emit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/drop.hpp"

namespace lockstep::wire {

// The protocols that we support. A parsed frame may have any other number.
enum class EtherType : std::uint16_t { ipv4 = 0x0800, arp = 0x0806, ipv6 = 0x86dd };

struct EthernetHeader {
  Mac destination;
  Mac source;
  EtherType type{};
  std::uint16_t vlan = 0;  // 802.1Q VLAN identifier, 1 to 4094; 0: no tag, or a priority tag

  bool operator==(const EthernetHeader&) const = default;
};

// Valid as long as the bytes it was parsed from.
struct EthernetFrame {
  EthernetHeader header;
  std::span<const std::byte> payload;  // includes trailing padding: only IP knows its length
};

inline constexpr std::uint32_t ethernet_header_bytes = 14;
inline constexpr std::uint32_t vlan_tag_bytes = 4;
inline constexpr std::uint16_t vlan_max = 4094;

constexpr std::uint32_t ethernet_bytes(std::uint16_t vlan) {
  return ethernet_header_bytes + (vlan != 0 ? vlan_tag_bytes : 0);
}

// Returns Drop::none, or frame_too_short with `out` unspecified. Parses one 802.1Q tag; a second
// one is reported as an unknown EtherType. `bytes` does not include the frame check sequence.
[[nodiscard]] Drop parse(std::span<const std::byte> bytes, EthernetFrame& out);

// Writes 14 octets, or 18 with a VLAN, to the front of `into`, which must have space for them, and
// returns their number.
Bytes write(const EthernetHeader& header, std::span<std::byte> into);

}  // namespace lockstep::wire
