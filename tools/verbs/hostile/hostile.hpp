// The verb `hostile`: each lie told to a stack, and whether the stack kept within its bounds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/worlds/hostile.hpp"

namespace lockstep::tools {

/// The most that a lie may cost the victim, and the least that it must leave the honest.
struct HostileBound {
  sim::Lie lie;
  std::uint64_t frames = 0;             // how often it is told, unless the user says otherwise
  std::uint32_t connections = 0;        // records in use at once, the honest ones included
  std::uint32_t blocks = 0;             // of the store, likewise
  std::uint32_t replies_per_mille = 0;  // frames to the attacker for 1,000 of its own
  std::uint32_t amplified_percent = 0;  // octets to the attacker for 100 of its own
  std::uint32_t honest_percent = 0;     // of the throughput without any lie
};

const std::vector<HostileBound>& hostile_bounds();

/// One line of the table.
struct HostileResult {
  HostileBound bound;
  sim::HostileReport report;
  std::uint64_t replies_per_mille = 0;
  std::uint64_t amplified_percent = 0;
  std::uint64_t honest_percent = 0;
  std::string broken;  // which bounds, by name; empty: none
};

/// Whom the lie is told to: a profile by its name, `default`, `rfc`, `linux` or `freebsd`.
struct HostileTarget {
  std::string profile = "default";
  std::uint64_t quiet_ns = 0;  ///< how long the honest take alone
};

/// Tells the lie `bound.frames` times. The bounds are those of profile `default`; of the others the
/// memory must hold, every invariant, and the honest must come to their end ("liveness").
HostileResult judge_lie(const HostileBound& bound, const HostileTarget& target, std::uint64_t seed);

/// How long the honest take in a profile while nobody lies, in nanoseconds.
std::uint64_t quiet_time(const std::string& profile, std::uint64_t seed);

struct HostileOptions {
  std::string lie;  // empty: all
  std::string profile = "default";
  std::uint64_t frames = 0;  // zero: as many as the bound says
  std::uint64_t seed = 1;
  std::string json;
};

/// Prints the table. 0: all within bounds; 1: not so; throws Failure for what the user got wrong.
int run_hostile_verb(const HostileOptions& options);

}  // namespace lockstep::tools
