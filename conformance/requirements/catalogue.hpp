// The requirements in the repository's lists, and those that it declines.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lockstep::tools {

/// One binding sentence of an RFC, as listed in conformance/requirements/rfcNNNN.toml.
struct Requirement {
  std::string id;  ///< "9293:MUST-1": the RFC's number, a colon, a name
  int rfc = 0;
  std::string section;  ///< "3.10.7.4", or a heading if the RFC has no number for it
  std::string level;    ///< "MUST", "MUST NOT", "SHOULD", ..., "text"
  std::string summary;

  /// True for the levels that must be shown or declined: MUST, MUST NOT and text.
  bool binds() const;
  /// True for the advisory levels: SHOULD, SHOULD NOT and RECOMMENDED.
  bool recommends() const;
};

/// An error at one place in the repository. Paths are relative to its root.
struct Problem {
  std::string file;
  int line = 0;
  std::string message;
};

/// Why a requirement is not met, and where that is recorded.
struct Declined {
  std::string reason;
  std::string file;
  int line = 0;
};

/// All requirements, ordered by RFC and then as in their files.
struct Catalogue {
  std::vector<Requirement> rows;
  std::unordered_map<std::string, std::size_t> index_of;  ///< id to its index in rows
  std::map<int, std::string> titles;                      ///< RFC number to its title
  std::map<std::string, Declined> declined;               ///< id to its reason
  std::vector<Problem> problems;                          ///< declined ids without a row

  const Requirement* find(std::string_view id) const;
};

/// Loads conformance/requirements under `root`. Throws Failure: bad_input for a file that is not
/// TOML or lacks a key, for a duplicate id, and if there are no lists; environment for a file that
/// cannot be read.
Catalogue load_catalogue(const std::filesystem::path& root);

/// The nearest folder at or above `start` that has conformance/requirements/declined.toml. Throws
/// Failure (bad_input) if there is none.
std::filesystem::path find_root(const std::filesystem::path& start);

}  // namespace lockstep::tools
