// For a verb that is a separate program: replaces this process by it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::tools {

/// The folder of this program, where the build and the installation put the others.
std::filesystem::path program_folder();

/// The path of this program.
std::filesystem::path own_program();

/// Runs `program` with `words` as its arguments; `words[0]` is its argv[0]. Throws Failure
/// (environment) if it does not start.
[[noreturn]] void exec_program(const std::filesystem::path& program,
                               std::vector<std::string> words);

/// Replaces this process by `script`, a path under tools/ such as "verbs/sweep/main.py", with its
/// arguments: run by the Python of build/venv in a build, otherwise by the one in PATH. Throws
/// Failure (environment), with the mend, if there is none.
[[noreturn]] void exec_python(const std::string& script, const std::vector<std::string>& words);

}  // namespace lockstep::tools
