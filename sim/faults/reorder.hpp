// Reorder: holds a frame back so that later frames overtake it.
#pragma once

#include "core/units/random.hpp"
#include "sim/faults/verdict.hpp"

namespace lockstep::sim {

struct Reorder {
  Probability probability{};
  Duration hold{};  // how long a frame is held

  Verdict judge(const Passing&, Random& random) const {
    return random.chance(probability) ? Verdict::deliver(hold) : Verdict::pass();
  }
};

}  // namespace lockstep::sim
