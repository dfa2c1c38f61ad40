// ARP for IPv4 over Ethernet (RFC 826): a checked view to read, a writer to emit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "core/units/drop.hpp"

namespace lockstep::wire {

enum class ArpOperation : std::uint16_t { request = 1, reply = 2 };

struct ArpPacket {
  ArpOperation operation = ArpOperation::request;
  Mac sender_mac;
  Ipv4 sender;
  Mac target_mac;  // meaningless in a request
  Ipv4 target;

  bool operator==(const ArpPacket&) const = default;
};

inline constexpr std::uint32_t arp_packet_bytes = 28;

// Returns Drop::none, or arp_malformed with `out` unchanged. Padding after the packet is ignored.
[[nodiscard]] Drop parse(std::span<const std::byte> bytes, ArpPacket& out);

// Writes 28 octets to the front of `into`, which must have space for them, and returns 28.
Bytes write(const ArpPacket& packet, std::span<std::byte> into);

}  // namespace lockstep::wire
