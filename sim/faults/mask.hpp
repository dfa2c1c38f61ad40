// Mask: loses exactly the frames that a bit mask selects.
#pragma once

#include <array>
#include <cstdint>

#include "core/units/check.hpp"
#include "core/units/random.hpp"
#include "sim/faults/verdict.hpp"

namespace lockstep::sim {

struct Mask {
  static constexpr std::uint32_t bits_max = 1024;

  std::array<std::uint64_t, bits_max / 64> words{};
  std::uint32_t bits = 0;    // length of the mask
  bool repeat = false;       // after its end: start over; otherwise lose nothing more
  std::uint32_t period = 0;  // of a repeated mask: frames from one start to the next; 0: `bits`
  std::uint64_t seen = 0;    // frames so far while the rule was active

  // Selects the frame of that number, counted from 0.
  void lose(std::uint32_t nth) {
    CHECK(nth < bits_max);
    words[nth / 64] |= std::uint64_t{1} << (nth % 64);
    bits = bits > nth ? bits : nth + 1;
  }

  Verdict judge(const Passing&, Random&) {
    std::uint32_t const again = period != 0 ? period : bits;
    std::uint64_t const nth = repeat && again != 0 ? seen % again : seen;
    ++seen;
    bool const lost =
        nth < bits && (words[static_cast<std::uint32_t>(nth / 64)] >> (nth % 64) & 1) != 0;
    return lost ? Verdict::drop(LinkDrop::masked) : Verdict::pass();
  }
};

}  // namespace lockstep::sim
