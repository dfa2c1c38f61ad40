// Builds the IP packets that are played to the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units/address.hpp"
#include "tools/base/capture/decode.hpp"

namespace lockstep::conformance {

/// A complete packet of the segment's address family, with correct checksums, or with a wrong TCP
/// checksum if segment.sum is bad.
std::vector<std::byte> packet_of(const tools::Segment& segment);

/// An ICMP error for the device that quotes a segment from `source` to `destination` beginning at
/// `sequence`. The remaining fields come from `error`. Empty if its message is too short for the
/// header that it quotes.
std::vector<std::byte> packet_of(const tools::IcmpError& error, const Endpoint& source,
                                 const Endpoint& destination, std::uint32_t sequence);

}  // namespace lockstep::conformance
