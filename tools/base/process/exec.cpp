// Finds programs and scripts beside this program, in a build or an installation, and runs them by
// exec.
#include "tools/base/process/exec.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {

std::filesystem::path own_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

std::filesystem::path program_folder() { return own_program().parent_path(); }

void exec_program(const std::filesystem::path& program, std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (auto& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  ::execvp(program.c_str(), arguments.data());
  throw Failure(ExitCode::environment,
                fmt::format("{} does not start: {}", program.string(), std::strerror(errno)));
}

void exec_python(const std::string& script, const std::vector<std::string>& words) {
  namespace fs = std::filesystem;
  fs::path const folder = program_folder();
  fs::path found;
  // build/release is beside tools, bin is beside share
  for (const char* const place : {"../../tools", "../share/lockstep/tools"}) {
    if (found.empty() && fs::exists(folder / place / script)) {
      found = (folder / place / script).lexically_normal();
    }
  }
  if (found.empty()) {
    throw Failure(
        ExitCode::environment,
        fmt::format("{} is not here: run the program where it was built or installed", script));
  }
  fs::path const own = folder / "../venv/bin/python";
  fs::path const python = fs::exists(own) ? own.lexically_normal() : fs::path("python3");
  std::vector<std::string> all{python.string(), found.string()};
  all.insert(all.end(), words.begin(), words.end());
  try {
    exec_program(python, all);
  } catch (const Failure& failure) {
    throw Failure(failure.code(), std::string(failure.what()) + ": run tools/setup");
  }
}

}  // namespace lockstep::tools
