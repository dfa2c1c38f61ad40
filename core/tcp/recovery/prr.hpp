// Proportional Rate Reduction (RFC 9937, or 6937): how much each ACK of a recovery lets out.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/recovery/scoreboard.hpp"

namespace lockstep::tcp::prr {

// Recovery begins by what `news` tells, which is on the board already: ssthresh is decided.
void begin(const Engine& e, const Connection& c, InFlightState& a, const AckSample& news);
// An ACK in recovery, or RACK's timer (without news): cwnd becomes what may be in flight now.
// `safe`: SND.UNA has moved, and nothing more was found lost.
void on_ack(const Engine& e, Connection& c, InFlightState& a, const AckSample& news, bool safe);

}  // namespace lockstep::tcp::prr
