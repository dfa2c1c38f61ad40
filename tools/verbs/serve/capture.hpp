// A capture of a running program's frames, in pcapng files of bounded size and number.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/stack/stack.hpp"
#include "core/units/drop.hpp"
#include "core/units/shard.hpp"
#include "hw/poll/descriptor.hpp"
#include "sim/kernel/pcapng.hpp"
#include "tools/base/output/background.hpp"
#include "tools/base/output/record_ring.hpp"

namespace lockstep::tools {

/// --pcapng run.pcapng writes run-00001.pcapng, run-00002.pcapng and so on.
struct CaptureSettings {
  std::string path;  ///< empty: no capture
  std::uint64_t file_octets = std::uint64_t{64} << 20;
  std::uint32_t files = 8;   ///< the oldest are removed
  bool force = false;        ///< overwrite files of another run
  std::uint32_t rest = 500;  ///< rounds of 20 ms after a failure, until writing is tried again
};

/// Whose frames they are.
struct CapturedInterface {
  std::string name;
  ShardCount shards;
  LinkType link = LinkType::ethernet;
};

/// "tcp_checksum" or "2 tcp_checksum, 1 tcp_out_of_window": what was counted since `before`.
std::string drops_text(const DropCounters& before, const DropCounters& now);

/// The name of file number `number`.
std::string capture_name(const std::string& path, std::uint32_t number);
/// The number of the file that may have this name, from its digits; 0: none has.
std::uint32_t capture_number(std::string_view name);

/// Frames of all shards, written by a thread of its own. A shard never waits: frames for which its
/// buffer has no room are left out and counted, and the next one has a comment with their number.
class Capture {
 public:
  static constexpr std::size_t buffer_octets = std::size_t{8} << 20;

  /// What is noted beside a frame.
  struct Note {
    Instant at;
    bool outbound = false;
    bool partial = false;  ///< its TCP checksum is left to the NIC
    std::string_view comment;
  };

  /// Opens the first file. `unix_ns`: the time of day at Instant{}. Throws Failure: bad input if a
  /// file exists, else environment.
  Capture(const CaptureSettings& settings, const CapturedInterface& of, std::uint64_t unix_ns);
  /// Writes what waits.
  ~Capture();

  /// Call from the shard's own thread.
  void put(ShardId shard, const Note& note, std::span<const std::byte> frame);

  std::uint64_t frames() const { return frames_.load(); }
  /// Frames left out, because a buffer was full or a file could not be written.
  std::uint64_t lost() const;
  /// What is said at the end of frames that were left out; empty: none was. Call after finish().
  std::string lost_text() const;
  std::string last_name() const { return capture_name(settings_.path, number_.load()); }
  /// Writes what waits, and ends. Nothing may be put after that.
  void finish() { thread_.reset(); }

 private:
  struct Place {
    RecordRing ring{buffer_octets};
    std::atomic<std::uint64_t> lost{0};
    // Of the writing thread.
    std::uint64_t pending = 0;    // frames in `pending_`
    std::uint64_t unwritten = 0;  // frames that a file did not take
    std::uint64_t told = 0;       // of `lost` and `unwritten`, in comments of files
    std::uint64_t telling = 0;    // of the rest, in comments in `pending_`
  };

  void work();
  void write_record(ShardId shard, std::span<std::byte> record);
  int open_next();
  void begin_file();
  void write_out();
  void leave_out_if(int error);
  void tell_failure(int error);
  void tell_lost();

  CaptureSettings settings_;
  std::string interface_;
  std::uint32_t shards_;
  std::uint64_t unix_ns_;
  LinkType link_;
  std::vector<std::unique_ptr<Place>> places_;
  hw::Descriptor file_;
  /// Appends to `pending_`.
  class Sink final : public sim::ByteSink {
   public:
    explicit Sink(std::string& into) : into_(into) {}
    void put(std::span<const std::byte> bytes) override {
      into_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }

   private:
    std::string& into_;
  };
  std::string pending_;  // whole blocks that are not written yet
  Sink sink_{pending_};
  std::optional<sim::PcapngWriter> writer_;  // of the present file
  std::uint64_t in_file_ = 0;
  std::uint32_t rest_ = 0;  // rounds of work until writing is tried again; 0: it is possible
  bool said_lost_ = false;
  bool failing_ = false;
  int error_ = 0;  // of the last failure
  std::atomic<std::uint32_t> number_{0};
  std::atomic<std::uint64_t> frames_{0};
  std::atomic<std::uint64_t> unwritten_{0};
  std::unique_ptr<Background> thread_;
};

}  // namespace lockstep::tools
