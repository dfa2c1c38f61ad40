// The parts of a drawn world, one file each: configurations, applications, faults.
#pragma once

#include "core/seam/config.hpp"
#include "sim/kernel/world.hpp"
#include "sim/swarm/dice.hpp"

namespace lockstep::sim {

// Everything but link type, addresses and MTU, which the topology decides.
void draw_config(Dice& dice, Config& config);
// Clock, polling, rings.
void draw_host(Dice& dice, HostSpec& host);
// IPv6 in place of IPv4, for all hosts or none, and a VLAN.
void draw_family(Dice& dice, World& world);
void draw_apps(Dice& dice, World& world);
// Needs the applications: initial sequence numbers end up a few octets below 2^32.
void aim_sequence_numbers(Dice& dice, World& world);
void draw_faults(Dice& dice, World& world);

}  // namespace lockstep::sim
