// Output files that are there whole or not at all.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/kernel/pcapng.hpp"

namespace lockstep::tools {

/// A file that is written beside its place and moved there by keep(); otherwise it is removed.
class DraftFile final : public sim::ByteSink {
 public:
  /// Makes the folder where it is missing. Throws Failure (environment).
  explicit DraftFile(std::filesystem::path path);
  ~DraftFile() override;
  DraftFile(const DraftFile&) = delete;
  DraftFile& operator=(const DraftFile&) = delete;

  /// A failed write is reported by keep().
  void put(std::span<const std::byte> bytes) override;
  /// Throws Failure (environment) if anything could not be written.
  void keep();
  const std::filesystem::path& path() const { return path_; }

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  std::filesystem::path draft_;
  std::FILE* file_ = nullptr;
  bool failed_ = false;
};

}  // namespace lockstep::tools
