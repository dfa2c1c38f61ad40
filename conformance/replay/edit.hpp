// Applies a twin's edit to a flow in memory.
#pragma once

#include "conformance/replay/flow.hpp"
#include "conformance/replay/scenario.hpp"

namespace lockstep::conformance {

/// Returns the flow with the edit applied, in order of time. Throws Failure (bad_input) if the
/// packet does not exist or is not the device's. `path` names the scenario in the message.
Flow edited(const Flow& flow, const Scenario& scenario, const Edit& edit);

}  // namespace lockstep::conformance
