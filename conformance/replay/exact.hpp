// Compares a replay with an authored capture: every segment, in its instant.
#pragma once

#include <string>
#include <vector>

#include "conformance/replay/verdict.hpp"
#include "core/stack/config.hpp"

namespace lockstep::conformance {

/// `shows` only chooses between clauses that say the same of a moment (see Clauses).
Verdict compare_exactly(const Script& script, const LiveRun& run, const Config& config,
                        const std::vector<std::string>& shows);

/// Do the two say the same? IP ID, TTL, DSCP, PSH, padding, the order of options and the size of a
/// window that stays open do not count.
bool same_content(const Script& script, const LiveRun& run, const Sent& captured,
                  const LiveSent& live);

}  // namespace lockstep::conformance
