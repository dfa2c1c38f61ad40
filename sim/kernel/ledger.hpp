// The ledger: every connection of a run with both its ends and what each wrote and read.
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

// A bounded sample of round trip times: when full, every second one is removed and the stride
// doubles.
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

// One end of a connection. Instants are world time.
struct FlowEnd {
  bool begun = false;  // this side has opened or accepted the connection
  bool open = false;   // begun, and without a `closed` event so far
  HostIndex host;
  bool station = false;     // `host` is the position of a station, which has no Stack
  ConnectionId id;          // of a host
  std::uint32_t shift = 0;  // which bytes it writes, see Pattern
  std::uint64_t written = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t read = 0;
  bool finished_writing = false;
  bool peer_finished = false;
  bool intact = true;             // everything read equals what the other side wrote
  std::uint64_t first_wrong = 0;  // offset of the first read piece that differs
  Instant began{0};
  Instant established = Instant::never();
  Instant last_read{0};
  Instant ended = Instant::never();
  Cause cause = Cause::none;
  ConnectionInfo last;  // as last observed
  RttSample rtt;
};

// One connection. `foreign`: opened by a station such as random_peer, so the expected bytes are
// unknown.
struct Flow {
  FlowId id;
  Name app;
  FourTuple tuple;  // as seen by the opener
  Sequence iss;     // of the opener
  bool foreign = false;
  bool joined = false;  // simultaneous open: the other side's flow has both ends; skip this one
  std::array<FlowEnd, 2> ends;

  FlowEnd& end(Side side) { return ends[static_cast<std::uint32_t>(side)]; }
  const FlowEnd& end(Side side) const { return ends[static_cast<std::uint32_t>(side)]; }
};

// Bits per second that `to` has read since the connection was established.
std::uint64_t goodput_bits_per_second(const FlowEnd& to);

// A plain value: a copy is a snapshot. Flows are never removed: their number bounds the memory of a
// run, not that of the core.
class Ledger {
 public:
  struct Opening {
    Name app;
    FourTuple tuple;
    Sequence iss;
    bool foreign = false;
  };
  // Records a connection that one side has begun.
  FlowId open(const Opening& opening);
  // The connection that a peer began with this initial sequence number; nil if there is none.
  FlowId find(const FourTuple& tuple_of_opener, Sequence iss) const;

  Flow& flow(FlowId id) { return flows_[id.value]; }
  const Flow& flow(FlowId id) const { return flows_[id.value]; }
  const std::vector<Flow>& flows() const { return flows_; }

 private:
  std::uint32_t find_place(const FourTuple& tuple, Sequence iss) const;
  void grow();

  std::vector<Flow> flows_;
  std::vector<FlowId> places_;  // an open-addressed table that is never iterated for output
};

}  // namespace lockstep::sim
