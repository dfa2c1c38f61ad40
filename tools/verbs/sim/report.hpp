// The result of a run as text tables.
#pragma once

#include <string>

#include "sim/kernel/kernel.hpp"

namespace lockstep::tools {

/// Per connection: bytes, goodput, segments, retransmissions, RTT, cwnd, duration; per link:
/// frames, drops by named reason; per host: its stack's drops by name. `width` is that of the
/// terminal, 0 if there is none.
std::string report_text(const sim::Kernel& kernel, sim::Ending ending, std::size_t width);

/// True if every connection ended well and every byte read equals the byte written at that place.
bool all_well(const sim::Kernel& kernel, sim::Ending ending);

}  // namespace lockstep::tools
