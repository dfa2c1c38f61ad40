// Writing beside, then moving into place.
#include "tools/simrun/file_sink.hpp"

#include <fmt/core.h>

#include <system_error>

#include "tools/cli/failure.hpp"

namespace lockstep::tools {

DraftFile::DraftFile(std::filesystem::path path) : path_(std::move(path)), draft_(path_) {
  draft_ += ".part";
  std::error_code error;
  if (path_.has_parent_path()) {
    std::filesystem::create_directories(path_.parent_path(), error);
  }
  file_ = std::fopen(draft_.c_str(), "wb");
  if (file_ == nullptr) {
    fail();
  }
}

DraftFile::~DraftFile() {
  if (file_ != nullptr) {
    std::fclose(file_);
    std::error_code ignored;
    std::filesystem::remove(draft_, ignored);
  }
}

void DraftFile::put(std::span<const std::byte> bytes) {
  failed_ = failed_ || std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size();
}

void DraftFile::keep() {
  const bool closed = std::fclose(file_) == 0;
  file_ = nullptr;
  std::error_code error;
  if (!failed_ && closed) {
    std::filesystem::rename(draft_, path_, error);
  }
  if (failed_ || !closed || error) {
    std::filesystem::remove(draft_, error);
    fail();
  }
}

void DraftFile::fail() const {
  throw Failure(ExitCode::environment,
                fmt::format("{}: cannot be written; expected a folder with room that can be "
                            "written to: choose another path",
                            path_.string()));
}

}  // namespace lockstep::tools
