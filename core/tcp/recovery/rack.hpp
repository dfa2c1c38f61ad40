// Losses by time (RFC 8985): lost is what left well before something that has arrived.
#pragma once

#include "core/tcp/recovery/scoreboard.hpp"

namespace lockstep::tcp::rack {

// The least round trip of late, for as long as anything is in flight; SRTT until one was seen.
Duration least_rtt(const Connection& c, const InFlightState& a);
// An ACK is on the board: what it says of the round trip and of reordering, and what is lost by
// now. `over`: it has ended a recovery. Returns when what is doubtful becomes lost, or never.
Instant on_ack(Engine& e, Connection& c, Board& board, const AckSample& news, bool over);
// What is lost at `at`; returns as on_ack does.
Instant find_losses(Engine& e, Connection& c, Board& board, Instant at);
// The retransmission timer fired: the first segment is lost, and what is old enough.
void lose_on_timeout(Engine& e, Connection& c, Board& board);
// From now on a lost retransmission means more congestion: the last answer to it was given now.
void responded(Engine& e, InFlightState& a);

}  // namespace lockstep::tcp::rack
