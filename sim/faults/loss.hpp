// Loss: each frame is lost independently with the same probability.
#pragma once

#include "core/units/random.hpp"
#include "sim/faults/verdict.hpp"

namespace lockstep::sim {

struct Loss {
  Probability probability{};

  Verdict judge(const Passing&, Random& random) const {
    return random.chance(probability) ? Verdict::drop(LinkDrop::lost) : Verdict::pass();
  }
};

}  // namespace lockstep::sim
