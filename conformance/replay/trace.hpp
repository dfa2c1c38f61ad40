// The device's segments in the capture's sequence numbers, captured or sent by the core: the input
// of the audits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "conformance/replay/live.hpp"
#include "conformance/replay/script.hpp"

namespace lockstep::conformance {

/// One segment of the device, captured or sent by the core, in the capture's numbers and time.
struct Item {
  Instant at;
  tools::Segment segment;
  std::uint32_t window_bytes = 0;
  std::size_t steps_before = 0;
  bool probe = false;     ///< a zero-window probe, as far as that is known
  std::size_t index = 0;  ///< into Script::sent or LiveRun::sent
};

using Trace = std::vector<Item>;

Trace captured_trace(const Script& script);
/// Omits segments sent more than `grace` after the end of the capture.
Trace live_trace(const Script& script, const LiveRun& run, Duration grace);

/// The earliest time at which each segment can have left the device, by what it echoes and
/// acknowledges of what the peer had sent, if it shows anything. It may have waited since then in a
/// queue before the capture point.
std::vector<std::optional<Instant>> left_after(const Script& script, const Trace& trace);

/// What the device must have received in order after each step, and where gaps were, derived from
/// the peer's segments alone.
struct Reception {
  struct After {
    std::uint32_t next = 0;  ///< RCV.NXT
    bool known = false;      ///< a SYN has been seen
    bool advanced = false;   ///< by this step
    bool above_gap = false;  ///< this step's data is above a gap
    bool filled = false;     ///< this step filled all or part of a gap
    bool fin = false;        ///< RCV.NXT advanced over the peer's FIN
    bool refused = false;    ///< the step's timestamp is too old (PAWS)
  };
  std::vector<After> after;  ///< one for each step
};

/// Ignores data beyond every window that was advertised, by the captured device or by the core.
Reception reception_of(const Script& script, const LiveRun& run);

}  // namespace lockstep::conformance
