// The requirements that the repository lists, and those that it declines.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lockstep::tools {

/// One sentence of an RFC that binds, as conformance/requirements/rfcNNNN.toml lists it.
struct Requirement {
  std::string id;  ///< "9293:MUST-1": the RFC's number, a colon, a name
  int rfc = 0;
  std::string section;  ///< "3.10.7.4", or a heading where the RFC numbers none
  std::string level;    ///< "MUST", "MUST NOT", "SHOULD", ..., "text"
  std::string summary;

  /// True for the levels that must be shown or declined: MUST, MUST NOT and text.
  bool binds() const;
  /// True for the levels below them that ask for something: SHOULD, SHOULD NOT and RECOMMENDED.
  bool recommends() const;
};

/// One place in the repository that is wrong. Paths are relative to its root.
struct Problem {
  std::string file;
  int line = 0;
  std::string message;
};

/// Why a requirement is not met, and where that stands.
struct Declined {
  std::string reason;
  std::string file;
  int line = 0;
};

/// All requirements, ordered by RFC and then as their files list them.
struct Catalogue {
  std::vector<Requirement> rows;
  std::unordered_map<std::string, std::size_t> index_of;  ///< id to its place in rows
  std::map<int, std::string> titles;                      ///< RFC number to its title
  std::map<std::string, Declined> declined;               ///< id to its reason
  std::vector<Problem> problems;                          ///< declined ids that no row has

  const Requirement* find(std::string_view id) const;
};

/// Reads conformance/requirements under `root`. Throws Failure (bad_input) for a file that is not
/// TOML or lacks a key, for an id that stands twice, and if no list of requirements is there;
/// Failure (environment) for a file that cannot be read.
Catalogue load_catalogue(const std::filesystem::path& root);

/// The nearest folder at or above `start` that holds conformance/requirements/declined.toml.
/// Throws Failure (bad_input) if there is none.
std::filesystem::path find_root(const std::filesystem::path& start);

}  // namespace lockstep::tools
