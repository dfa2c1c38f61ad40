// What a capture lacks or has in another order than it was sent: why a flow cannot be judged.
#pragma once

#include <string>

#include "conformance/replay/flow.hpp"

namespace lockstep::conformance {

/// One sentence that names the packet, or nothing where the flow is whole. `strict`: the device's
/// packets came by as it sent them, so that a gap among them is the capture's.
std::string capture_fault(const Flow& flow, const Endpoint& device, bool strict);

}  // namespace lockstep::conformance
