// Reads a capture connection by connection, in little memory: the first part of each is kept, the
// rest of it is watched as it goes by.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "conformance/replay/flow.hpp"
#include "conformance/replay/watch.hpp"

namespace lockstep::conformance {

/// How much of a capture is kept at once.
struct KeepLimits {
  std::size_t segments_max = 8'000;                   ///< of one connection
  std::uint64_t octets_max = std::uint64_t{3} << 20;  ///< of data of one connection
  std::uint64_t total_max = std::uint64_t{12} << 20;  ///< of all that are not judged yet
  std::size_t closed_max = 1'000;                     ///< connections that have ended
  std::size_t open_max = 32'768;  ///< ... and have not; beyond it those end that are silent longest
};

/// One connection of a capture. A port that is used again makes another.
struct Connection {
  Connection(const Endpoint& first, const Endpoint& second) : watch(first, second) {
    flow.first = first;
    flow.second = second;
  }

  Flow flow;    ///< its first part, until it was judged
  Watch watch;  ///< of all of it, once it was judged
  std::uint64_t segments = 0;
  std::uint64_t later = 0;         ///< segments that came after the part that was judged
  std::uint64_t judged_until = 0;  ///< the last packet of that part
  std::uint64_t number = 0;        ///< for the judge's own records
  bool is_judged = false;

  // What tells where it ends.
  std::uint32_t syn[2] = {0, 0};
  bool has_syn[2] = {false, false}, fin[2] = {false, false};
  std::uint32_t next[2] = {0, 0};  ///< behind all that a side has said
  bool has_next[2] = {false, false};
  std::uint32_t acked[2] = {0, 0};  ///< what a side acknowledged last
  bool has_acked[2] = {false, false};
  bool reset = false;
  std::uint64_t sound = 0;  ///< segments whose checksum is not wrong ...
  std::uint64_t wrong = 0;  ///< ... and is; most: it was edited, and what is wrong was heard
  std::size_t reopens = 0;  ///< where in the flow a SYN stands that may begin another
  std::uint32_t reopens_with = 0;
  std::size_t reopens_by = 0;
  Instant last;
  std::uint64_t octets = 0, bytes = 0;

  bool is_edited() const { return wrong > sound; }
  bool has_ended() const { return reset || (fin[0] && fin[1]); }
};

class ConnectionReader {
 public:
  struct Handlers {
    /// The first part is whole: called once for each. The flow may be moved out of.
    std::function<void(Connection&)> judge;
    /// Nothing more will come of it: called once for each, after judge.
    std::function<void(Connection&)> done;
  };

  ConnectionReader(const KeepLimits& limits, Handlers handlers)
      : limits_(limits), handlers_(std::move(handlers)) {}

  /// Throws Failure as CaptureReader does. Connections end in the order of their first packets
  /// where the capture is small, else as they close.
  void read(const std::string& path);
  void take(tools::Decoded&& decoded);
  void finish();

  std::uint64_t packets() const { return packets_; }
  std::uint64_t connections() const { return count_; }
  const tools::FrameCounts& kinds() const { return kinds_; }
  const std::string& warning() const { return warning_; }

 private:
  using Place = std::list<Connection>::iterator;
  using Key = std::pair<Endpoint, Endpoint>;

  Place begin(const Key& key, const tools::Segment& segment);
  Place place_of(const Key& key, const tools::Segment& segment);
  void split(Place old, const Key& key);
  void add(Place place, tools::Segment&& segment);
  void account(Connection& connection, const tools::Segment& segment);
  void judge(Connection& connection);
  void relieve();
  Place close(Place place);
  void close_silent();

  KeepLimits limits_;
  Handlers handlers_;
  std::list<Connection> all_;
  std::map<Key, Place> open_;
  std::uint64_t kept_ = 0, packets_ = 0, count_ = 0;
  std::size_t relieved_at_ = 0;
  tools::FrameCounts kinds_{};
  std::string warning_;
  Instant now_;
};

}  // namespace lockstep::conformance
