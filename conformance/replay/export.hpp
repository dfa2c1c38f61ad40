// Replays as JSON and as pcapng.
#pragma once

#include <nlohmann/json.hpp>

#include "conformance/replay/replay.hpp"
#include "tools/base/capture/pcapng_writer.hpp"

namespace lockstep::conformance {

/// The verdict and what led to it; times in nanoseconds.
nlohmann::ordered_json to_json(const Replayed& replayed);

/// Adds what was played and what the core sent, with the core's state as comments. Times are those
/// of the replay, from 1970 on.
void add_packets(const Replayed& replayed, tools::PcapngWriter& out);

}  // namespace lockstep::conformance
