// Burst loss: the two-state Gilbert-Elliott model, one transition per frame.
#pragma once

#include "core/units/random.hpp"
#include "sim/faults/verdict.hpp"

namespace lockstep::sim {

struct BurstLoss {
  Probability to_bad{};     // transition from good to bad, per frame
  Probability to_good{};    // transition from bad to good, per frame
  Probability good_loss{};  // loss in the good state
  Probability bad_loss{Probability::certain};
  bool bad = false;  // current state

  Verdict judge(const Passing&, Random& random) {
    if (random.chance(bad ? to_good : to_bad)) {
      bad = !bad;
    }
    bool const lost = random.chance(bad ? bad_loss : good_loss);
    return lost ? Verdict::drop(LinkDrop::burst_lost) : Verdict::pass();
  }
};

}  // namespace lockstep::sim
