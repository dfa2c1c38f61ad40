// A replay as text: the verdict, and the two-column diff at the first divergence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/replay/replay.hpp"

namespace lockstep::conformance {

/// "agrees", "violates 9293:P-RTO", "cannot tell: missing handshake ...".
std::string verdict_text(const Verdict& verdict);

/// The violations of a verdict: packet, text, clause and the clause's sentence.
std::string violations_text(const Verdict& verdict);

/// Capture and core side by side around the first divergence, and the connection's state there.
std::string divergence_text(const Replayed& replayed);

/// A line of the two-column diff around the first divergence.
struct DiffRow {
  /// A packet of the peer, of the captured device or of the core, or a call of the application.
  enum class Kind : std::uint8_t { from_peer, from_captured, from_core, call };
  Kind kind = Kind::from_peer;
  Instant at;  ///< in the capture's time
  std::string left, right;
  bool marked = false;  ///< the line of the divergence
};

/// The lines of divergence_text() and the connection's state; empty if there is no divergence.
std::vector<DiffRow> divergence_rows(const Replayed& replayed);
std::string divergence_state(const Replayed& replayed);

/// Formats nanoseconds as "1.204000 s", rounded down to microseconds.
std::string time_text(Duration time);

}  // namespace lockstep::conformance
