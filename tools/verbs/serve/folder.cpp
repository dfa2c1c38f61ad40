// Reads files in the order of their paths, so that the same folder gives the same memory region.
#include "tools/verbs/serve/folder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view index_name = "/index.html";

std::vector<std::byte> contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<std::byte> bytes(file ? static_cast<std::size_t>(file.tellg()) : 0);
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()))) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: cannot be read: change its permissions, or serve another folder",
                              path.string()));
  }
  return bytes;
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  fs::recursive_directory_iterator walk(folder, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    if (walk->symlink_status().type() == fs::file_type::regular) {
      out.push_back(walk->path());
    }
  }
  if (error) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--folder {}: {}: name a folder that can be read", folder.string(),
                              error.message()));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

void load_folder(const std::string& folder, http::Site& site) {
  for (const fs::path& file : files_below(folder)) {
    std::string const path = "/" + file.lexically_relative(folder).generic_string();
    bool added = site.add(path, contents(file));
    if (added && path.ends_with(index_name)) {
      added = site.add_alias(path.substr(0, path.size() - index_name.size() + 1), path);
    }
    if (!added) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("{}: its path has more than {} octets: shorten it", file.string(),
                                http::Site::path_max));
    }
  }
}

}  // namespace lockstep::tools
