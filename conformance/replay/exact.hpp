// Compares a replay with an authored capture: every segment at its exact time.
#pragma once

#include <string>
#include <vector>

#include "conformance/replay/verdict.hpp"
#include "core/stack/config.hpp"

namespace lockstep::conformance {

/// `shows` only selects among equivalent clauses (see Clauses).
Verdict compare_exactly(const Script& script, const LiveRun& run, const Config& config,
                        const std::vector<std::string>& shows);

/// Whether the two segments are equal, ignoring IP ID, TTL, DSCP, PSH, padding, option order and
/// the size of a window that stays open.
bool same_content(const Script& script, const LiveRun& run, const Sent& captured,
                  const LiveSent& live);

}  // namespace lockstep::conformance
