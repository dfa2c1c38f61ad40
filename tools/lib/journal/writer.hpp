// Writes a journal: records into a bounded buffer, the buffer to a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hw/poll/descriptor.hpp"
#include "tools/lib/journal/format.hpp"

namespace lockstep::journal {

/// After a crash of the program at most the last buffer_bytes octets are missing from the file.
/// Records shorter than buffer_bytes cause no allocation.
class Writer {
 public:
  static constexpr std::uint32_t buffer_bytes = 1u << 20;

  /// Creates the file and its folder. An existing file is truncated with the first record, and is
  /// unchanged if there is none. Throws tools::Failure (environment).
  explicit Writer(const std::string& path);
  /// Writes no file: appends whole records to `memory`, without chain hashes. `memory` may be
  /// cleared between two records.
  explicit Writer(std::vector<std::byte>& memory) : memory_(&memory) {}
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // One record: begin, fields, then finish or forget.
  void begin(Kind kind);
  void octet(std::uint8_t value) { record_.push_back(static_cast<std::byte>(value)); }
  void word(std::uint32_t value);
  void wide(std::uint64_t value);
  void octets(std::span<const std::byte> bytes) {
    record_.insert(record_.end(), bytes.begin(), bytes.end());
  }
  void finish();
  void forget() { record_.clear(); }

  /// Writes everything buffered to the file.
  void flush();
  /// `tell` is called at once if a write fails.
  void on_failure(std::function<void(const Writer&)> tell) { tell_ = std::move(tell); }
  /// The errno of the first write that failed, after which nothing more is written; 0 if none did.
  int failed() const { return failed_; }
  std::uint64_t bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  void put_length(std::vector<std::byte>& to) const;

  std::string path_;
  std::vector<std::byte>* memory_ = nullptr;
  hw::Descriptor file_;
  bool is_new_ = false;
  bool has_record_ = false;
  int failed_ = 0;
  std::function<void(const Writer&)> tell_;
  std::uint64_t chain_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<std::byte> record_;
  std::vector<std::byte> buffer_;
};

}  // namespace lockstep::journal
