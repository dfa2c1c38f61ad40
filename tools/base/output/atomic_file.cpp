// Writes to a file without a name, and gives it its name when it is complete.
#include "tools/base/output/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

std::string name_of_descriptor(int descriptor) {
  return fmt::format("/proc/self/fd/{}", descriptor);
}

/// Opens an unnamed file in the folder; null if the file system cannot do that, or cannot name it
/// later.
std::FILE* open_nameless(const fs::path& folder) {
  int const descriptor = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    return nullptr;
  }
  if (::access(name_of_descriptor(descriptor).c_str(), F_OK) != 0) {
    ::close(descriptor);
    return nullptr;
  }
  return ::fdopen(descriptor, "wb");
}

}  // namespace

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)), target_(path_) {
  std::error_code error;
  if (fs::is_symlink(path_, error) && fs::is_regular_file(path_, error) && !is_stream()) {
    target_ = fs::canonical(path_, error);
  }
  draft_ = target_;
  draft_ += ".part";
  open();
}

// /dev/stdout may be a file, but another process has opened it and may write to it too. /dev/shm is
// a folder for files.
bool AtomicFile::is_stream() const {
  std::string const whole = fs::absolute(path_).string();
  return (whole.starts_with("/dev/") && !whole.starts_with("/dev/shm/")) ||
         whole.starts_with("/proc/");
}

void AtomicFile::open() {
  std::error_code error;
  fs::file_status const there = fs::status(target_, error);
  if (path_.empty() || fs::is_directory(there)) {
    fail(path_.empty() ? ENOENT : EISDIR);
  }
  fs::path const folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  if (fs::exists(there) && (!fs::is_regular_file(there) || is_stream())) {
    kind_ = Kind::direct;
    std::fflush(stdout);
    file_ = target_ == "/dev/stdout" ? ::fdopen(::dup(STDOUT_FILENO), "wb")
                                     : std::fopen(target_.c_str(), "ab");
  } else {
    fs::create_directories(folder, error);
    kind_ = Kind::nameless;
    file_ = open_nameless(folder);
    if (file_ == nullptr) {
      kind_ = Kind::part;
      file_ = std::fopen(draft_.c_str(), "wb");
    }
  }
  if (file_ == nullptr) {
    fail(errno);
  }
}

AtomicFile::~AtomicFile() {
  if (file_ != nullptr) {
    std::fclose(file_);
    std::error_code ignored;
    if (kind_ == Kind::part) {
      fs::remove(draft_, ignored);
    }
  }
}

void AtomicFile::put(std::span<const std::byte> bytes) {
  if (failed_ == 0 && std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
    failed_ = errno;
  }
}

bool AtomicFile::move_into_place() {
  if (kind_ == Kind::direct) {
    return true;
  }
  if (kind_ == Kind::nameless) {
    ::unlink(draft_.c_str());
    if (::linkat(AT_FDCWD, name_of_descriptor(::fileno(file_)).c_str(), AT_FDCWD, draft_.c_str(),
                 AT_SYMLINK_FOLLOW) != 0) {
      return false;
    }
  }
  return std::rename(draft_.c_str(), target_.c_str()) == 0;
}

void AtomicFile::keep() {
  if (failed_ == 0 && (std::fflush(file_) != 0 || !move_into_place())) {
    failed_ = errno;
  }
  std::fclose(file_);
  file_ = nullptr;
  if (failed_ != 0) {
    if (kind_ != Kind::direct) {
      ::unlink(draft_.c_str());
    }
    fail(failed_);
  }
}

void AtomicFile::fail(int error) const {
  throw Failure(ExitCode::environment,
                fmt::format("{}: cannot be written ({}); expected a place with room that can be "
                            "written to: choose another path",
                            path_.string(), std::strerror(error)));
}

void save_file(const std::string& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.put(bytes);
  file.keep();
}

void save_file(const std::string& path, std::string_view text) {
  save_file(path, std::as_bytes(std::span(text)));
}

std::unique_ptr<AtomicFile> file_if_named(const std::string& path) {
  return path.empty() ? nullptr : std::make_unique<AtomicFile>(path);
}

void keep_text(AtomicFile* file, std::string_view text) {
  if (file != nullptr) {
    file->put(text);
    file->keep();
  }
}

void refuse_overwrite(const std::string& input, const std::string& output) {
  std::error_code error;
  if (!output.empty() && fs::equivalent(input, output, error)) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: is what is read here; expected another file to write to: "
                              "choose another path",
                              output));
  }
}

void refuse_same_output(const std::string& one, const std::string& other) {
  if (one.empty() || other.empty()) {
    return;
  }
  std::error_code error;
  fs::path const place = fs::weakly_canonical(fs::absolute(one), error);
  bool const is_stream = fs::exists(place, error) && !fs::is_regular_file(place, error);
  bool const is_same = place == fs::weakly_canonical(fs::absolute(other), error) ||
                       fs::equivalent(place, other, error);
  if (is_same && !is_stream) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: two outputs would be written there, and one of them lost: "
                              "choose another path for one",
                              other));
  }
}

}  // namespace lockstep::tools
