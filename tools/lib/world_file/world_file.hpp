// Reads a world from a TOML file; sim/README.md lists the keys.
#pragma once

#include <string>
#include <vector>

#include "sim/kernel/world.hpp"

namespace lockstep::tools {

/// Whether hosts may be other TCPs (`device = "lwip"`). Then the kernel needs a registry with the
/// station `device`.
enum class Devices { refused, allowed };

/// Reads the whole file strictly. Throws Failure (bad_input) with "file:line: what, expected, mend"
/// for the first error; nothing has been written then.
sim::World read_world(const std::string& path);

/// As above, with `settings` applied in turn: "HOST.FIELD=VALUE" sets a field of that host's Config
/// ('*': of every host) as a line of its [host.config] would; "NAME.KEY=VALUE" sets a key of the
/// link, app or fault of that name. Strings need no quotes. Throws Failure (bad_input) naming a
/// setting that is wrong.
sim::World read_world(const std::string& path, const std::vector<std::string>& settings,
                      Devices devices = Devices::refused);

/// As above, from the text of a file; errors use `name` as the file's name.
sim::World read_world_text(const std::string& text, const std::string& name,
                           const std::vector<std::string>& settings);

}  // namespace lockstep::tools
