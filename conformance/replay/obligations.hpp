// Compares a replay with a capture of another TCP: by what both must do, not by what both did.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/replay/verdict.hpp"
#include "core/stack/config.hpp"

namespace lockstep::conformance {

/// The closed list of differences that the RFCs permit.
enum class Rule : std::uint8_t {
  segmentation,       ///< the same octets in other segments (RFC 9293 3.7)
  ack_coalescing,     ///< fewer or more ACKs, each within 500 ms (RFC 9293 3.8.6.3)
  timing,             ///< another time in the same class of times
  initial_window,     ///< another number of segments before the first ACK (RFC 5681, RFC 6928)
  congestion_window,  ///< a smaller congestion window, within what RFC 5681 permits
  recovery,           ///< different retransmissions of unacknowledged data (SACK, RACK, probes)
  window_updates,     ///< window updates more or less often (RFC 9293 3.8.6.2.2)
  nagle_variant,      ///< a last small segment while full-sized ones are outstanding (Minshall)
  closing_reset,      ///< a reset after both sides had finished
};

inline constexpr std::size_t rule_count = 9;

std::string_view name_of(Rule rule);

Verdict compare_obligations(const Script& script, const LiveRun& run, const Config& config,
                            const std::vector<std::string>& shows);

}  // namespace lockstep::conformance
