// Compares a replay with a capture of another TCP: what both owe, not what both did.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/replay/verdict.hpp"
#include "core/stack/config.hpp"

namespace lockstep::conformance {

/// The closed list of differences that the RFCs leave to the implementation.
enum class Rule : std::uint8_t {
  segmentation,       ///< the same octets, cut elsewhere (RFC 9293 3.7)
  ack_coalescing,     ///< fewer or more ACKs, each within 500 ms (RFC 9293 3.8.6.3)
  timing,             ///< another instant within the same class of time
  initial_window,     ///< another number of segments before the first ACK (RFC 5681, RFC 6928)
  congestion_window,  ///< a smaller window later on, within what RFC 5681 allows
  recovery,           ///< other retransmissions of what was not acknowledged (SACK, RACK, probes)
  window_updates,     ///< window updates more or less often (RFC 9293 3.8.6.2.2)
  nagle_variant,      ///< a last small segment although full ones are outstanding (Minshall)
  closing_reset,      ///< a reset after both sides were done
};

inline constexpr std::size_t rule_count = 9;

std::string_view name_of(Rule rule);

Verdict compare_obligations(const Script& script, const LiveRun& run, const Config& config,
                            const std::vector<std::string>& shows);

}  // namespace lockstep::conformance
