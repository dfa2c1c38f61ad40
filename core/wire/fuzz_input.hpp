// What the parsers' fuzz programs share: the input as bytes, and their oracle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/check.hpp"

namespace lockstep::wire {

inline std::span<const std::byte> fuzz_bytes(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

// A view that was parsed lies within what it was parsed from.
inline void check_inside(std::span<const std::byte> part, std::span<const std::byte> whole) {
  if (!part.empty()) {
    CHECK(part.data() >= whole.data());
    CHECK(part.data() + part.size() <= whole.data() + whole.size());
  }
}

}  // namespace lockstep::wire
