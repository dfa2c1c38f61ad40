// What capture and core must have in common: resets, SYN, FIN, replies, data, retransmissions.
#pragma once

#include <set>
#include <vector>

#include "conformance/replay/attribution.hpp"
#include "conformance/replay/audit.hpp"
#include "conformance/replay/obligations.hpp"

namespace lockstep::conformance {

/// A breach with the segments that it is about.
struct CrossBreach {
  Breach breach;
  Divergence::Kind kind = Divergence::Kind::differs;
  std::optional<std::size_t> captured, live;
};

struct CrossResult {
  std::vector<CrossBreach> breaches;
  std::set<Rule> rules;  ///< the allowed differences that were met
};

CrossResult cross_check(const AuditInput& input, const Trace& captured, const Trace& live);

/// Resets and SYNs of both sides, matched. A part of cross_check.
void cross_control(const AuditInput& input, const Trace& captured, const Trace& live,
                   CrossResult& out);
/// Replies that a step draws at once, and window updates. A part of cross_check.
void cross_replies(const AuditInput& input, const Trace& captured, const Trace& live,
                   CrossResult& out);

}  // namespace lockstep::conformance
