// An input of libFuzzer as a file with a path, for readers that open files by name.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/units/check.hpp"

namespace lockstep::tools {

/// Lives in memory; path() is valid as long as this object.
class FuzzFile {
 public:
  FuzzFile(const std::uint8_t* data, std::size_t size) : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
    CHECK(file_ >= 0);
    CHECK(write(file_, data, size) == static_cast<ssize_t>(size));
  }
  ~FuzzFile() { close(file_); }
  FuzzFile(const FuzzFile&) = delete;
  FuzzFile& operator=(const FuzzFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace lockstep::tools
