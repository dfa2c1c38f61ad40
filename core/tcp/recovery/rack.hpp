// Loss detection by time (RFC 8985): data is lost if data sent well after it was delivered.
#pragma once

#include "core/tcp/recovery/scoreboard.hpp"

namespace lockstep::tcp::rack {

// The least RTT of recent time, kept while data is in flight; SRTT before the first sample.
Duration least_rtt(const Connection& c, const InFlightState& a);
// The scoreboard contains the ACK: updates RTT and reordering, and detects losses. `over`: the ACK
// ended a recovery. Returns when data still in doubt becomes lost, or never.
Instant on_ack(Engine& e, Connection& c, Scoreboard& board, const AckSample& news, bool over);
// With nothing in flight an ACK reports that data of the last recovery arrived twice.
void on_idle_report(Engine& e, Connection& c, const AckSample& news);
// Detects losses at time `at`; returns as on_ack does.
Instant find_losses(Engine& e, Connection& c, Scoreboard& board, Instant at);
// The retransmission timer fired: the first segment is lost, and all that is old enough.
void lose_on_timeout(Engine& e, Connection& c, Scoreboard& board);
// cwnd was reduced for a loss now: the loss of a retransmission sent later is new congestion.
void responded(Engine& e, InFlightState& a);

}  // namespace lockstep::tcp::rack
