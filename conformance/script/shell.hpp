// The words of shell commands: pipelines, quotes, redirections, and $(( )).
#pragma once

#include <string>
#include <vector>

#include "conformance/script/cursor.hpp"

namespace lockstep::conformance::script {

/// A simple command: its words without quotes and redirections.
struct ShellCommand {
  std::vector<std::string> words;
};

/// Commands joined by `|`.
struct Pipeline {
  Place place;
  std::string text;      ///< as the script has it, on one line
  bool negated = false;  ///< `!`
  bool spare = false;    ///< after `||`: runs only if the one before fails
  std::string written;   ///< the file that its output goes to, if that is not /dev/null
  std::vector<ShellCommand> commands;
};

/// Splits the text between two backticks; `at` is the place of its first character. Throws Failure
/// for what it cannot split, such as an open quote or a substitution.
std::vector<Pipeline> split_shell(const Cursor& cursor, Place at, const std::string& text,
                                  const Defines& defines);

}  // namespace lockstep::conformance::script
