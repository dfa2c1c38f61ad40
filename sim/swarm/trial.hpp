// One run of one world under all checkers.
#pragma once

#include <cstdint>

#include "sim/checkers/finding.hpp"
#include "sim/kernel/kernel.hpp"
#include "sim/kernel/world.hpp"
#include "sim/swarm/tally.hpp"

namespace lockstep::sim {

struct TrialResult {
  Findings findings;
  Tally tally;  // of this seed alone
  std::uint64_t fingerprint = 0;
  std::uint64_t frames = 0;
  Instant ended;

  bool failed() const { return !findings.empty(); }
};

// The models and stations that drawn worlds use.
Registry swarm_registry();

// The step limit: a run with more steps than this makes no progress.
inline constexpr std::uint64_t trial_steps_max = 3'000'000;

// Runs until every application is done and every stack has released its connections, or until the
// world's limit. `watcher` is one more observer, such as a trace, or nullptr. `registry` must have
// the world's models and stations.
TrialResult run_trial(const World& world, std::uint64_t seed, Observer* watcher = nullptr,
                      const Registry& registry = swarm_registry());

}  // namespace lockstep::sim
