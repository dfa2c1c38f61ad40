// Verbs that are programs of their own: the process becomes one that lies beside this program.
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
[[noreturn]] void become(const std::filesystem::path& program, std::vector<std::string> words);

/// Becomes Python with `script`, such as "sweep/main.py" of tools/, and its arguments: the Python
/// of build/venv where this is a build, else the one of the PATH. Throws Failure (environment),
/// with the mend, where there is none.
[[noreturn]] void become_python(const std::string& script, const std::vector<std::string>& words);

}  // namespace lockstep::tools
