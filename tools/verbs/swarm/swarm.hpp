// The verb `swarm`: many drawn worlds, a table of what they exercised, and what broke.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/verbs/swarm/isolated.hpp"

namespace lockstep::tools {

struct SwarmOptions {
  SeedRange seeds;
  std::uint32_t jobs = 1;
  std::string json;              ///< a file for the results, or empty
  std::string pcapng;            ///< a folder for a capture of each seed, or empty
  std::uint32_t shrink = 1;      ///< how many failing seeds to shrink
  std::string save;              ///< a folder for the world of each failing seed, or empty
  std::string driver = "plain";  ///< or mpipe, or mpipe-errs: what its hosts stand on
  std::uint32_t workers = 1;     ///< of each host that can be several, behind one port or NIC
  std::string world;             ///< a saved world to run in place of drawn ones, or empty
};

/// Reads "A..B" or "N", both ends included. Throws Failure (bad_input) for anything else.
SeedRange parse_seeds(const std::string& text);

/// From so many seeds on, everything that can fire must have fired.
inline constexpr std::uint64_t coverage_seeds_min = 5'000;

/// What of the table is wrong: a reachable row that never fired (from coverage_seeds_min seeds
/// on), or one called unreachable that did. A line each.
std::vector<std::string> coverage_findings(const sim::Tally& tally);

/// Runs everything and prints it; gives the exit code.
int run_swarm_verb(const SwarmOptions& options);

/// The smallest world that still fails, in words: hosts, links, applications, faults.
std::string describe(const sim::World& world);

/// Writes what a world puts on its wires to `folder`/seed-N.pcapng.
void write_capture(const std::string& folder, const sim::World& world, std::uint64_t seed);

}  // namespace lockstep::tools
