// Builds the IP packets that are played to the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units/address.hpp"
#include "tools/base/capture/decode.hpp"

namespace lockstep::conformance {

/// The segment as a whole packet of its addresses' family between its endpoints, with right
/// checksums, or with a wrong TCP checksum where segment.sum is bad.
std::vector<std::byte> packet_of(const tools::Segment& segment);

/// An ICMP error to the device, quoting a segment from `source` to `destination` that begins at
/// `sequence`; the rest is as in `error`.
std::vector<std::byte> packet_of(const tools::IcmpError& error, const Endpoint& source,
                                 const Endpoint& destination, std::uint32_t sequence);

}  // namespace lockstep::conformance
