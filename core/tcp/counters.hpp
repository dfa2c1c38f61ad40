// What the TCP floor counts.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/tcp/state.hpp"

namespace lockstep::tcp {

// Each timer that can fire, for the swarm's table of what was exercised.
enum class TimerKind : std::uint8_t {
  retransmit,
  persist,
  sws_override,
  delayed_ack,
  give_up,
  keepalive,
  fin_wait_2,
  time_wait,
  pacing,
  reordering,
  loss_probe,
};

inline constexpr std::uint32_t timer_kind_count = 11;

constexpr std::string_view name_of(TimerKind kind) {
  constexpr std::array<std::string_view, timer_kind_count> names{
      "retransmit", "persist",   "sws_override", "delayed_ack", "give_up",   "keepalive",
      "fin_wait_2", "time_wait", "pacing",       "reordering",  "loss_probe"};
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
  std::uint64_t answers_limited = 0;      // empty segments out of the window, left without an ACK
  std::uint64_t sacks_ignored = 0;        // blocks of what was never sent, or no block at all
  std::uint64_t sacks_forgotten = 0;      // the scoreboard was full: the oldest knowledge went
  std::uint64_t scoreboards_dropped = 0;  // ... and there was none that could go
  std::uint64_t loss_probes = 0;
  std::uint64_t spurious_timeouts = 0;  // as F-RTO found out
  std::uint64_t recoveries_undone = 0;  // all that was sent again came twice
  std::uint64_t cookies_sent = 0;
  std::uint64_t cookies_taken = 0;        // connections that an ACK of a cookie opened
  std::uint64_t half_opens_kept = 0;      // SYNs that the SYN cache took ...
  std::uint64_t half_opens_promoted = 0;  // ... that became connections
  std::uint64_t half_opens_evicted = 0;   // ... that gave way to others
  std::uint64_t fast_opens_taken = 0;     // connections whose SYN brought data and a good cookie
  std::uint64_t fast_opens_refused = 0;   // data with a bad one, or beyond the limit
  std::uint64_t black_holes = 0;          // large packets seemed to vanish
  std::uint64_t path_probes = 0;
  std::uint64_t path_probes_lost = 0;  // alone: the path does not carry so much
  std::uint64_t acks_merged = 0;       // the pool of owed ACKs was full
  std::uint64_t time_wait_evicted = 0;
  std::uint64_t connections_opened = 0;
  std::uint64_t connections_closed = 0;
  std::uint64_t bytes_sent = 0;       // payload, first transmissions
  std::uint64_t bytes_delivered = 0;  // in-order payload accepted
  std::array<std::uint64_t, transitions.size()> transitions_taken{};
  std::array<std::uint64_t, timer_kind_count> timers_fired{};
};

}  // namespace lockstep::tcp
