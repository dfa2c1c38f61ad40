// The ledger: every connection of a run with both its ends, as an all-seeing clerk books it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/stack/event.hpp"
#include "core/units/address.hpp"
#include "core/units/hash.hpp"
#include "core/units/sequence.hpp"
#include "core/units/time.hpp"
#include "sim/bus/name.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::sim {

struct FlowId {
  std::uint32_t value = 0xffff'ffff;
  constexpr bool operator==(const FlowId&) const = default;
};

enum class Side : std::uint8_t { opener, acceptor };

constexpr Side other(Side side) { return side == Side::opener ? Side::acceptor : Side::opener; }

// A bounded sample of round trip times: when full, every second one goes and the stride doubles.
class RttSample {
 public:
  static constexpr std::uint32_t kept_max = 512;

  void add(Duration rtt);
  struct Summary {
    Duration least;
    Duration median;
    Duration percentile_99;
    std::uint64_t count = 0;
  };
  Summary summary() const;

 private:
  std::vector<Duration> kept_;
  std::uint64_t seen_ = 0;
  std::uint64_t stride_ = 1;
  Duration least_ = Duration::forever();
};

// One end of a connection. Instants are the world's.
struct FlowEnd {
  bool begun = false;  // this side knows of the connection
  bool open = false;   // and it has not been told `closed`
  HostIndex host;
  ConnectionId id;
  std::uint32_t shift = 0;  // what it writes, by Pattern
  std::uint64_t written = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t read = 0;
  bool finished_writing = false;
  bool peer_finished = false;
  bool intact = true;             // everything read was what the other side wrote there
  std::uint64_t first_wrong = 0;  // offset of the piece that was not
  Instant began{0};
  Instant established = Instant::never();
  Instant last_read{0};
  Instant ended = Instant::never();
  Cause cause = Cause::none;
  ConnectionInfo last;  // as last seen
  RttSample rtt;
};

// One connection. `foreign`: nobody here opened it (a random_peer did), so its text is unknown.
struct Flow {
  FlowId id;
  Name app;
  FourTuple tuple;  // as the opener sees it
  Sequence iss;     // of the opener
  bool foreign = false;
  bool joined = false;  // simultaneous open: the other side's flow holds both ends; skip this one
  std::array<FlowEnd, 2> ends;

  FlowEnd& end(Side side) { return ends[static_cast<std::uint32_t>(side)]; }
  const FlowEnd& end(Side side) const { return ends[static_cast<std::uint32_t>(side)]; }
};

// Bits a second that `to` has read of the other side, over the time since it was established.
std::uint64_t goodput_bits_per_second(const FlowEnd& to);

// A plain value: a copy is a snapshot. Flows are never forgotten: their number bounds a run's
// memory, not the core's.
class Ledger {
 public:
  struct Opening {
    Name app;
    FourTuple tuple;
    Sequence iss;
    bool foreign = false;
  };
  // Books a connection that one side has begun.
  FlowId open(const Opening& opening);
  // The connection that a peer with this initial sequence number began; nil if nobody did.
  FlowId find(const FourTuple& tuple_of_opener, Sequence iss) const;

  Flow& flow(FlowId id) { return flows_[id.value]; }
  const Flow& flow(FlowId id) const { return flows_[id.value]; }
  const std::vector<Flow>& flows() const { return flows_; }

 private:
  std::uint32_t find_place(const FourTuple& tuple, Sequence iss) const;
  void grow();

  std::vector<Flow> flows_;
  std::vector<FlowId> places_;  // an open-addressed table that is never walked for output
};

}  // namespace lockstep::sim
