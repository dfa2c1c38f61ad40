// What a clause says, where it is implemented, and what shows it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "conformance/requirements/coverage.hpp"
#include "conformance/requirements/live.hpp"

namespace lockstep::tools {

/// The folder with conformance/requirements: `given` unless it is empty; else this folder or one
/// above; else the one that this program was built in or installed with. Throws Failure (bad_input)
/// if there is none.
std::filesystem::path clause_root(const std::string& given);

/// The rows that `words` name, in that order: ids such as "9293:MUST-40", in upper or lower case,
/// with or without the RFC's number if only one RFC has the rest; or numbers of RFCs, for all of
/// their rows. Throws Failure (bad_input) for a word that names none.
std::vector<const CoverageRow*> clauses_named(const std::vector<std::string>& words,
                                              const CoverageReport& report);

/// A paragraph for each row: its sentence, each place that cites it, and the results of other TCPs.
std::string clauses_text(const std::vector<const CoverageRow*>& rows, const LiveResults& live);

}  // namespace lockstep::tools
