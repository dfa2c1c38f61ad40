// Exports replays as JSON and as pcapng.
#pragma once

#include <nlohmann/json.hpp>

#include "conformance/replay/replay.hpp"
#include "tools/base/capture/pcapng_writer.hpp"

namespace lockstep::conformance {

/// The verdict and the data behind it; times in nanoseconds.
nlohmann::ordered_json to_json(const Replayed& replayed);

/// Updates what to_json() returned: `later` has the violations after the replayed part, and
/// `verdict` is the verdict with these.
void add_later(const Verdict& verdict, const Verdict& later, nlohmann::ordered_json& flow);

/// Writes the played packets and the core's packets, with the core's state as comments. Times are
/// those of the replay, counted from 1970.
void add_packets(const Replayed& replayed, tools::PcapngWriter& out);

}  // namespace lockstep::conformance
