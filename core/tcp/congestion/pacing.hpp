// Pacing: when the next new data may be sent, by a rate in octets per second.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp::pacing {

// New data was sent: computes when the next may be, if Config paces.
void note_sent(Engine& e, Connection& c, Bytes data);
// New data is held back until Active::pace_at: sets the pacing timer.
void wait(Engine& e, Connection& c);
// Octets that may be sent back to back at a rate: at least one segment.
Bytes quantum_of(const Engine& e, const Connection& c, std::uint64_t rate);
// The current rate in octets per second; 0: unlimited (not paced, or no RTT known).
std::uint64_t rate_of(Engine& e, Connection& c);

}  // namespace lockstep::tcp::pacing
