// The verb `hostile`: attacks a stack with each attack, and checks whether it kept within its
// bounds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/worlds/hostile.hpp"

namespace lockstep::tools {

/// The most that a attack may cost the attacked stack, and the least throughput left to honest
/// clients.
struct HostileBound {
  sim::Attack attack;
  std::uint64_t frames = 0;  // frames that the attacker sends, unless --frames is given
  std::uint32_t connections =
      0;  // connections in use at the same time, including those of honest clients
  std::uint32_t blocks = 0;             // blocks of the store in use, likewise
  std::uint32_t replies_per_mille = 0;  // frames sent to the attacker per 1,000 frames from it
  std::uint32_t amplified_percent = 0;  // octets sent to the attacker per 100 octets from it
  std::uint32_t honest_percent = 0;     // of the throughput without an attack
};

const std::vector<HostileBound>& hostile_bounds();

/// One line of the table.
struct HostileResult {
  HostileBound bound;
  sim::HostileReport report;
  std::uint64_t replies_per_mille = 0;
  std::uint64_t amplified_percent = 0;
  std::uint64_t honest_percent = 0;
  std::string broken;  // names of the exceeded bounds; empty: none
};

/// The attacked stack's profile: `default`, `rfc`, `linux` or `freebsd`.
struct HostileTarget {
  std::string profile = "default";
  std::uint64_t quiet_ns = 0;  ///< time that the honest clients take without an attack
};

/// Runs an attack of `bound.frames` frames. The bounds are those of profile `default`. With other
/// profiles only memory, all invariants and the completion of the honest clients ("liveness") are
/// checked.
HostileResult judge_lie(const HostileBound& bound, const HostileTarget& target, std::uint64_t seed);

/// Time that the honest clients take with a profile when there is no attack, in nanoseconds.
std::uint64_t quiet_time(const std::string& profile, std::uint64_t seed);

struct HostileOptions {
  std::string attack;  // empty: all
  std::string profile = "default";
  std::uint64_t frames = 0;  // zero: the number in the bound
  std::uint64_t seed = 1;
  std::string json;
  std::string device;  // a device in place of our stack; empty: none
  std::string pcapng;  // with a device: folder for captures of attacks that broke something
};

/// The bounds of the chosen attacks, with their numbers of frames. Throws Failure (bad_input).
std::vector<HostileBound> chosen_bounds(const HostileOptions& options);

/// `part` of `whole` times `of`, rounded up; 0 if `whole` is 0.
std::uint64_t part_of(std::uint64_t part, std::uint64_t whole, std::uint64_t of);

/// Runs the verb and prints the table. Returns 0 if all are within bounds, else 1. Throws Failure
/// for bad options.
int run_hostile_verb(const HostileOptions& options);

}  // namespace lockstep::tools
