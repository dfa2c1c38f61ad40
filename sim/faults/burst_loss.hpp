// Burst loss: the two-state chain of Gilbert and Elliott, moved once a frame.
#pragma once

#include "core/units/random.hpp"
#include "sim/faults/verdict.hpp"

namespace lockstep::sim {

struct BurstLoss {
  Probability to_bad{};     // a frame in the good state moves to the bad one
  Probability to_good{};    // a frame in the bad state moves to the good one
  Probability good_loss{};  // of a frame in the good state
  Probability bad_loss{Probability::certain};
  bool bad = false;  // the state now

  Verdict judge(const Passing&, Random& random) {
    if (random.chance(bad ? to_good : to_bad)) {
      bad = !bad;
    }
    bool const lost = random.chance(bad ? bad_loss : good_loss);
    return lost ? Verdict::drop(LinkDrop::burst_lost) : Verdict::pass();
  }
};

}  // namespace lockstep::sim
