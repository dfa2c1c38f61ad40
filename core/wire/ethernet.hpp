// Ethernet II frames: a checked view to read, a writer to emit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/drop.hpp"

namespace lockstep::wire {

// The protocols of ours. A parsed frame may hold any other number.
enum class EtherType : std::uint16_t { ipv4 = 0x0800, arp = 0x0806, ipv6 = 0x86dd };

struct EthernetHeader {
  Mac destination;
  Mac source;
  EtherType type{};

  bool operator==(const EthernetHeader&) const = default;
};

// Valid as long as the bytes that it was parsed from.
struct EthernetFrame {
  EthernetHeader header;
  std::span<const std::byte> payload;  // trailing padding included: only IP knows its length
};

inline constexpr std::uint32_t ethernet_header_bytes = 14;

// Drop::none, or frame_too_short with `out` untouched. The check sequence is not part of `bytes`.
[[nodiscard]] Drop parse(std::span<const std::byte> bytes, EthernetFrame& out);

// Writes 14 octets to the front of `into`, which holds them, and gives their number.
Bytes write(const EthernetHeader& header, std::span<std::byte> into);

}  // namespace lockstep::wire
