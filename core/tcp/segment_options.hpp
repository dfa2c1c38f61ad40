// Which options a segment carries: the one place where all features share the 40 octets.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/output.hpp"

namespace lockstep::tcp {

// What the planned segment carries, SYN or not. Each feature has its own lines in here; what is
// announced on SYNs comes first, then what every segment carries, then what fills the space that
// is left.
wire::Options options_of(const Engine& e, const Connection& c, const Plan& plan);

// Writes the options of the planned segment to the front of `into` (the place behind the header's
// fixed part) and gives their length, a multiple of 4. A segment without options costs one branch.
inline Bytes write_segment_options(const Engine& e, const Connection& c, const Plan& plan,
                                   std::span<std::byte> into) {
  if (!plan.syn) {
    return {};
  }
  return wire::write(options_of(e, c, plan), into, e.config.option_order);
}

}  // namespace lockstep::tcp
