// The port of ns-3 as one that scenarios and cells of the matrix can be run on.
#pragma once

#include "tools/lib/sim_nic/port_kinds.hpp"

namespace lockstep::tools {

/// "ns3": a LockstepStack's port, a device and a channel of ns-3, and ns-3's clock.
PortKind ns3_port_kind();

}  // namespace lockstep::tools
