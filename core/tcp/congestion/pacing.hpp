// Pacing: when the next new data may leave, by a rate in octets per second.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp::pacing {

// New data has left: what follows it waits in proportion, if Config paces.
void note_sent(Engine& e, Connection& c, Bytes data);
// New data is kept back until Active::pace_at: the connection waits on the wheel.
void wait(Engine& e, Connection& c);
// The rate now, in octets per second; 0: as fast as may be (not paced, or no round trip known).
std::uint64_t rate_of(Engine& e, Connection& c);

}  // namespace lockstep::tcp::pacing
