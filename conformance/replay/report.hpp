// A replay in words: the verdict, and the two-column diff at the first divergence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/replay/replay.hpp"

namespace lockstep::conformance {

/// "agrees", "violates 9293:P-RTO", "cannot tell: missing handshake ...".
std::string verdict_text(const Verdict& verdict);

/// What the verdict accuses of: packet, text, clause and what the clause says.
std::string violations_text(const Verdict& verdict);

/// Capture and core side by side around the first divergence, and the connection's state there.
std::string divergence_text(const Replayed& replayed);

/// A line of the two columns around the first divergence.
struct DiffRow {
  /// A packet of the peer's, one that the captured device sent, one of the core's, an application's
  /// call.
  enum class Kind : std::uint8_t { from_peer, from_captured, from_core, call };
  Kind kind = Kind::from_peer;
  Instant at;  ///< of the capture
  std::string left, right;
  bool marked = false;  ///< where they part
};

/// The lines of divergence_text(), and the connection's state there; nothing where none parted.
std::vector<DiffRow> divergence_rows(const Replayed& replayed);
std::string divergence_state(const Replayed& replayed);

/// "1.204 s", from nanoseconds, rounded down to microseconds.
std::string time_text(Duration time);

}  // namespace lockstep::conformance
