// Substitute: swaps two 16-bit words, which the Internet checksum cannot detect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/units/random.hpp"
#include "sim/faults/verdict.hpp"

namespace lockstep::sim {

struct Substitute {
  Probability probability{};
  std::uint32_t first_byte = 54;  // earlier octets stay intact: Ethernet, IPv4 and TCP headers

  Verdict judge(const Passing& passing, Random& random) const {
    if (!random.chance(probability)) {
      return Verdict::pass();
    }
    auto const size = static_cast<std::uint64_t>(passing.frame.size());
    if (size < std::uint64_t{first_byte} + 4) {
      return Verdict::pass();
    }
    std::uint64_t const words = (size - first_byte) / 2;
    auto const one = first_byte + 2 * static_cast<std::size_t>(random.below(words));
    auto const other = first_byte + 2 * static_cast<std::size_t>(random.below(words));
    auto& frame = passing.frame;
    if (frame[one] == frame[other] && frame[one + 1] == frame[other + 1]) {
      return Verdict::pass();
    }
    std::swap(frame[one], frame[other]);
    std::swap(frame[one + 1], frame[other + 1]);
    return Verdict::replace();
  }
};

}  // namespace lockstep::sim
