// What a replay comes to: the verdict on a flow, and where it parted from the capture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/replay/live.hpp"
#include "conformance/replay/script.hpp"

namespace lockstep::conformance {

enum class Judgement : std::uint8_t {
  agrees,
  differs_allowed,
  violates,  ///< the captured device did not do what is owed
  cannot_tell,
  core_differs,  ///< our own TCP did not, and the device did
};

std::string_view name_of(Judgement judgement);

/// The first place at which capture and core part.
struct Divergence {
  enum class Kind : std::uint8_t {
    missing,     ///< the capture has it, the core did not send it
    unexpected,  ///< the core sent it, the capture has it not
    differs,     ///< both, with other contents
    timing,      ///< both, at other times
    stuck,       ///< the peer waited for what the core never did
  };
  Kind kind = Kind::differs;
  std::optional<std::size_t> captured;  ///< index into Script::sent
  std::optional<std::size_t> live;      ///< index into LiveRun::sent
  std::string clause;
  std::string text;  ///< one sentence
};

/// What the captured device did against one clause: where it shows first, and how often it does.
struct Violation {
  std::uint64_t packet = 0;  ///< of the capture; 0: none, something is missing
  std::string clause, text;
  std::uint64_t count = 1;
};

struct Verdict {
  Judgement judgement = Judgement::agrees;
  std::string reason;              ///< of cannot_tell
  std::vector<std::string> rules;  ///< of differs_allowed: names out of the closed list
  std::optional<Divergence> divergence;
  /// Of violates and core_differs: one a clause, the first first.
  std::vector<Violation> violations;
};

}  // namespace lockstep::conformance
