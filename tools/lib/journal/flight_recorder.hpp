// Keeps the last seconds of a run in memory, and writes them to a file after trouble.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/stack/stack.hpp"
#include "core/units/drop.hpp"
#include "tools/lib/journal/turn_log.hpp"
#include "tools/lib/journal/writer.hpp"

namespace lockstep::journal {

/// The events that count as trouble.
struct Troubles {
  bool rto = false;    ///< a retransmission timeout
  bool reset = false;  ///< we sent a reset, or a peer's reset ended a connection
  std::vector<Drop> drops;
};

/// Parses "rto,reset,drop:tcp_checksum". Throws tools::Failure (bad input) listing the valid words.
Troubles parse_troubles(const std::string& text);

/// What the recorder needs from the application: how many of its connections a peer has reset, and
/// its state as octets that the same program can restore.
struct KeptApplication {
  std::function<std::uint64_t()> resets;
  std::function<std::vector<std::byte>()> snapshot;
  /// Writes the first records of a journal.
  std::function<void(Writer&)> begin;
};

/// Keeps two pieces of at most `piece` or `piece_bytes` each; when the newer is full, the older is
/// dropped. A file therefore covers at least the last `piece` before a trouble, unless memory runs
/// out, and `piece` after it. Each piece begins with a snapshot of the stack and the application.
class FlightRecorder {
 public:
  static constexpr Duration piece = Duration::seconds(5);
  static constexpr std::size_t piece_bytes = std::size_t{32} << 20;
  static constexpr std::uint32_t files_max = 16;

  /// Files are named `path`, `path`-2 and so on, at most files_max of them.
  FlightRecorder(const std::string& path, const Troubles& troubles, const Stack& stack,
                 const KeptApplication& application);

  /// Where the turn log writes its records.
  Writer& writer() { return memory_; }
  /// Whether look() will write a file now; catch up the turn log before that.
  bool writes(Instant now) const {
    return !write_at_.is_never() && (now >= write_at_ || newer_.records.size() >= piece_bytes);
  }
  /// Call before each turn, once the log holds all of the previous turn.
  void look(Instant now);
  /// Call after the last turn: writes the file that is still due.
  void finish();

  /// The files written so far.
  const std::vector<std::string>& files() const { return files_; }
  std::uint64_t bytes() const { return bytes_; }
  int failed() const { return failed_; }

 private:
  struct Piece {
    std::vector<std::byte> snapshot;
    std::vector<std::byte> records;
    Instant begun;
  };

  std::uint64_t troubles_so_far() const;
  void begin_piece(Instant now);
  void write_out();
  void note_failure(const std::string& name, int error);
  void append(Writer& to, const std::vector<std::byte>& records) const;

  std::string path_;
  Troubles troubles_;
  const Stack& stack_;
  KeptApplication application_;
  Piece older_;
  Piece newer_;
  Writer memory_;  // appends to the newer piece
  std::uint64_t seen_ = 0;
  Instant write_at_ = Instant::never();
  std::vector<std::string> files_;
  std::uint64_t bytes_ = 0;
  int failed_ = 0;
};

/// The fields of a snapshot record, and their parser, which returns false if they contradict the
/// record's length.
std::vector<std::byte> snapshot_fields(const Stack& stack, std::span<const std::byte> application);
struct SnapshotParts {
  std::span<const std::byte> stack;
  std::span<const std::byte> application;
};
bool parse_snapshot(std::span<const std::byte> fields, SnapshotParts& out);

}  // namespace lockstep::journal
