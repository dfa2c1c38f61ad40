// Keeps the last seconds of a run in memory, and writes them out when there was trouble.
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

/// What is trouble.
struct Troubles {
  bool rto = false;    ///< a retransmission timeout
  bool reset = false;  ///< a reset of ours was sent, or a peer's ended a connection
  std::vector<Drop> drops;
};

/// "rto,reset,drop:tcp_checksum". Throws tools::Failure (bad input) that names what is known.
Troubles parse_troubles(const std::string& text);

/// What a flight_recorder has to know of the application: how many of its connections a peer has
/// reset, and its state as octets, which the same program can take back.
struct KeptApplication {
  std::function<std::uint64_t()> resets;
  std::function<std::vector<std::byte>()> snapshot;
  /// Writes the records that a journal begins with.
  std::function<void(Writer&)> begin;
};

/// Two pieces of at most `piece` or `piece_bytes` each, the older of which goes when the newer is
/// full: so at least the last `piece` before a trouble are kept, unless more came than memory is
/// allowed for, and `piece` after it. Each begins with a snapshot of the stack and the application.
class FlightRecorder {
 public:
  static constexpr Duration piece = Duration::seconds(5);
  static constexpr std::size_t piece_bytes = std::size_t{32} << 20;
  static constexpr std::uint32_t files_max = 16;

  /// Files are called `path`, then `path`-2 and so on, at most files_max of them.
  FlightRecorder(const std::string& path, const Troubles& troubles, const Stack& stack,
                 const KeptApplication& application);

  /// Where the log of the turns writes to.
  Writer& writer() { return memory_; }
  /// Whether look() will write a file now: then the log is to be caught up before.
  bool writes(Instant now) const {
    return !write_at_.is_never() && (now >= write_at_ || newer_.records.size() >= piece_bytes);
  }
  /// Before each turn, once the one before it is wholly in the log.
  void look(Instant now);
  /// After the last turn: what is still to be written is.
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
  void append(Writer& to, const std::vector<std::byte>& records) const;

  std::string path_;
  Troubles troubles_;
  const Stack& stack_;
  KeptApplication application_;
  Piece older_;
  Piece newer_;
  Writer memory_;  // into the newer one
  std::uint64_t seen_ = 0;
  Instant write_at_ = Instant::never();
  std::vector<std::string> files_;
  std::uint64_t bytes_ = 0;
  int failed_ = 0;
};

/// The fields of a snapshot's record, and back: false where they contradict its length.
std::vector<std::byte> snapshot_fields(const Stack& stack, std::span<const std::byte> application);
struct SnapshotParts {
  std::span<const std::byte> stack;
  std::span<const std::byte> application;
};
bool parse_snapshot(std::span<const std::byte> fields, SnapshotParts& out);

}  // namespace lockstep::journal
