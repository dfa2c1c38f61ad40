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

/// What the device of a replay stands on, for all replays of this process that begin from now on;
/// nullptr: a port of nothing but memory, which also plays packets longer than a bench carries.
void set_replay_bench(tools::BenchMaker maker);

/// The core's connection as seen from outside at one moment.
struct View {
  tcp::State state = tcp::State::closed;
  ConnectionInfo info;         ///< exists: false where there is no id for it (yet or any more)
  bool finish_called = false;  ///< finish or close
  bool close_called = false;
};

/// One segment that the core sent.
struct LiveSent {
  tools::Segment segment;
  std::uint32_t window_bytes = 0;  ///< with the scale that it was told in
  Instant at;                      ///< since the beginning of the replay
  Duration late;                   ///< how far the replay is behind the capture
  std::size_t steps = 0;  ///< how many steps had been made; the last of them may be the cause
  bool by_timer = false;
  tcp::TimerKind timer = tcp::TimerKind::retransmit;
  std::uint32_t incarnation = 0;
  View view;  ///< after it was sent
  std::vector<std::byte> bytes;

  Instant captured_time() const { return at - late; }
};

/// What became of one step.
struct StepRecord {
  bool done = false;
  bool skipped = false;  ///< a duplicate ACK of something that the core had not sent
  Instant at;
  View before, after;
  Refusal refusal = Refusal::none;
  Drop dropped = Drop::none;     ///< why the core threw the packet away
  std::vector<std::byte> bytes;  ///< the packet as it was played
};

/// An ACK of what the core had sent, in place of the capture's ACK of more.
struct PartAck {
  std::size_t steps = 0;   ///< how many steps had been made
  std::uint32_t edge = 0;  ///< up to where it allowed to send, in the capture's numbers
};

struct LiveRun {
  std::vector<LiveSent> sent;
  std::vector<StepRecord> steps;
  std::vector<std::uint32_t> isns;
  std::vector<std::byte> delivered;  ///< what the application read, all connections
  std::size_t stuck_step = 0;        ///< the step whose need was never met; steps.size(): none
  Need stuck_need;
  Cause closed = Cause::none;
  Instant closed_at = Instant::never();  ///< of the capture
  View last;
  Duration virtual_time;
  Duration late;
  std::uint64_t packets_in = 0;
  std::vector<PartAck> part_acks;
  bool unsettled = false;  ///< the play was stopped: it took more turns than it may

  bool is_stuck() const { return stuck_step < steps.size(); }
  /// A number of the core's as the capture would have it; `incarnation` as of the segment.
  std::uint32_t as_captured(const Script& script, std::uint32_t number,
                            std::uint32_t incarnation) const;
};

/// The configuration that a script is played on: `base` on a bare IP link, with the addresses, and
/// where the capture is another TCP's, the MSS and the buffer that it showed.
Config replay_config(const Script& script, const Config& base, bool keep_buffers);

/// Plays the whole script. Deterministic. Stops after so many turns: 0 stands for what the script
/// asks for, many times over.
LiveRun play(const Script& script, const Config& config, std::uint64_t turns_max = 0);

/// The addresses that are played: those of the capture where the core accepts them, else made up.
struct PlayedAddresses {
  IpAddress device, peer;
};
PlayedAddresses played_addresses(const Script& script);

}  // namespace lockstep::conformance
