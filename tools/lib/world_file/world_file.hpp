// A world from a TOML file: sim/README.md says which keys there are.
#pragma once

#include <string>
#include <vector>

#include "sim/kernel/world.hpp"

namespace lockstep::tools {

/// Reads the whole file, strictly. Throws Failure (bad_input) with "file:line: what, expected,
/// mend" for the first thing that is wrong; nothing has been written then.
sim::World read_world(const std::string& path);

/// The same, and then each of `settings` in turn: "HOST.FIELD=VALUE" sets a field of that host's
/// Config ('*': every host's) as a line of its [host.config] would, "NAME.KEY=VALUE" a key of the
/// link, app or fault of that name, before; texts need no quotes. Throws Failure (bad_input), with
/// the setting in place of the file, for one that is wrong.
sim::World read_world(const std::string& path, const std::vector<std::string>& settings);

/// The same of what would stand in a file; `name` stands for the file.
sim::World read_world_text(const std::string& text, const std::string& name,
                           const std::vector<std::string>& settings);

}  // namespace lockstep::tools
