// Reports of lint's findings: tables, JSON, and packet comments in a copy of the capture.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/verbs/lint/lint.hpp"

namespace lockstep::tools {

/// "data beyond the window that the peer offered (edge 1101, end 1200)".
std::string words_of(const sim::referee::Violation& violation);
/// Findings grouped by rule, connection, sender and certainty: the first five of each group and the
/// number of the others. At most `columns` wide (0: unlimited).
std::string table_of(const Linted& linted, std::size_t columns);
/// How often each rule was broken, with the text of its clause.
std::string counts_of(const Linted& linted, std::size_t columns);
nlohmann::ordered_json json_of(const Linted& linted, const std::string& capture);
/// Writes a copy of `capture` to `path` with a comment line for each finding at its packet.
void write_commented(const Linted& linted, const std::string& capture, const std::string& path);

}  // namespace lockstep::tools
