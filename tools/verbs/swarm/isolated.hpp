// Trials in child processes, so that a failed CHECK ends one seed and not the swarm.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/kernel/world.hpp"
#include "sim/swarm/tally.hpp"

namespace lockstep::tools {

/// How one seed failed. A plain value, which lies in memory shared by processes.
struct FailureNote {
  std::uint64_t seed = 0;
  std::uint64_t at_ns = 0;  ///< time of the world's clock
  std::uint64_t expected = 0;
  std::uint64_t found = 0;
  std::uint64_t more = 0;          ///< further findings of the same run
  std::array<char, 16> checker{};  ///< the checker's name, or "CHECK", "signal" or "hang"
  std::array<char, 32> where{};
  std::array<char, 200> what{};
};

/// One line: checker, instant, place, what was expected and found.
std::string describe(const FailureNote& note);

struct SeedRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  ///< included
};

struct SwarmResult {
  sim::Tally tally;  ///< seeds that ended their process add to the number of seeds only
  std::vector<FailureNote> failures;  ///< by seed; if there are very many, only the first ones
};

/// What a worker does with one seed: returns the tally and, if the seed failed, fills the note.
using SeedWork = std::function<sim::Tally(std::uint64_t seed, FailureNote& note)>;

/// Draws and runs the world of one seed.
sim::Tally run_seed(std::uint64_t seed, FailureNote& note);
/// Runs `world` under its seed.
sim::Tally run_world(const sim::World& world, std::uint64_t seed, FailureNote& note);

struct SwarmWork {
  SeedRange seeds;
  std::uint32_t jobs = 1;
  SeedWork work = run_seed;
  std::function<void(std::uint64_t done)> progress;  ///< called from time to time; may be empty
};

/// Runs all seeds on that many processes. The result is the same for any number of processes. A
/// seed whose process dies, or makes no progress for two minutes, is a failure. Throws Failure if a
/// process or memory cannot be had.
SwarmResult run_swarm(const SwarmWork& work);

}  // namespace lockstep::tools
