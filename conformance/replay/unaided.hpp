// The verdict on a capture that nobody tells more about: what in it is an accusal, and of whom.
#pragma once

#include <vector>

#include "conformance/replay/cross.hpp"
#include "conformance/replay/verdict.hpp"
#include "conformance/replay/watch.hpp"

namespace lockstep::conformance {

/// `all` is what the audits and the cross checks found. Only what is sure, of a device beside which
/// the capture was taken, is an accusal; the rest is a difference that is allowed where it is a
/// matter of time, number or order of what may be lost, and else nothing can be told.
Verdict settle_unaided(const Script& script, const LiveRun& run, std::vector<CrossBreach> all,
                       std::set<Rule> rules);

/// Adds what no TCP may do wherever the capture was taken: it stands beside any other verdict.
void add_findings(Verdict& verdict, const Script& script, const std::vector<Finding>& findings);

}  // namespace lockstep::conformance
