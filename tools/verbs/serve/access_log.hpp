// The access log of a web server, in the common or the combined format.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/units/shard.hpp"
#include "hw/poll/descriptor.hpp"
#include "tools/base/output/background.hpp"
#include "tools/base/output/record_ring.hpp"
#include "tools/lib/http/server.hpp"

namespace lockstep::tools {

enum class AccessFormat : std::uint8_t { common, combined };

/// `text` within quotes: what is not printable ASCII as \xHH, quotes and backslashes after a
/// backslash; "-" if it is empty.
void append_escaped(std::string& line, std::string_view text);
/// What is said at the end of lines that were lost. `error`: as AccessLog::lost_to().
std::string lost_lines_text(const std::string& path, std::uint64_t lost, int error);
/// One line, with its newline. `unix_ns`: when the request began.
std::string access_line(const http::Answered& answer, AccessFormat format, std::uint64_t unix_ns);

/// Lines of all shards in one file, written by a thread of its own. A shard never waits: lines for
/// which its buffer has no room are lost and counted. A write that fails is said once; the lines
/// wait in the buffer and are written when that is possible again; at the end they are lost. SIGHUP
/// opens the file anew.
class AccessLog {
 public:
  static constexpr std::size_t buffer_octets = std::size_t{1} << 20;

  /// Opens the file for appending. Throws Failure (environment).
  AccessLog(std::string path, AccessFormat format, ShardCount shards);
  /// As finish().
  ~AccessLog();

  AccessFormat format() const { return format_; }
  /// Call from the shard's own thread.
  void put(ShardId shard, std::string_view line);
  /// From now on SIGHUP does not end the program: the log of this process, if it exists by then,
  /// opens its file anew. hw::StopSignals leaves this handler in place.
  static void heed_hangup();
  /// As SIGHUP does.
  void reopen() { reopen_.store(true); }

  /// Writes what waits, and counts as lost what cannot be written. Nothing may be put after that.
  void finish();

  const std::string& path() const { return path_; }
  /// Lines that are in the file.
  std::uint64_t lines() const { return lines_.load(); }
  std::uint64_t lost() const { return lost_.load(); }
  /// The errno of the last write; 0: it succeeded.
  int error() const { return error_.load(); }
  /// The error() while which lines were lost, the last one; 0: lines came too fast, if any were
  /// lost.
  int lost_to() const { return lost_to_.load(); }

 private:
  void work();
  void open_anew();
  bool flush();
  void fail(int error);
  void lose(std::uint64_t lines);

  std::string path_;
  AccessFormat format_;
  hw::Descriptor file_;
  std::vector<std::unique_ptr<RecordRing>> rings_;
  std::string pending_;  // taken from the rings and not written yet
  std::atomic<bool> reopen_{false};
  std::atomic<std::uint64_t> lines_{0};
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<int> error_{0};
  std::atomic<int> lost_to_{0};
  std::unique_ptr<Background> thread_;
};

}  // namespace lockstep::tools
