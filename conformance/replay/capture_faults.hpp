// Finds losses and reordering in a capture that make a verdict impossible.
#pragma once

#include <string>

#include "conformance/replay/flow.hpp"

namespace lockstep::conformance {

/// One sentence that names the packet, or an empty string if the flow is complete. `strict`: the
/// capture point saw the device's packets as they were sent, so a gap among them is the capture's.
std::string capture_fault(const Flow& flow, const Endpoint& device, bool strict);

}  // namespace lockstep::conformance
