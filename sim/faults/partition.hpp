// Partition: while active, drops every frame, on one lane of a link or on both.
#pragma once

#include "core/units/random.hpp"
#include "sim/faults/verdict.hpp"

namespace lockstep::sim {

struct Partition {
  Verdict judge(const Passing&, Random&) const { return Verdict::drop(LinkDrop::partitioned); }
};

}  // namespace lockstep::sim
