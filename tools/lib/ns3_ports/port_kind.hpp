// The ns-3 port as a kind of port for scenarios and cells of the matrix.
#pragma once

#include "tools/lib/sim_nic/port_kinds.hpp"

namespace lockstep::tools {

/// "ns3": a LockstepStack's port with a device, a channel and the clock of ns-3.
PortKind ns3_port_kind();

}  // namespace lockstep::tools
