// Finds the citations of requirements in code, tests and scenarios.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/requirements/catalogue.hpp"

namespace lockstep::tools {

/// What a citation means: code implements the requirement; a test, a .pkt script or a scenario
/// shows it; or a judge of runs and captures checks it, which is no proof by itself.
enum class Proof { code, test, script, scenario, judge };

/// One citation of a requirement. The path is relative to the root.
struct Citation {
  std::string id;
  Proof proof = Proof::code;
  std::string file;
  int line = 0;
  std::string name;  ///< the test that contains it or directly follows it; empty if there is none
};

/// The results of a scan, ordered by path and line.
struct Citations {
  std::vector<Citation> found;
  std::vector<Problem> problems;  ///< unknown ids, malformed citations
  std::vector<Problem> notes;     ///< another section than the row's, which may repeat the sentence
};

/// Scans the text of one file. A citation is `= rfc9293#3.4` after the comment mark on its own
/// line, then optionally `= type=test`, then `# 9293:P-SEGLEN words`; the comment mark is // in
/// .cpp and .hpp, a hash in .py, .toml and .pkt. A citation in a .pkt is a script's. Otherwise it
/// is a test's if it has the type, if the file's name ends in _test, or if the file is Python in
/// conformance/ or pcaps/. Otherwise it is a judge's in conformance/, pcaps/, sim/checkers/ and
/// tools/verbs/lint/, and code elsewhere.
/// Problems: an id without a row, an RFC to which none of the line's rows belongs, and an
/// incomplete citation. A section to which none of the rows belongs is only a note, because an RFC
/// may state a requirement twice.
void scan_text(std::string_view file, std::string_view text, const Catalogue& catalogue,
               Citations& out);

/// Scans a scenario.toml: the ids under `shows` are proofs; those under a twin's `clause` must
/// exist. A file that is not TOML is a problem.
void scan_scenario(std::string_view file, std::string_view text, const Catalogue& catalogue,
                   Citations& out);

/// Scans core, sim, hw, pcaps, conformance and tools under `root`, except conformance/requirements,
/// which lists the ids. Throws Failure (environment) for a file that cannot be read.
Citations scan_tree(const std::filesystem::path& root, const Catalogue& catalogue);

}  // namespace lockstep::tools
