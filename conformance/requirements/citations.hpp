// Finds where the tree cites requirements: in code, in tests, in scenarios.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/requirements/catalogue.hpp"

namespace lockstep::tools {

/// What a citation tells: that code obeys; that a test, a .pkt script or a scenario shows it; or
/// that a judge of runs and captures watches over it, which proves nothing by itself.
enum class Proof { code, test, script, scenario, judge };

/// One requirement cited at one place. The path is relative to the root.
struct Citation {
  std::string id;
  Proof proof = Proof::code;
  std::string file;
  int line = 0;
  std::string name;  ///< of the test that it stands in or directly above; empty if there is none
};

/// What a scan found, in the order of paths and lines.
struct Citations {
  std::vector<Citation> found;
  std::vector<Problem> problems;  ///< unknown ids, citations that are not well formed
  std::vector<Problem> notes;     ///< another section than the row's: it may repeat the sentence
};

/// Scans one file's text. A citation is a line of its own, `= rfc9293#3.4` after the comment mark,
/// then optionally `= type=test`, then `# 9293:P-SEGLEN words`; the comment mark is // in .cpp and
/// .hpp, a hash in .py, .toml and .pkt. A citation in a .pkt is a script's. Else it is a test's if
/// it says so, if the file's name ends in _test, or if the file is Python in conformance/ or
/// pcaps/. Else it is a judge's in conformance/, pcaps/, sim/checkers/ and
/// tools/verbs/lint/, and code elsewhere.
/// Problems: an id that no row has, an RFC to which none of the line's rows belongs, a half of a
/// citation without the other. A section in which none of the rows stands is only a note, as an
/// RFC may say a thing twice.
void scan_text(std::string_view file, std::string_view text, const Catalogue& catalogue,
               Citations& out);

/// Scans a scenario.toml: the ids under `shows` are proofs, those under a twin's `clause` must be
/// known. A file that is not TOML is a problem.
void scan_scenario(std::string_view file, std::string_view text, const Catalogue& catalogue,
                   Citations& out);

/// Scans core, sim, hw, pcaps, conformance and tools under `root`; conformance/requirements, which
/// lists the ids, is left out. Throws Failure (environment) for a file that cannot be read.
Citations scan_tree(const std::filesystem::path& root, const Catalogue& catalogue);

}  // namespace lockstep::tools
