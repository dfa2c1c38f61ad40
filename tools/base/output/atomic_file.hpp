// Output files that are there whole or not at all.
#pragma once

#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "sim/kernel/pcapng.hpp"

namespace lockstep::tools {

/// A file that gets its name when keep() has seen it whole. Until then it has none, so that nothing
/// is left behind however the program ends (where the file system cannot do that, it is called
/// PATH.part). What is there and no file, such as /dev/stdout or a pipe, is written to as it is.
class AtomicFile final : public sim::ByteSink {
 public:
  /// Makes the folder where it is missing. Throws Failure (environment).
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// A failed write is reported by keep().
  void put(std::span<const std::byte> bytes) override;
  void put(std::string_view text) { put(std::as_bytes(std::span(text))); }
  /// Throws Failure (environment) if anything could not be written.
  void keep();
  const std::filesystem::path& path() const { return path_; }

 private:
  enum class Kind { nameless, part, direct };
  bool is_stream() const;
  void open();
  bool move_into_place();
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;
  std::filesystem::path target_;  // `path_` with its link followed
  std::filesystem::path draft_;
  std::FILE* file_ = nullptr;
  Kind kind_ = Kind::nameless;
  int failed_ = 0;  // the first error's number
};

/// Writes a whole file. Throws Failure (environment).
void save_file(const std::string& path, std::span<const std::byte> bytes);
void save_file(const std::string& path, std::string_view text);

/// Throws Failure (bad input) if `output` is the file that is read as `input`.
void refuse_overwrite(const std::string& input, const std::string& output);

/// Throws Failure (bad input) if two files that are to be written, and need not be there yet, are
/// one; an empty name is none.
void refuse_same_output(const std::string& one, const std::string& other);

}  // namespace lockstep::tools
