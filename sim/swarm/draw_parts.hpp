// The parts of a drawn world, one file each: configurations, applications, faults.
#pragma once

#include "core/stack/config.hpp"
#include "sim/kernel/world.hpp"
#include "sim/swarm/dice.hpp"

namespace lockstep::sim {

// One of the four profiles, as it is.
Config draw_profile(Dice& dice);
// Sizes that a run can pay for, and only times that let it come to its end.
void draw_plain(Dice& dice, Config& config);
// Keys and the numbers that follow from them.
void draw_keys(Dice& dice, Config& config);
// Everything but link type, addresses and MTU, which the topology decides.
void draw_config(Dice& dice, Config& config);
// Clock, polling, rings.
void draw_host(Dice& dice, HostSpec& host);
// IPv6 in place of IPv4, for all hosts or none, and a VLAN.
void draw_family(Dice& dice, World& world);
// A world of nothing but honest hosts, good links and attackers who trickle: all are to be served.
World draw_trickled(const Random& root);
// Two hosts and one connection of which nothing is large but the number of its octets.
World draw_long(const Random& root);
void draw_apps(Dice& dice, World& world);
// More octets for the first application, within what a seed can pay for: enough for full segments.
void draw_full_segments(Dice& dice, World& world);
// Needs the applications: initial sequence numbers end up a few octets below 2^32 or 2^31.
void aim_sequence_numbers(Dice& dice, World& world);
void draw_faults(Dice& dice, World& world);

}  // namespace lockstep::sim
