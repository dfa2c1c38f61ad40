// The report of a run as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "sim/kernel/kernel.hpp"

namespace lockstep::tools {

/// All frames that hosts sent, also those that are devices.
std::uint64_t all_frames_of(const sim::Kernel& kernel);

/// What `lockstep sim run --json` writes: the run, its totals, each connection, each direction of
/// each link.
std::string report_json(const sim::Kernel& kernel, sim::Ending ending);

}  // namespace lockstep::tools
