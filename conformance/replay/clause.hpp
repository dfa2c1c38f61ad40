// Names the requirement that speaks about a moment of a connection: RFC 9293's order of checks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/replay/live.hpp"
#include "conformance/replay/script.hpp"
#include "core/stack/config.hpp"

namespace lockstep::conformance {

/// What clauses are told apart by: the connection's numbers just before a step.
struct Numbers {
  tcp::State state = tcp::State::closed;
  std::uint32_t receive_next = 0, receive_window = 0, out_of_order = 0;
  std::uint32_t send_una = 0, send_next = 0, send_window = 0, send_window_max = 0;
  std::uint32_t cwnd = 0, queued = 0, mss = 536;
  bool close_called = false;
  bool stamped = false;  ///< both sides speak timestamps
  std::uint32_t ts_recent = 0;
};

/// The clauses that one moment may be about, the most telling first. Where there are several, they
/// say the same of that moment, and the one that the scenario shows is named.
using Clauses = std::vector<std::string_view>;

/// What the core knew before step `index`; from what it had sent, where it has no id to inspect.
Numbers numbers_before(const LiveRun& run, std::size_t index);

/// Which clause says how to answer this segment. This names what the text says, in the order in
/// which it says it; what the core did plays no part but for the state that it was in afterwards.
Clauses clauses_of_segment(const Numbers& numbers, const tools::Segment& segment, tcp::State after,
                           tcp::ResetPolicy policy);

/// Which clause says what a call does.
Clauses clauses_of_call(Act act, const Numbers& numbers, tcp::State after, bool unread);

/// Which clause says what comes of step `index`.
Clauses clauses_of_step(const Script& script, const LiveRun& run, std::size_t index,
                        const Config& config);

/// The one that is among `shows`, else the first.
std::string chosen(const Clauses& clauses, const std::vector<std::string>& shows);

}  // namespace lockstep::conformance
