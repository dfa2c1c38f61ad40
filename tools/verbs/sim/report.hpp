// What a run came to, as a table for people and as JSON for programs.
#pragma once

#include <string>

#include "sim/kernel/kernel.hpp"

namespace lockstep::tools {

/// Per connection: bytes, goodput, segments, retransmissions, RTT, cwnd, duration; per link:
/// frames, drops by named reason; per host: what its stack dropped, by name. `width` is that of
/// the terminal, 0 where there is none.
std::string report_text(const sim::Kernel& kernel, sim::Ending ending, std::size_t width);
std::string report_json(const sim::Kernel& kernel, sim::Ending ending);

/// Every connection ended well and every byte that was read had been written there.
bool all_well(const sim::Kernel& kernel, sim::Ending ending);

}  // namespace lockstep::tools
