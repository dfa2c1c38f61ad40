// Reads a journal record by record, tolerating any damage to the file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/stack/frame.hpp"
#include "core/units/time.hpp"
#include "tools/lib/journal/format.hpp"

namespace lockstep::journal {

struct FrameIn {
  Checksum checksum = Checksum::unknown;
  Instant arrived;
  std::vector<std::byte> bytes;
};

struct FrameOut {
  std::uint32_t length = 0;
  std::uint64_t hash = 0;
};

/// The input and the output of one turn.
struct Turn {
  Instant now;
  bool blocked = false;  // at the end there was no room for another frame
  std::vector<FrameIn> in;
  std::vector<FrameOut> out;
};

struct Record {
  Kind kind = Kind::end;
  std::uint64_t number = 0;  ///< from 1
  std::uint64_t offset = 0;  ///< of its length field in the file
  bool edited = false;       ///< the chain hash does not match: this or an earlier record changed
  std::vector<std::byte> fields;
};

/// whole: the file ends at a record's end. torn: it ends within a record, which is ignored.
enum class Tail : std::uint8_t { whole, torn };

class Reader {
 public:
  /// Throws tools::Failure: environment if it cannot be opened, bad input if it is not a journal.
  explicit Reader(const std::string& path);

  /// Reads the next whole record; false at the end.
  bool next(Record& out);
  Tail tail() const { return tail_; }
  /// Where the unusable tail begins.
  std::uint64_t offset() const { return offset_; }
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t offset_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t chain_ = 0;
  Tail tail_ = Tail::whole;
};

/// Parses the fields of a turn; false if they contradict the record's length.
bool parse_turn(const Record& record, Turn& out);
/// Parses the single number of the other kinds.
bool parse_number(const Record& record, std::uint64_t& out);

}  // namespace lockstep::journal
