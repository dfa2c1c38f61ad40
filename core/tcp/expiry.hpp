// Timers of a connection: retransmission, persist, SWS override, delayed ACK, user timeout and
// more.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// The connection's wheel node fired: runs the timers that are due, in a fixed order, and schedules
// the node for the next.
void expire_connection(Engine& e, Connection& c);

// With Config's timer_steps: when a timer of that delay fires. Its steps are 1 ms below 63 ms, then
// 8 ms below 504 ms, and so on: from 8 ms on at most an eighth of the delay. Always the next step.
Instant stepped(Instant now, Duration delay);
// When a timer of that delay, begun now, fires.
inline Instant due_in(const Engine& e, Duration delay) {
  return e.config.timer_steps ? stepped(e.state->now, delay) : e.state->now + delay;
}

// Starts the user timeout (or R2 of a SYN): the connection ends then unless the peer answers.
void set_give_up(const Engine& e, const Connection& c, InFlightState& a);
// Delay before the next zero-window probe.
Duration probe_interval(const Engine& e, const Connection& c);
// R2 of a SYN, and of a SYN-ACK, given a user timeout (0: none).
Duration syn_limit(const Engine& e, std::uint32_t user_timeout_ms);
Duration syn_received_limit(const Engine& e, std::uint32_t user_timeout_ms);
// An acceptable segment arrived: resets the counts of unanswered persist and keep-alive probes.
void reset_unanswered_probes(Engine& e, Connection& c);
// Whether keep-alives apply: more data from either side is possible.
bool is_watched(const Connection& c);
// Starts the keep-alive timer if keep-alive is on.
void begin_keepalive(Engine& e, Connection& c);
// The application has closed the connection, and has no more use for it: ends the keep-alives, and
// calls bound_closed_window() if the peer's window is closed. Not in FIN-WAIT-2.
void begin_orphan(Engine& e, Connection& c);
// After close(), at a closed window: the connection ends unless the window opens within
// Config::orphan_timeout, even if the peer answers each probe. A limit that runs already stays.
void bound_closed_window(Engine& e, Connection& c);
// Limits the time in FIN-WAIT-2 to Config::fin_wait_2 if the application reads no more.
void bound_fin_wait_2(Engine& e, Connection& c);

}  // namespace lockstep::tcp
