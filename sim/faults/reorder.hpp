// Reorder: a frame is held back, so that those behind it overtake.
#pragma once

#include "core/units/random.hpp"
#include "sim/faults/verdict.hpp"

namespace lockstep::sim {

struct Reorder {
  Probability probability{};
  Duration hold{};  // how long

  Verdict judge(const Passing&, Random& random) const {
    return random.chance(probability) ? Verdict::deliver(hold) : Verdict::pass();
  }
};

}  // namespace lockstep::sim
