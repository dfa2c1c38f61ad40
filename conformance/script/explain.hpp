// Explains a step of a script, and lists the clauses that it cites.
#pragma once

#include <string>
#include <vector>

#include "conformance/script/settings.hpp"

namespace lockstep::conformance::script {

/// One clause that a script cites.
struct CitedClause {
  std::string id;                            ///< "9293:MUST-13"
  std::string rfc, section, level, summary;  ///< from the catalogue; level and summary may be empty
  std::string words;                         ///< from the script
  int line = 0;
};

struct Explained {
  std::string file;
  int line = 0;
  std::string text;    ///< the line
  std::string step;    ///< in words: the action, its time, and what must follow
  std::string before;  ///< state of the connection before the step; empty after a failure
  std::string after;   ///< state after the step
  std::vector<CitedClause> here;    ///< cited directly above the step
  std::vector<CitedClause> script;  ///< cited at the head of the script
};

/// Explains the step at `place`, which is FILE:LINE; `defines` and the profile of `overrides` are
/// as for a run. Throws Failure: bad_input if there is no such place, the line has no step, or the
/// file is not a script; environment if it cannot be read. Uses the catalogue of requirements of
/// the repository that contains the file, or else of the one that contains the working directory.
Explained explain(const std::string& place, const Defines& defines = {},
                  const Overrides& overrides = {});

std::string explained_text(const Explained& what);
std::string explained_json(const Explained& what);

}  // namespace lockstep::conformance::script
