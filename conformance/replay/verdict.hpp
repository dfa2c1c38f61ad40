// The result of a replay: the verdict on a flow, and its first divergence from the capture.
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
  violates,  ///< the captured device violates a requirement
  cannot_tell,
  core_differs,  ///< our own TCP violates a requirement, and the device does not
};

std::string_view name_of(Judgement judgement);

/// The first place at which capture and core diverge.
struct Divergence {
  enum class Kind : std::uint8_t {
    missing,     ///< only the capture has the segment
    unexpected,  ///< only the core sent the segment
    differs,     ///< both sent it, with different contents
    timing,      ///< both sent it, at different times
    stuck,       ///< the peer waits for a segment that the core never sent
  };
  Kind kind = Kind::differs;
  std::optional<std::size_t> captured;  ///< index into Script::sent
  std::optional<std::size_t> live;      ///< index into LiveRun::sent
  std::string clause;
  std::string text;  ///< one sentence
};

/// A violation of one clause by the captured device: its first occurrence and the count.
struct Violation {
  /// Of the capture; that of the last transmission if a retransmission is missing, and 0 if
  /// something else is.
  std::uint64_t packet = 0;
  std::string clause, text;
  std::uint64_t count = 1;
};

struct Verdict {
  Judgement judgement = Judgement::agrees;
  std::string reason;              ///< for cannot_tell
  std::vector<std::string> rules;  ///< for differs_allowed: names from the closed list
  std::optional<Divergence> divergence;
  /// For violates and core_differs: one for each clause, the earliest first.
  std::vector<Violation> violations;
};

}  // namespace lockstep::conformance
