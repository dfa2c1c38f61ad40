// A TCP sequence number: a position modulo 2^32, so it has no `<`.
#pragma once

#include <cstdint>

#include "core/units/bytes.hpp"

namespace lockstep {

//= rfc9293#3.4
//# 9293:P-SEQ-MOD all arithmetic and comparison is modulo 2^32
struct Sequence {
  std::uint32_t value = 0;

  constexpr Sequence operator+(Bytes extent) const { return {value + extent.count}; }
  constexpr Sequence operator-(Bytes extent) const { return {value - extent.count}; }
  constexpr Sequence next() const { return {value + 1}; }
  constexpr Sequence previous() const { return {value - 1}; }

  // The signed distance from `other` to this, in [-2^31, 2^31).
  constexpr std::int32_t distance_from(Sequence other) const {
    return static_cast<std::int32_t>(value - other.value);
  }
  constexpr bool before(Sequence other) const { return distance_from(other) < 0; }
  constexpr bool after(Sequence other) const { return distance_from(other) > 0; }
  constexpr bool at_or_before(Sequence other) const { return distance_from(other) <= 0; }
  constexpr bool at_or_after(Sequence other) const { return distance_from(other) >= 0; }

  // The number of octets from `begin` to this; zero if this is not after `begin`.
  constexpr Bytes since(Sequence begin) const { return {after(begin) ? value - begin.value : 0}; }
  // begin <= this < begin + extent, modulo 2^32.
  constexpr bool inside(Sequence begin, Bytes extent) const {
    return value - begin.value < extent.count;
  }
  constexpr bool operator==(const Sequence&) const = default;
};

constexpr Sequence first_of(Sequence a, Sequence b) { return a.before(b) ? a : b; }
constexpr Sequence last_of(Sequence a, Sequence b) { return a.after(b) ? a : b; }

}  // namespace lockstep
