// Comparison of raw sequence numbers modulo 2^32.
#pragma once

#include <cstdint>

namespace lockstep::conformance {

constexpr bool at_or_before(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(b - a) >= 0;
}
constexpr bool before(std::uint32_t a, std::uint32_t b) { return a != b && at_or_before(a, b); }

}  // namespace lockstep::conformance
