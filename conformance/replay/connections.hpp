// Reads a capture connection by connection in bounded memory: keeps the first part of each
// connection and only watches the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "conformance/replay/flow.hpp"
#include "conformance/replay/watch.hpp"

namespace lockstep::conformance {

/// Limits of what is kept in memory at once.
struct KeepLimits {
  std::size_t segments_max = 8'000;                   ///< of one connection
  std::uint64_t octets_max = std::uint64_t{3} << 20;  ///< payload octets of one connection
  std::uint64_t total_max = std::uint64_t{12}
                            << 20;  ///< payload octets of all connections not yet judged
  std::size_t closed_max = 1'000;   ///< connections that have ended
  std::size_t open_max =
      32'768;  ///< connections that have not; beyond this the longest silent ones end
};

/// One connection of a capture. Reuse of a port makes another.
struct Connection {
  Connection(const Endpoint& first, const Endpoint& second, std::optional<Instant> recorded_since)
      : watch(first, second, recorded_since) {
    flow.first = first;
    flow.second = second;
    flow.recorded_since = recorded_since;
  }

  Flow flow;    ///< the first part of the connection, until it has been judged
  Watch watch;  ///< watches all segments after the first part has been judged
  std::uint64_t segments = 0;
  std::uint64_t later = 0;         ///< number of segments after the judged part
  std::uint64_t judged_until = 0;  ///< the last packet of the judged part
  std::uint64_t number = 0;        ///< for the judge's own records
  bool is_judged = false;

  // State for finding the end of the connection.
  std::uint32_t syn[2] = {0, 0};
  bool has_syn[2] = {false, false}, fin[2] = {false, false};
  std::uint32_t next[2] = {0, 0};  ///< SND.NXT of each side as captured
  bool has_next[2] = {false, false};
  std::uint32_t acked[2] = {0, 0};  ///< the last acknowledgment number of each side
  bool has_acked[2] = {false, false};
  bool reset = false;
  std::uint64_t sound = 0;  ///< number of segments without a wrong checksum
  std::uint64_t wrong = 0;  ///< number with a wrong checksum; if most are wrong, the file was
                            ///< edited, and they were received
  std::size_t reopens = 0;  ///< index in the flow of a SYN that may begin another connection
  std::uint32_t reopens_with = 0;
  std::size_t reopens_by = 0;
  bool reopens_late = false;  ///< so late that it is no copy of the first SYN
  Instant last;
  std::uint64_t octets = 0, bytes = 0;

  bool is_edited() const { return wrong > sound; }
  bool has_ended() const { return reset || (fin[0] && fin[1]); }
};

class ConnectionReader {
 public:
  struct Handlers {
    /// Called once for each connection when its first part is complete. May move the flow out.
    std::function<void(Connection&)> judge;
    /// Called once for each connection, after judge, when it has ended.
    std::function<void(Connection&)> done;
  };

  ConnectionReader(const KeepLimits& limits, Handlers handlers)
      : limits_(limits), handlers_(std::move(handlers)) {}

  /// Throws Failure as CaptureReader does. In a small capture connections end in the order of their
  /// first packets, otherwise in the order in which they close.
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
  std::optional<Instant> began_;  ///< the capture's first packet
  std::size_t relieved_at_ = 0;
  tools::FrameCounts kinds_{};
  FilterProof filter_;
  std::string warning_;
  Instant now_;
};

}  // namespace lockstep::conformance
