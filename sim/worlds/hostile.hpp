// A world in which one station lies to a host while another host goes on with its work.
#pragma once

#include <cstdint>

#include "core/stack/statistics.hpp"
#include "sim/kernel/world.hpp"
#include "sim/models/attacker.hpp"

namespace lockstep::sim {

// What is told how often, and to which configuration, which the honest host has as well.
// `frames` 0: nobody lies, which is what the rest is compared with.
struct Hostility {
  Lie lie = Lie::syn_flood;
  std::uint64_t frames = 0;
  Config config{};  // profile default
};

// hosts[0] is the victim and hosts[1] honest; stations[0] is the attacker. The honest host has 100
// Mbit/s, for 2 s of uploads over 4 connections at a time and some downloads; the link of the
// victim has ten times of that, so that what is lost is lost by the victim and not by the link.
World hostile_world(const Hostility& hostility);

// What the victim did, and what became of the honest host.
struct HostileReport {
  std::uint64_t frames_in = 0;  // from the attacker
  std::uint64_t bytes_in = 0;
  std::uint64_t frames_out = 0;  // to the attacker, and to the sources that it invented
  std::uint64_t bytes_out = 0;
  PoolUse most;                 // each pool's highest use after a turn
  bool honest_done = false;     // every byte in its place, every connection finished
  std::uint64_t honest_ns = 0;  // until then
};

// Runs the world until both are done. The same for the same arguments.
HostileReport run_hostile(const Hostility& hostility, std::uint64_t seed);

}  // namespace lockstep::sim
