// What a flow as a whole shows of the device, before it is read packet by packet.
#pragma once

#include "conformance/replay/negotiation.hpp"
#include "conformance/replay/script.hpp"

namespace lockstep::conformance {

/// Fills in the role, the round trip, the distance and, where no verdict is possible, why. The
/// script's ends and how it is compared are known. `scenario` may be null.
void outline(const Flow& flow, const Negotiated& agreed, const Scenario* scenario, Script& script);

}  // namespace lockstep::conformance
