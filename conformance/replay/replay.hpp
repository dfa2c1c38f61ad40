// Replays flows and scenarios and returns their verdicts. The verbs and tests use it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/replay/flow.hpp"
#include "conformance/replay/scenario.hpp"
#include "conformance/replay/verdict.hpp"

namespace lockstep::conformance {

/// One flow replayed.
struct Replayed {
  Script script;
  LiveRun run;
  Config config;
  Verdict verdict;
};

/// Replays one flow with the core in place of `device`. `scenario` may be null.
Replayed replay_flow(const Flow& flow, const Endpoint& device, const Scenario* scenario);

/// Replays a flow that normalise() has corrected, without a scenario.
Replayed replay_mended(const Flow& flow, const Endpoint& device);

/// The verdict on a play that was stopped: see LiveRun::unsettled.
Verdict verdict_of_unsettled();

/// One twin: the scenario's capture with one edit.
struct TwinResult {
  const Twin* twin = nullptr;
  Replayed replayed;
  /// Whether the verdict is `violates` with the clause that the twin names.
  bool passes() const;
};

struct ScenarioResult {
  Scenario scenario;
  Replayed replayed;
  std::vector<TwinResult> twins;
  bool passes() const;
};

/// Loads <folder>/scenario.toml and <folder>/capture.pcapng (or `capture`) and replays the scenario
/// and its twins. Throws Failure if a file is invalid.
std::unique_ptr<ScenarioResult> replay_scenario(const std::string& folder);

/// The flow of a capture that involves the scenario's device. Throws Failure if there is none.
Flow flow_of(const CaptureFlows& capture, const Scenario& scenario, const std::string& path);

}  // namespace lockstep::conformance
