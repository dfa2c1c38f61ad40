// What lint found, for people, for programs, and as comments in a copy of the capture.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/verbs/lint/lint.hpp"

namespace lockstep::tools {

/// "text beyond the window that the peer offered (edge 1101, end 1200)".
std::string words_of(const sim::referee::Violation& violation);
/// Findings of one cause together, the first five of them and how many more there are, `columns`
/// wide at most (0: as wide as it is).
std::string table_of(const Linted& linted, std::size_t columns);
/// How often each rule was broken, and what its clause says.
std::string counts_of(const Linted& linted, std::size_t columns);
nlohmann::ordered_json json_of(const Linted& linted, const std::string& capture);
/// Every packet of `capture` as it is, with a line of comment for each finding at it.
void write_commented(const Linted& linted, const std::string& capture, const std::string& path);

}  // namespace lockstep::tools
