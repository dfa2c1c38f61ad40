// Results of live targets per requirement, from conformance/scapy/targets.json.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "conformance/requirements/coverage.hpp"

namespace lockstep::tools {

/// A test in which a live target differed.
struct LiveDifference {
  std::string test;
  std::string words;   ///< what was expected, and what was received
  std::string reason;  ///< from differences.toml; empty: none
};

/// The results of a target in the tests that cite one requirement.
struct LiveCell {
  std::size_t passed = 0;
  std::vector<const LiveDifference*> differing;  ///< points into LiveResults, which must outlive it

  std::size_t tests() const { return passed + differing.size(); }
};

/// The whole file.
struct LiveResults {
  std::string kernel;  ///< of the target linux; empty: there is no file
  std::map<std::string, std::map<std::string, LiveDifference>> differences;  ///< by target and test
  std::map<std::string, std::map<std::string, LiveCell>> cells;  ///< by target and requirement id

  /// The cell, or nullptr if no test that ran on the target cites the requirement.
  const LiveCell* cell(const std::string& target, const std::string& id) const;
};

/// The results in the tree at `root`; empty if the file is missing. Throws Failure with the name of
/// the file if targets.py did not write it.
LiveResults load_live_results(const std::filesystem::path& root);

/// A column of a page: for each requirement, how many of its tests the target passes.
VerdictColumn live_column(const LiveResults& results, const std::string& target,
                          const std::string& title, const std::string& key);

}  // namespace lockstep::tools
