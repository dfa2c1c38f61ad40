// A world from a TOML file: sim/README.md says which keys there are.
#pragma once

#include <string>

#include "sim/kernel/world.hpp"

namespace lockstep::tools {

/// Reads the whole file, strictly. Throws Failure (bad_input) with "file:line: what, expected,
/// mend" for the first thing that is wrong; nothing has been written then.
sim::World read_world(const std::string& path);

}  // namespace lockstep::tools
