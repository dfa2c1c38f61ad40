// What a flow as a whole shows about the device, found before its packets are read one by one.
#pragma once

#include "conformance/replay/negotiation.hpp"
#include "conformance/replay/script.hpp"

namespace lockstep::conformance {

/// Sets the role, the round trip, the distance and, if no verdict is possible, the reason. The
/// script's endpoints and kind of comparison must be set. `scenario` may be null.
void outline(const Flow& flow, const Negotiated& agreed, const Scenario* scenario, Script& script);

}  // namespace lockstep::conformance
