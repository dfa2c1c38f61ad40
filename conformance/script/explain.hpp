// Says what a step of a script exercises, and which clauses are cited for it.
#pragma once

#include <string>
#include <vector>

#include "conformance/script/settings.hpp"

namespace lockstep::conformance::script {

/// One clause that a script cites.
struct CitedClause {
  std::string id;                            ///< "9293:MUST-13"
  std::string rfc, section, level, summary;  ///< of the catalogue; level and summary may be empty
  std::string words;                         ///< of the script
  int line = 0;
};

struct Explained {
  std::string file;
  int line = 0;
  std::string text;    ///< the line
  std::string step;    ///< in words: who does what, when, and what must follow
  std::string before;  ///< the connection's state in front of the step; empty if it failed earlier
  std::string after;   ///< and behind it
  std::vector<CitedClause> here;    ///< directly above the step
  std::vector<CitedClause> script;  ///< at the head
};

/// `place` is FILE:LINE; `defines`, and the profile of `overrides`, as of a run. Throws Failure
/// (bad_input) for what is no such place, for a line without a step, and for a script that is none;
/// environment where it cannot be read. The catalogue of requirements is that of the repository
/// around the file, or around the folder that one stands in.
Explained explain(const std::string& place, const Defines& defines = {},
                  const Overrides& overrides = {});

std::string explained_text(const Explained& what);
std::string explained_json(const Explained& what);

}  // namespace lockstep::conformance::script
