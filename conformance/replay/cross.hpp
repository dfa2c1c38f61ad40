// Compares capture and core: resets, SYN, FIN, replies, data and retransmissions must match.
#pragma once

#include <set>
#include <vector>

#include "conformance/replay/attribution.hpp"
#include "conformance/replay/audit.hpp"
#include "conformance/replay/obligations.hpp"

namespace lockstep::conformance {

/// A breach and the segments that it concerns.
struct CrossBreach {
  Breach breach;
  Divergence::Kind kind = Divergence::Kind::differs;
  std::optional<std::size_t> captured, live;
  /// If the capture lacks a retransmission: the last transmission, an index into Script::sent.
  std::optional<std::size_t> sent_last = std::nullopt;
};

struct CrossResult {
  std::vector<CrossBreach> breaches;
  std::set<Rule> rules;  ///< the allowed differences that were found
};

CrossResult cross_check(const AuditInput& input, const Trace& captured, const Trace& live);

/// Matches the resets, SYNs and FINs of both sides. Called by cross_check.
void cross_control(const AuditInput& input, const Trace& captured, const Trace& live,
                   CrossResult& out);
/// Checks immediate replies and window updates. Called by cross_check.
void cross_replies(const AuditInput& input, const Trace& captured, const Trace& live,
                   CrossResult& out);

}  // namespace lockstep::conformance
