// Draws a whole world from a seed: topology, configurations, applications, faults, a random_peer.
#pragma once

#include <cstdint>

#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// The same world for the same seed, on every machine. All faults end; behind the last one lies so
// much time that every application must have come to its end.
World draw_world(std::uint64_t seed);

// Whether that world has a connection of more than 2^31 octets: one seed in so many.
inline constexpr std::uint32_t long_one_in = 4'000;
bool draws_long(std::uint64_t seed);

// The time that is granted after the last fault: what backed-off timers may take at most. More
// where a queue or a receive ring holds a single frame: of frames back to back it loses all but the
// first for as long as the world lasts, so that only timeouts go on, and these stay as long as they
// have become until an octet that was sent once is acknowledged (RFC 6298 section 5). And where a
// host has so few ports that each waits for one in TIME-WAIT.
Duration healing_time(const World& world);

}  // namespace lockstep::sim
