// The parts of a drawn world, one file each: configurations, applications, faults.
#pragma once

#include "core/stack/config.hpp"
#include "sim/kernel/world.hpp"
#include "sim/swarm/dice.hpp"

namespace lockstep::sim {

constexpr Duration ms(std::uint64_t count) { return Duration::milliseconds(count); }

// One of the four profiles, unchanged.
Config draw_profile(Dice& dice);
// Sizes that a run can afford, and only timers that let it finish.
void draw_plain(Dice& dice, Config& config);
// Keys, and the values derived from them.
void draw_keys(Dice& dice, Config& config);
// Everything except link type, addresses and MTU, which depend on the topology.
void draw_config(Dice& dice, Config& config);
// Clock, polling, rings.
void draw_host(Dice& dice, HostSpec& host);
// Rate, delay and queue of one direction of a link.
LaneSpec draw_lane(Dice& dice);
// `count` hosts, at most six, of one prefix; two of them may be on a bare link.
void draw_hosts(Dice& dice, World& world, std::uint32_t count);
// Lets each host send segments that are small enough for the narrowest link.
void fit_least_segments(World& world);
// IPv6 instead of IPv4, for all hosts or none, and a VLAN.
void draw_family(Dice& dice, World& world);
// A world of honest hosts, good links and tricklers: every connection must succeed.
World draw_trickled(const Random& root);
// Routers between hosts that each have a prefix of their own.
World draw_routed(const Random& root);
// A queue discipline, and perhaps a shaper or a rate trace.
void draw_output(Dice& dice, LaneSpec& lane);
// In some worlds: disciplines, and applications that draw their starts, sizes and arrivals.
void draw_lab(Dice& dice, World& world);
// Two hosts and one connection with a very long stream and otherwise small limits.
World draw_long(const Random& root);
void draw_apps(Dice& dice, World& world);
// More octets for the first application, within the budget of a seed: enough for full segments.
void draw_full_segments(Dice& dice, World& world);
// Needs the applications: initial sequence numbers end up a few octets below 2^32 or 2^31.
void aim_sequence_numbers(Dice& dice, World& world);
// Faults of links; a world without hosts has Ethernet links.
void draw_lane_faults(Dice& dice, World& world);
// The same, and faults of hosts.
void draw_faults(Dice& dice, World& world);

}  // namespace lockstep::sim
