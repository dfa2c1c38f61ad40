// Reads files in the order of their paths, so that the same folder gives the same memory region.
#include "tools/verbs/serve/folder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
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

/// When a file was changed last; 0 if that is before 1970.
http::UnixSeconds modified_at(const fs::path& path) {
  std::error_code error;
  auto const written = fs::last_write_time(path, error);
  auto const since = std::chrono::file_clock::to_sys(written).time_since_epoch();
  auto const seconds = std::chrono::floor<std::chrono::seconds>(since).count();
  return {error || seconds < 0 ? 0 : static_cast<std::uint64_t>(seconds)};
}

/// Hidden names are not served, except those that RFC 8615 gives to the web.
bool is_hidden(const fs::path& path) {
  return std::any_of(path.begin(), path.end(), [](const fs::path& part) {
    std::string const name = part.string();
    return name.starts_with('.') && name != "." && name != ".well-known";
  });
}

[[noreturn]] void unreadable(const fs::path& folder, const std::error_code& error) {
  throw Failure(ExitCode::bad_input, fmt::format("--folder {}: {}: name a folder that can be read",
                                                 folder.string(), error.message()));
}

/// Finds the files of a folder, following symbolic links that stay in it.
class Walk {
 public:
  explicit Walk(const fs::path& folder) {
    std::error_code error;
    root_ = fs::canonical(folder, error);
    if (error) {
      unreadable(folder, error);
    }
    waiting_.push_back({folder, {root_}});
    while (!waiting_.empty()) {
      Place const place = std::move(waiting_.back());
      waiting_.pop_back();
      visit(place);
    }
    std::sort(files_.begin(), files_.end());
  }

  const std::vector<fs::path>& files() const { return files_; }
  std::uint64_t links_out() const { return links_out_; }

 private:
  /// A folder, with the folders that led to it, so that a link to one of them is no endless path.
  struct Place {
    fs::path path;
    std::vector<fs::path> above;
  };

  void visit(const Place& place) {
    std::error_code error;
    fs::directory_iterator walk(place.path, error);
    for (; !error && walk != fs::directory_iterator(); walk.increment(error)) {
      if (!is_hidden(walk->path().filename())) {
        add(*walk, place);
      }
    }
    if (error) {
      unreadable(place.path, error);
    }
  }
  void add(const fs::directory_entry& entry, const Place& place) {
    std::error_code error;
    if (entry.is_symlink(error) && leads_out(entry.path())) {
      ++links_out_;
      return;
    }
    if (entry.is_regular_file(error)) {
      files_.push_back(entry.path());
      return;
    }
    fs::path const real = fs::canonical(entry.path(), error);
    bool const below_itself =
        std::find(place.above.begin(), place.above.end(), real) != place.above.end();
    if (entry.is_directory(error) && !below_itself) {
      Place next{entry.path(), place.above};
      next.above.push_back(real);
      waiting_.push_back(std::move(next));
    }
  }
  /// Whether a link's end is outside of the folder, hidden, or missing.
  bool leads_out(const fs::path& link) const {
    std::error_code error;
    fs::path const real = fs::canonical(link, error);
    if (error) {
      return true;
    }
    fs::path const inside = real.lexically_relative(root_);
    return inside.empty() || *inside.begin() == ".." || is_hidden(inside);
  }

  fs::path root_;
  std::vector<Place> waiting_;
  std::vector<fs::path> files_;
  std::uint64_t links_out_ = 0;
};

}  // namespace

void load_folder(const std::string& folder, http::Site& site) {
  Walk const walk{fs::path(folder)};
  for (const fs::path& file : walk.files()) {
    std::string const path = "/" + file.lexically_relative(folder).generic_string();
    bool added = site.add(path, contents(file), modified_at(file));
    if (added && path.ends_with(index_name)) {
      added = site.add_alias(path.substr(0, path.size() - index_name.size() + 1), path);
    }
    if (!added) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("{}: its path has more than {} octets: shorten it", file.string(),
                                http::Site::path_max));
    }
  }
  if (walk.links_out() != 0) {
    fmt::print(stderr, "--folder {}: {} symbolic link{} out of the folder or nowhere: not served\n",
               folder, walk.links_out(), walk.links_out() == 1 ? " leads" : "s lead");
  }
}

}  // namespace lockstep::tools
