// Drops connections, and packets from both ends of a capture, as long as the verdict stays.
#pragma once

#include "tools/verbs/anonymise/anonymise.hpp"
#include "tools/verbs/anonymise/verdicts.hpp"

namespace lockstep::tools {

/// The findings that must stay: those of lint and, if `replay`, the violations of replay.
struct Essence {
  std::vector<PlainFinding> lint;
  std::vector<PlainVerdict> replay;
  bool with_replay = false;
};

/// The verdicts with violations, sorted.
std::vector<PlainVerdict> violating(std::vector<PlainVerdict> verdicts);

/// A smaller selection. Anonymises and judges the capture some dozens of times.
Selection shrunk(Anonymiser& anonymiser, const std::string& capture, const Selection& from,
                 const Essence& essence);

}  // namespace lockstep::tools
