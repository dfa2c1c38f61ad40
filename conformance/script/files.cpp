// Scripts in files and folders: finding them, reading them, and what is wrong with them.
#include "conformance/script/files.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "conformance/script/parse.hpp"
#include "tools/cli/failure.hpp"

namespace lockstep::script {
namespace {

namespace fs = std::filesystem;
using tools::ExitCode;
using tools::Failure;

void add_folder(const fs::path& folder, std::vector<fs::path>& out) {
  std::size_t const before = out.size();
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".pkt" && at->is_regular_file()) {
      out.push_back(at->path());
    }
  }
  if (error) {
    throw Failure(ExitCode::environment,
                  fmt::format("{}: {}", folder.string(), error.message()));
  }
  if (out.size() == before) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: no *.pkt in this folder; name a script, or a folder of scripts",
                              folder.string()));
  }
}

}  // namespace

std::vector<fs::path> find_scripts(const std::vector<std::string>& named) {
  std::vector<fs::path> out;
  for (std::string const& name : named) {
    std::error_code error;
    if (fs::is_directory(name, error)) {
      add_folder(name, out);
    } else if (fs::exists(name, error)) {
      out.emplace_back(name);
    } else {
      throw Failure(ExitCode::bad_input,
                    fmt::format("{}: no such file or folder; name a script", name));
    }
  }
  std::ranges::sort(out);
  auto const twice = std::ranges::unique(out);
  out.erase(twice.begin(), twice.end());
  return out;
}

ReadScript read_script(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf() || file.peek() == std::char_traits<char>::eof())) {
    throw Failure(ExitCode::environment,
                  fmt::format("{}: cannot be read; see its permissions", path.string()));
  }
  ReadScript out;
  out.path = path;
  try {
    out.script = parse(text.str());
  } catch (const SyntaxError& error) {
    out.fault = fmt::format("{}:{}:{}: {}", path.string(), error.place().line,
                            error.place().column, error.what());
  }
  return out;
}

}  // namespace lockstep::script
