// Applies a twin's edit to a flow in memory.
#pragma once

#include "conformance/replay/flow.hpp"
#include "conformance/replay/scenario.hpp"

namespace lockstep::conformance {

/// Gives the flow with the edit applied, in order of time. Throws Failure (bad_input) where the
/// edited packet is not there or is not the device's; `path` names the scenario in it.
Flow edited(const Flow& flow, const Scenario& scenario, const Edit& edit);

}  // namespace lockstep::conformance
