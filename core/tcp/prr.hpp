// Proportional Rate Reduction (RFC 6937): how much each ACK of a recovery lets out.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/scoreboard.hpp"

namespace lockstep::tcp::prr {

// Recovery begins: ssthresh is decided.
void begin(Active& a, Bytes flight);
// An ACK in recovery: cwnd becomes what may be in flight now.
void on_ack(const Engine& e, Connection& c, Active& a, const AckNews& news);

}  // namespace lockstep::tcp::prr
