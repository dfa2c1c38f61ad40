// Scripts in files and folders: finding them, reading them, and what is wrong with them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "conformance/script/syntax.hpp"

namespace lockstep::script {

/// The files named, and of folders all *.pkt beneath, each once, in the order of their names.
/// Throws tools::Failure where there is none.
std::vector<std::filesystem::path> find_scripts(const std::vector<std::string>& named);

/// A script that was read; `script` is nothing if `fault` says why.
struct ReadScript {
  std::filesystem::path path;
  std::optional<Script> script;
  std::string fault;  ///< FILE:LINE:COLUMN: what was found; expected ...
};

/// Throws tools::Failure if the file cannot be read.
ReadScript read_script(const std::filesystem::path& path);

}  // namespace lockstep::script
