// Shared by the fuzz programs of the parsers: the input as bytes, and the check of results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/check.hpp"

namespace lockstep::wire {

inline std::span<const std::byte> fuzz_bytes(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

// CHECKs that a parsed view is inside the bytes it was parsed from.
inline void check_inside(std::span<const std::byte> part, std::span<const std::byte> whole) {
  if (!part.empty()) {
    CHECK(part.data() >= whole.data());
    CHECK(part.data() + part.size() <= whole.data() + whole.size());
  }
}

}  // namespace lockstep::wire
