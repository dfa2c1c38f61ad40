// Tries a value in a child process, because ns-3 ends the process for one that it does not accept.
#pragma once

#include <functional>

namespace lockstep::tools {

/// Whether `act` returns true in a child process, which ns-3 may end.
bool ns3_takes(const std::function<bool()>& act);

}  // namespace lockstep::tools
