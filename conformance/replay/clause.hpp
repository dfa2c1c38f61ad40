// Names the requirement that applies at a moment of a connection, by RFC 9293's order of checks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/replay/live.hpp"
#include "conformance/replay/script.hpp"
#include "core/stack/config.hpp"

namespace lockstep::conformance {

/// The connection's variables just before a step: they determine the clause.
struct Numbers {
  tcp::State state = tcp::State::closed;
  std::uint32_t receive_next = 0, receive_window = 0, out_of_order = 0;
  std::uint32_t send_una = 0, send_next = 0, send_window = 0, send_window_max = 0;
  std::uint32_t cwnd = 0, queued = 0, mss = 536;
  bool close_called = false;
  bool stamped = false;  ///< timestamps were negotiated
  std::uint32_t ts_recent = 0;
};

/// The clauses that may apply at one moment, the most specific first. If there are several, they
/// require the same thing, and the report names the one that the scenario lists.
using Clauses = std::vector<std::string_view>;

/// The core's variables before step `index`; taken from its segments if it has no connection to
/// inspect.
Numbers numbers_before(const LiveRun& run, std::size_t index);

/// The clause that determines the response to this segment, by the RFC's order of checks. Of the
/// core's behaviour only the resulting state is used.
Clauses clauses_of_segment(const Numbers& numbers, const tools::Segment& segment, tcp::State after,
                           tcp::ResetPolicy policy);

/// The clause that determines the result of a call.
Clauses clauses_of_call(Act act, const Numbers& numbers, tcp::State after, bool unread);

/// The clauses that determine the result of step `index`.
Clauses clauses_of_step(const Script& script, const LiveRun& run, std::size_t index,
                        const Config& config);

/// The first clause that is listed in `shows`, else the first clause.
std::string chosen(const Clauses& clauses, const std::vector<std::string>& shows);

}  // namespace lockstep::conformance
