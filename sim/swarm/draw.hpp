// Draws a world from a seed: topology, configurations, applications, faults, a random_peer.
#pragma once

#include <cstdint>

#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// The same world for the same seed, on every machine. All faults end, and the time after the last
// one is long enough for every application to finish.
World draw_world(std::uint64_t seed);

// Whether that world has a connection of more than 2^31 octets: one seed in long_one_in.
inline constexpr std::uint32_t long_one_in = 4'000;
// Whether draw_world(seed) draws it. Costs one draw.
bool draws_long(std::uint64_t seed);

// The time allowed after the last fault: the longest that backed-off timers can take. It is longer
// where a queue or a receive ring holds a single frame: of back-to-back frames it loses all but the
// first for the whole run, so that only timeouts make progress, and the RTO stays backed off until
// data that was sent once is acknowledged (RFC 6298 section 5). It is also longer where a host has
// so few ports that each connection waits for one in TIME-WAIT.
Duration healing_time(const World& world);

}  // namespace lockstep::sim
