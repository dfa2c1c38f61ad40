// What live targets did, requirement by requirement, as conformance/scapy/targets.json has it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "conformance/requirements/coverage.hpp"

namespace lockstep::tools {

/// A test in which a live target did otherwise.
struct LiveDifference {
  std::string test;
  std::string words;   ///< what was expected, and what came
  std::string reason;  ///< of differences.toml; empty: none
};

/// What a target did in the tests that cite one requirement.
struct LiveCell {
  std::size_t passed = 0;
  std::vector<const LiveDifference*> differing;  ///< into LiveResults, which must outlive it

  std::size_t tests() const { return passed + differing.size(); }
};

/// The whole file.
struct LiveResults {
  std::string kernel;  ///< of the target linux; empty: there is no file
  std::map<std::string, std::map<std::string, LiveDifference>> differences;  ///< target, test
  std::map<std::string, std::map<std::string, LiveCell>> cells;  ///< target, requirement's id

  /// The cell, or nullptr if no test that ran there cites the requirement.
  const LiveCell* cell(const std::string& target, const std::string& id) const;
};

/// The results that stand in the tree at `root`; none where the file is missing. Throws Failure,
/// which names the file, if it is not what targets.py writes.
LiveResults load_live_results(const std::filesystem::path& root);

/// A column of a page: of each requirement how many of its tests the target passes.
VerdictColumn live_column(const LiveResults& results, const std::string& target,
                          const std::string& title, const std::string& key);

}  // namespace lockstep::tools
