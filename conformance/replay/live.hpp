// Plays a script to the core in virtual time, through the real turn().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/replay/script.hpp"
#include "core/stack/config.hpp"
#include "core/stack/event.hpp"
#include "core/tcp/counters.hpp"
#include "core/units/drop.hpp"
#include "tools/lib/pair/bench.hpp"

namespace lockstep::conformance {

/// Sets the device under all replays of this process that begin later. nullptr selects a port in
/// memory only, which also plays packets that are too long for a bench.
void set_replay_bench(tools::BenchMaker maker);

/// The state of the core's connection at one moment.
struct View {
  tcp::State state = tcp::State::closed;
  ConnectionInfo info;         ///< exists: false while the connection has no id
  bool finish_called = false;  ///< finish or close
  bool close_called = false;
};

/// One segment that the core sent.
struct LiveSent {
  tools::Segment segment;
  std::uint32_t window_bytes = 0;  ///< scaled with the scale of that direction
  Instant at;                      ///< since the beginning of the replay
  Duration late;                   ///< how far the replay is behind the capture
  std::size_t steps = 0;  ///< number of steps made before; the last of them may be the cause
  bool by_timer = false;
  tcp::TimerKind timer = tcp::TimerKind::retransmit;
  std::uint32_t incarnation = 0;
  View view;  ///< taken after the segment was sent
  std::vector<std::byte> bytes;

  Instant captured_time() const { return at - late; }
};

/// The result of one step.
struct StepRecord {
  bool done = false;
  bool skipped = false;  ///< a duplicate ACK for a segment that the core had not sent
  Instant at;
  View before, after;
  Refusal refusal = Refusal::none;
  Drop dropped = Drop::none;     ///< why the core dropped the packet
  std::vector<std::byte> bytes;  ///< the packet as played
};

/// An ACK of what the core had sent, sent in place of the capture's ACK of more.
struct PartAck {
  std::size_t steps = 0;   ///< number of steps made before
  std::uint32_t edge = 0;  ///< the right edge that it offered, in captured numbers
};

struct LiveRun {
  std::vector<LiveSent> sent;
  std::vector<StepRecord> steps;
  std::vector<std::uint32_t> isns;
  std::vector<std::byte> delivered;  ///< the octets that the application read, of all connections
  std::size_t stuck_step = 0;        ///< the step whose need was never met; steps.size() if none
  Need stuck_need;
  Cause closed = Cause::none;
  Instant closed_at = Instant::never();  ///< in the capture's time
  View last;
  Duration virtual_time;
  Duration late;
  std::uint64_t packets_in = 0;
  std::vector<PartAck> part_acks;
  bool unsettled = false;  ///< the play was stopped because it exceeded its limit of turns

  bool is_stuck() const { return stuck_step < steps.size(); }
  /// Converts a sequence number of the core to the captured numbering; `incarnation` is the
  /// segment's.
  std::uint32_t as_captured(const Script& script, std::uint32_t number,
                            std::uint32_t incarnation) const;
};

/// The configuration for a script: `base` on a bare IP link with the script's addresses. For a
/// capture of another TCP it also takes that TCP's MSS and buffer size.
Config replay_config(const Script& script, const Config& base, bool keep_buffers);

/// Plays the whole script. Deterministic. Stops after `turns_max` turns; 0 selects a large multiple
/// of what the script requires.
LiveRun play(const Script& script, const Config& config, std::uint64_t turns_max = 0);

/// The addresses used in the play: those of the capture if the core accepts them, otherwise
/// substitutes.
struct PlayedAddresses {
  IpAddress device, peer;
};
PlayedAddresses played_addresses(const Script& script);

}  // namespace lockstep::conformance
