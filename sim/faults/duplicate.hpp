// Duplicate: a frame arrives, and then a copy of it.
#pragma once

#include "core/units/random.hpp"
#include "sim/faults/verdict.hpp"

namespace lockstep::sim {

struct Duplicate {
  Probability probability{};
  Duration within{};  // the copy is later by zero to this much

  Verdict judge(const Passing&, Random& random) const {
    if (!random.chance(probability)) {
      return Verdict::pass();
    }
    return Verdict::copy(Duration{random.within({0, within.ns})});
  }
};

}  // namespace lockstep::sim
