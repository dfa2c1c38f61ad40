// Extents: a count of bytes, and a count of things, as types that do not mix.
#pragma once

#include <compare>
#include <cstdint>

namespace lockstep {

// A number of octets. Arithmetic is 32-bit; subtraction stops at zero.
struct Bytes {
  std::uint32_t count = 0;

  constexpr Bytes operator+(Bytes other) const { return {count + other.count}; }
  constexpr Bytes operator-(Bytes other) const {
    return {other.count >= count ? 0 : count - other.count};
  }
  constexpr Bytes& operator+=(Bytes other) {
    count += other.count;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    *this = *this - other;
    return *this;
  }
  constexpr bool empty() const { return count == 0; }
  constexpr auto operator<=>(const Bytes&) const = default;
};

constexpr Bytes least(Bytes a, Bytes b) { return a < b ? a : b; }
constexpr Bytes most(Bytes a, Bytes b) { return a < b ? b : a; }

// A number of things (connections, frames), which must not mix with byte counts.
struct Count {
  std::uint32_t value = 0;

  static constexpr Count unlimited() { return {~std::uint32_t{0}}; }
  constexpr auto operator<=>(const Count&) const = default;
};

}  // namespace lockstep
