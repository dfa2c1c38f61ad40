// Counters of the TCP layer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/tcp/state.hpp"
#include "core/units/listed_enum.hpp"

namespace lockstep::tcp {

// X(name, what it waits for).
#define LOCKSTEP_TIMER_KINDS(X)                                           \
  X(retransmit, "the ACK of data, of a SYN or of a FIN")                  \
  X(persist, "the next probe of a zero window")                           \
  X(sws_override, "the end of sender-side silly-window avoidance")        \
  X(delayed_ack, "the last moment for a delayed ACK")                     \
  X(give_up, "R2, or the user timeout")                                   \
  X(keepalive, "the next keep-alive probe")                               \
  X(fin_wait_2, "the end of FIN-WAIT-2 after a full close")               \
  X(time_wait, "the end of TIME-WAIT")                                    \
  X(pacing, "the next paced segment")                                     \
  X(reordering, "RACK: when a segment that may be reordered counts lost") \
  X(loss_probe, "the next tail loss probe")

enum class TimerKind : std::uint8_t { LOCKSTEP_TIMER_KINDS(LOCKSTEP_ENUMERATOR) };

inline constexpr std::uint32_t timer_kind_count = 0 LOCKSTEP_TIMER_KINDS(LOCKSTEP_ONE_MORE);

constexpr std::string_view name_of(TimerKind kind) {
  constexpr std::array<std::string_view, timer_kind_count> names{
      LOCKSTEP_TIMER_KINDS(LOCKSTEP_NAME)};
  return names[static_cast<std::uint32_t>(kind)];
}

struct Counters {
  std::uint64_t segments_received = 0;
  std::uint64_t segments_sent = 0;
  std::uint64_t data_segments_out = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t fast_retransmits = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t resets_sent = 0;
  std::uint64_t challenges_sent = 0;
  std::uint64_t challenges_limited = 0;
  std::uint64_t answers_limited = 0;      // unacceptable empty segments that got no ACK
  std::uint64_t sacks_ignored = 0;        // invalid blocks, or blocks of octets never sent
  std::uint64_t sacks_forgotten = 0;      // scoreboard full: the oldest information was discarded
  std::uint64_t scoreboards_dropped = 0;  // ... and none could be discarded: scoreboard given up
  std::uint64_t loss_probes = 0;
  std::uint64_t spurious_timeouts = 0;  // detected by F-RTO
  std::uint64_t recoveries_undone = 0;  // all retransmissions were unnecessary
  std::uint64_t cookies_sent = 0;
  std::uint64_t cookies_taken = 0;        // connections opened by an ACK of a cookie
  std::uint64_t half_opens_kept = 0;      // SYNs stored in the SYN cache ...
  std::uint64_t half_opens_promoted = 0;  // ... that became connections
  std::uint64_t half_opens_evicted = 0;   // ... that were evicted
  std::uint64_t fast_opens_taken = 0;     // connections whose SYN had data and a valid cookie
  std::uint64_t fast_opens_refused = 0;   // data with an invalid cookie, or beyond the limit
  std::uint64_t black_holes = 0;          // large packets seemed to be dropped silently
  std::uint64_t path_probes = 0;
  std::uint64_t path_probes_lost = 0;  // only the probe was lost: the path MTU is smaller
  std::uint64_t acks_merged = 0;       // the pool of pending ACKs was full
  std::uint64_t time_wait_evicted = 0;
  std::uint64_t connections_opened = 0;
  std::uint64_t connections_closed = 0;
  std::uint64_t bytes_sent = 0;       // payload, first transmissions
  std::uint64_t bytes_delivered = 0;  // in-order payload accepted
  std::array<std::uint64_t, transitions.size()> transitions_taken{};
  std::array<std::uint64_t, timer_kind_count> timers_fired{};
};

}  // namespace lockstep::tcp
