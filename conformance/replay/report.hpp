// A replay in words: the verdict, and the two-column diff at the first divergence.
#pragma once

#include <string>

#include "conformance/replay/replay.hpp"

namespace lockstep::conformance {

/// "agrees", "violates 9293:P-RTO", "cannot tell: missing handshake ...".
std::string verdict_text(const Verdict& verdict);

/// Capture and core side by side around the first divergence, and the connection's state there.
std::string divergence_text(const Replayed& replayed);

/// "1.204 s", from nanoseconds, rounded down to microseconds.
std::string time_text(Duration time);

}  // namespace lockstep::conformance
