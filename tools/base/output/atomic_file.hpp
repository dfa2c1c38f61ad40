// Output files that appear complete or not at all.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/kernel/pcapng.hpp"

namespace lockstep::tools {

/// A file that gets its name only when keep() finds it complete. Until then it has no name, so
/// nothing is left behind however the program ends. Where the file system does not support that, it
/// is named PATH.part. An existing PATH that is not a file, such as /dev/stdout or a pipe, is
/// written directly.
class AtomicFile final : public sim::ByteSink {
 public:
  /// Creates the folder if it is missing. Throws Failure (environment).
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// A failed write is reported by keep().
  void put(std::span<const std::byte> bytes) override;
  void put(std::string_view text) { put(std::as_bytes(std::span(text))); }
  /// Throws Failure (environment) if a write failed.
  void keep();
  const std::filesystem::path& path() const { return path_; }

 private:
  enum class Kind { nameless, part, direct };
  bool is_stream() const;
  void open();
  bool move_into_place();
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;
  std::filesystem::path target_;  // `path_` with symbolic links resolved
  std::filesystem::path draft_;
  std::FILE* file_ = nullptr;
  Kind kind_ = Kind::nameless;
  int failed_ = 0;  // errno of the first error
};

/// Writes a complete file. Throws Failure (environment).
void save_file(const std::string& path, std::span<const std::byte> bytes);
void save_file(const std::string& path, std::string_view text);

/// For an output that is not always wanted: nullptr if `path` is empty.
std::unique_ptr<AtomicFile> file_if_named(const std::string& path);
/// Writes the whole text and keeps the file; does nothing without one.
void keep_text(AtomicFile* file, std::string_view text);

/// Throws Failure (bad input) if `output` is the same file as `input`.
void refuse_overwrite(const std::string& input, const std::string& output);

/// Throws Failure (bad input) if two output files, which need not exist yet, are the same; an empty
/// name matches nothing.
void refuse_same_output(const std::string& one, const std::string& other);

}  // namespace lockstep::tools
