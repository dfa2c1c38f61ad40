// For a verb that is a program of its own: replaces this process by that program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::tools {

/// The folder of this program, where the build and the installation put others beside it.
std::filesystem::path program_folder();

/// This very program.
std::filesystem::path own_program();

/// `words[0]` is what the program is to call itself. Throws Failure (environment) if it does not
/// start.
[[noreturn]] void exec_program(const std::filesystem::path& program,
                               std::vector<std::string> words);

/// Runs `script`, such as "verbs/sweep/main.py" of tools/, with its arguments in place of this
/// process: by the Python of build/venv in a build, else by the one of the PATH. Throws Failure
/// (environment), with the mend, where there is none.
[[noreturn]] void exec_python(const std::string& script, const std::vector<std::string>& words);

}  // namespace lockstep::tools
