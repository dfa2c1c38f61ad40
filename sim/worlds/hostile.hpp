// A world in which an attacker attacks a host while another host uses it.
#pragma once

#include <cstdint>

#include "core/stack/statistics.hpp"
#include "sim/kernel/world.hpp"
#include "sim/models/attacker.hpp"

namespace lockstep::sim {

// The kind of attack, its number of frames, and the configuration of the victim and the honest
// host. `frames` 0: no attack, the baseline for comparison.
struct Hostility {
  Attack attack = Attack::syn_flood;
  std::uint64_t frames = 0;
  Config config{};  // profile default
};

// hosts[0] is the victim, hosts[1] the honest host, stations[0] the attacker. The honest host has
// 100 Mbit/s, for 2 s of uploads over 4 concurrent connections and some downloads. The victim's
// link has ten times that rate, so that losses occur at the victim and not on the link.
World hostile_world(const Hostility& hostility);

// What the victim did, and whether the honest host succeeded.
struct HostileReport {
  std::uint64_t frames_in = 0;  // from the attacker
  std::uint64_t bytes_in = 0;
  std::uint64_t frames_out = 0;  // to the attacker and to its forged sources
  std::uint64_t bytes_out = 0;
  PoolUse most;                 // highest use of each pool after a turn
  bool honest_done = false;     // every byte correct, every connection finished
  std::uint64_t honest_ns = 0;  // virtual time until honest_done
};

// Runs the world until both are done. Deterministic.
HostileReport run_hostile(const Hostility& hostility, std::uint64_t seed);

}  // namespace lockstep::sim
