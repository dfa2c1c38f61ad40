// Proportional Rate Reduction (RFC 9937, or 6937): how much each ACK in recovery allows us to send.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/recovery/scoreboard.hpp"

namespace lockstep::tcp::prr {

// Recovery starts with `news`, which the scoreboard already contains; ssthresh is set.
void begin(const Engine& e, const Connection& c, InFlightState& a, const AckSample& news);
// An ACK in recovery, or RACK's timer (with empty `news`): sets cwnd to what may be in flight now.
// `safe`: SND.UNA advanced, and no further loss was detected.
void on_ack(const Engine& e, Connection& c, InFlightState& a, const AckSample& news, bool safe);

}  // namespace lockstep::tcp::prr
