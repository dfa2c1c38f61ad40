// The verdict on a capture without a scenario: which breaches are violations, and of which side.
#pragma once

#include <vector>

#include "conformance/replay/cross.hpp"
#include "conformance/replay/verdict.hpp"
#include "conformance/replay/watch.hpp"

namespace lockstep::conformance {

/// `all` holds the breaches of the audits and the cross checks. Only a sure breach by a device at
/// the capture point is a violation. Another breach is an allowed difference if it concerns the
/// time, number or order of packets that may have been lost; otherwise the verdict is "cannot
/// tell".
Verdict settle_unaided(const Script& script, const LiveRun& run, std::vector<CrossBreach> all,
                       std::set<Rule> rules);

/// Adds findings that no TCP may cause, wherever the capture point is. They are added to any
/// verdict.
void add_findings(Verdict& verdict, const Script& script, const std::vector<Finding>& findings);

}  // namespace lockstep::conformance
