// The verb `swarm`: many random worlds, a table of what they reached, and their failures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/verbs/swarm/isolated.hpp"

namespace lockstep::tools {

struct SwarmOptions {
  SeedRange seeds;
  std::uint32_t jobs = 1;
  std::string json;              ///< file for the results; empty: none
  std::string pcapng;            ///< folder for a capture of each seed; empty: none
  std::uint32_t shrink = 1;      ///< number of failing seeds to shrink
  std::string save;              ///< folder for the world of each failing seed; empty: none
  std::string driver = "plain";  ///< plain, mpipe or mpipe-errs: the driver below its hosts' stacks
  std::uint32_t workers = 1;  ///< shards of each host that can have several, behind one port or NIC
  std::string world;          ///< a saved world to run instead of drawn ones; empty: none
};

/// Parses "A..B" or "N", both ends included. Throws Failure (bad_input) for anything else.
SeedRange parse_seeds(const std::string& text);

/// From this many seeds on, every reachable row must have been reached.
inline constexpr std::uint64_t coverage_seeds_min = 5'000;

/// Findings on the table, one line each: a reachable row that was never reached (from
/// coverage_seeds_min seeds on), or one listed as unreachable that was.
std::vector<std::string> coverage_findings(const sim::Tally& tally);

/// Runs the verb and prints the results; returns the exit code.
int run_swarm_verb(const SwarmOptions& options);

/// Describes a world as text: hosts, links, applications, faults.
std::string describe(const sim::World& world);

/// Makes a folder for output, if it is not there. Throws Failure (environment).
void make_folder(const std::string& folder);

/// Writes the frames on a world's links to `folder`/seed-N.pcapng.
void write_capture(const std::string& folder, const sim::World& world, std::uint64_t seed);

}  // namespace lockstep::tools
