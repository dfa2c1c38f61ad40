// Runs a script against a stack in virtual time, with no tolerance.
#pragma once

#include <cstdint>
#include <string>

#include "conformance/script/syntax.hpp"
#include "core/seam/config.hpp"

namespace lockstep::script {

struct RunSettings {
  Config config;                 ///< link, addresses and MTU are the runner's
  bool strict_segments = false;  ///< one packet of the script is one on the wire
};

enum class Verdict : std::uint8_t { passed, failed };

/// What became of a script. `place` is of the event that failed.
struct RunResult {
  Verdict verdict = Verdict::passed;
  Place place;
  std::string expected;  ///< of a packet: as the script has it; else a sentence
  std::string actual;    ///< of a packet: as it was; else empty
};

/// A function of its arguments. Throws SyntaxError, with the place, for what a script may say and
/// this runner does not know: it is never skipped. Bounded: a script without an end in virtual time
/// fails.
RunResult run(const Script& script, const RunSettings& settings);

}  // namespace lockstep::script
