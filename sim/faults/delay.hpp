// Delay: every frame is late by a constant and a random part, in order or not.
#pragma once

#include "core/units/random.hpp"
#include "sim/faults/verdict.hpp"

namespace lockstep::sim {

struct Delay {
  Duration base{};
  Duration jitter{};       // zero to this much more, drawn for each frame
  bool keep_order = true;  // no frame overtakes another
  Instant latest{0};       // the last arrival so far, less the link's own delay

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
