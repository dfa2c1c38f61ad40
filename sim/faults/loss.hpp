// Loss: each frame is lost with one probability, whatever became of the others.
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
