// What ns-3 makes of a word: where it does not understand one it ends the process.
#pragma once

#include <functional>

namespace lockstep::tools {

/// Whether `act` is true, in a process of its own, which ns-3 may end.
bool ns3_takes(const std::function<bool()>& act);

}  // namespace lockstep::tools
