// Packets as records of fixed width, their fields one after the other, for arrays of numpy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units/time.hpp"

namespace lockstep::tools::python {

/// Of one record; lockstep/fields.py describes its fields in the same order.
inline constexpr std::uint32_t record_bytes = 117;

/// The record of an IP packet. One that cannot be read as IPv4 or IPv6 has version 0, one that is
/// no whole segment of TCP has only the fields of IP.
void append_record(Instant at, std::span<const std::byte> packet, std::vector<std::byte>& into);

/// The packet of a record, with `payload` behind its header; lengths and checksums are made. Throws
/// Failure (bad_input), naming the field.
std::vector<std::byte> packet_of(std::span<const std::byte> record,
                                 std::span<const std::byte> payload);

}  // namespace lockstep::tools::python
