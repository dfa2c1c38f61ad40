// Writes the anonymised capture, and compares the verdicts on it with those on the original.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/verbs/anonymise/anonymise.hpp"
#include "tools/verbs/anonymise/verdicts.hpp"

namespace lockstep::tools {

struct AnonymiseRequest {
  AnonymiseOptions options;
  std::string out;
  std::optional<EndPair> only;
  bool replay = false;
  bool shrink = false;
};

struct AnonymiseReport {
  AnonymiseCounts counts;
  Selection selection;
  std::uint64_t addresses_v4 = 0, addresses_v6 = 0, macs = 0;
  std::uint64_t findings = 0;                ///< of lint
  std::uint64_t verdicts = 0;                ///< of replay
  std::string lint_differs, replay_differs;  ///< one line each; empty: the verdict was kept
  std::string warning;                       ///< where the capture is truncated

  bool is_kept() const { return lint_differs.empty() && replay_differs.empty(); }
};

/// Writes `out` in any case, also if a verdict differs. Throws Failure as lint() does, and
/// (bad_input) if the connection is not in the capture, or if there is no finding to shrink to.
AnonymiseReport anonymise(const AnonymiseRequest& request);

/// Names no original address and no original data.
nlohmann::ordered_json json_of(const AnonymiseReport& report);
std::string text_of(const AnonymiseReport& report);

/// "10.0.0.1:4000-10.0.0.2:80"; IPv6 addresses in brackets.
std::optional<EndPair> parse_connection(const std::string& text);

}  // namespace lockstep::tools
