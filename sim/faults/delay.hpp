// Delay: delays every frame by a constant plus a random part, with or without reordering.
#pragma once

#include "core/units/random.hpp"
#include "sim/faults/verdict.hpp"

namespace lockstep::sim {

struct Delay {
  Duration base{};
  Duration jitter{};       // additional, uniform from zero to this, per frame
  bool keep_order = true;  // frames do not overtake each other
  Instant latest{0};       // the last arrival so far, without the link's own delay

  Verdict judge(const Passing& passing, Random& random) {
    Duration const drawn = base + Duration{random.within({0, jitter.ns})};
    Instant due = passing.at + drawn;
    if (keep_order && due < latest) {
      due = latest;
    }
    latest = later(latest, due);
    return Verdict::deliver(due.since(passing.at));
  }
};

}  // namespace lockstep::sim
