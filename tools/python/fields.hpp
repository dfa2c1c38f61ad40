// Packets as fixed-width records of consecutive fields, for numpy arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units/time.hpp"

namespace lockstep::tools::python {

/// Length of a record; lockstep/fields.py describes its fields in the same order.
inline constexpr std::uint32_t record_bytes = 117;

/// Appends the record of an IP packet. A packet that is not valid IPv4 or IPv6 gets version 0; one
/// that is not a whole TCP segment gets only the fields of IP.
void append_record(Instant at, std::span<const std::byte> packet, std::vector<std::byte>& into);

/// The packet of a record with `payload` after its header; lengths and checksums are computed.
/// Throws Failure (bad_input) naming the field.
std::vector<std::byte> packet_of(std::span<const std::byte> record,
                                 std::span<const std::byte> payload);

}  // namespace lockstep::tools::python
