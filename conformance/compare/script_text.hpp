// Writes an input as a `.pkt` script that expects what our stack sends.
#pragma once

#include <string>
#include <vector>

#include "conformance/compare/play.hpp"

namespace lockstep::conformance::compare {

/// What a script includes of the time after the last step.
struct ScriptTail {
  bool drain = false;   ///< the program reads all at the end
  bool wait = false;    ///< two seconds pass, in which nothing else may be sent
  bool resend = false;  ///< the first retransmission
};

struct ScriptText {
  std::string text;
  int last_step = 0;  ///< the line of the input's last step, from 1
};

/// `heading` is its first line, a comment. `ours` is how our stack played the input, with events.
ScriptText script_of(const std::string& heading, const Input& input, const Played& ours,
                     const ScriptTail& tail);

}  // namespace lockstep::conformance::compare
