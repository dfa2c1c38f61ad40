// Corrupt: flips one bit of a frame, a fixed one or a random one within a range.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/units/random.hpp"
#include "sim/faults/verdict.hpp"

namespace lockstep::sim {

struct Corrupt {
  Probability probability{};
  std::uint32_t first_bit = 0;           // bit 0 is the most significant of the first octet
  std::uint32_t last_bit = 0xffff'ffff;  // limited to the frame; equal to first_bit: that bit

  Verdict judge(const Passing& passing, Random& random) const {
    if (!random.chance(probability)) {
      return Verdict::pass();
    }
    auto const bits = static_cast<std::uint64_t>(passing.frame.size()) * 8;
    if (first_bit >= bits) {
      return Verdict::pass();
    }
    std::uint64_t const last = last_bit < bits ? last_bit : bits - 1;
    std::uint64_t const bit = random.within({first_bit, last});
    passing.frame[static_cast<std::size_t>(bit / 8)] ^= static_cast<std::byte>(0x80u >> (bit % 8));
    return Verdict::replace();
  }
};

}  // namespace lockstep::sim
