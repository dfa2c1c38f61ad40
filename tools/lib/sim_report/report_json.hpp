// The report of a run as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/kernel/kernel.hpp"

namespace lockstep::tools {

/// All frames that hosts sent, also those that are devices.
std::uint64_t all_frames_of(const sim::Kernel& kernel);

/// What `lockstep sim run --json` writes: the run, its totals, each connection, each direction of
/// each link. `ending` is a name_of(sim::Ending), or "running".
std::string report_json(const sim::Kernel& kernel, std::string_view ending);

}  // namespace lockstep::tools
