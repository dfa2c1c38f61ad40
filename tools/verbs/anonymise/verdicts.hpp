// What lint and replay say of a capture, in a form that can be compared with an anonymised copy.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/verbs/anonymise/anonymise.hpp"
#include "tools/verbs/lint/lint.hpp"

namespace lockstep::tools {

/// A finding without the addresses and numbers that are replaced.
struct PlainFinding {
  std::uint64_t packet = 0;
  std::string rule;
  std::string certainty;
  std::uint64_t count = 1;
  auto operator<=>(const PlainFinding&) const = default;
};

/// A verdict of replay on one side of a connection.
struct PlainVerdict {
  std::string verdict;  ///< with the rules or the reason
  std::vector<PlainFinding> violations;
  auto operator<=>(const PlainVerdict&) const = default;
};

/// The packets that findings name, and their numbers in the copy; 0 while unknown or not kept.
using PacketNumbers = std::map<std::uint64_t, std::uint64_t>;

/// The findings of lint, sorted. With `only`, those of this connection.
std::vector<PlainFinding> lint_findings(const LintOptions& options,
                                        const std::optional<EndPair>& only);
/// The verdicts of replay on both sides of each connection, in the order of replay.
std::vector<PlainVerdict> replay_verdicts(const std::string& capture,
                                          const std::optional<EndPair>& only);

void add_packets(const std::vector<PlainFinding>& findings, PacketNumbers& packets);
/// The same findings with the packets' numbers in the copy, sorted.
std::vector<PlainFinding> renumbered(std::vector<PlainFinding> findings,
                                     const PacketNumbers& packets);
std::vector<PlainVerdict> renumbered(std::vector<PlainVerdict> verdicts,
                                     const PacketNumbers& packets);

/// One line on the first difference; empty if there is none.
std::string difference(const std::vector<PlainFinding>& before,
                       const std::vector<PlainFinding>& after);
std::string difference(const std::vector<PlainVerdict>& before,
                       const std::vector<PlainVerdict>& after);

}  // namespace lockstep::tools
