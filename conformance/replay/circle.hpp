// Comparison of raw sequence numbers modulo 2^32, and their positions in a longer stream.
#pragma once

#include <cstdint>

namespace lockstep::conformance {

constexpr bool at_or_before(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(b - a) >= 0;
}
constexpr bool before(std::uint32_t a, std::uint32_t b) { return a != b && at_or_before(a, b); }

/// The 64-bit position of a sequence number that is near `near`.
constexpr std::int64_t position(std::int64_t near, std::uint32_t number) {
  return near + static_cast<std::int32_t>(number - static_cast<std::uint32_t>(near));
}

}  // namespace lockstep::conformance
