// Metrics of the whole process, with the names that Prometheus' own libraries use.
#pragma once

#include <string>

#include "core/units/time.hpp"

namespace lockstep::tools {

/// Version, processor time, memory, descriptors and start of this process.
std::string process_metrics();

/// Seconds as Prometheus' format expects them, without trailing zeros: "0.0025", "10.0".
std::string seconds_text(Duration time);

}  // namespace lockstep::tools
