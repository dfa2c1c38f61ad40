// Replays flows and scenarios and gives their verdicts: what the verbs and the tests stand on.
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

/// Replays a flow that normalise() has mended, and of which no scenario tells more.
Replayed replay_mended(const Flow& flow, const Endpoint& device);

/// Of a play that was stopped: see LiveRun::unsettled.
Verdict verdict_of_unsettled();

/// One twin: the scenario's capture with one edit.
struct TwinResult {
  const Twin* twin = nullptr;
  Replayed replayed;
  /// violates, and names the clause that the twin asks for.
  bool passes() const;
};

struct ScenarioResult {
  Scenario scenario;
  Replayed replayed;
  std::vector<TwinResult> twins;
  bool passes() const;
};

/// Loads <folder>/scenario.toml and <folder>/capture.pcapng (or `capture`) and replays both the
/// scenario and its twins. Throws Failure where a file is not what it should be.
std::unique_ptr<ScenarioResult> replay_scenario(const std::string& folder);

/// The flow of a capture in which the scenario's device takes part. Throws Failure if there is
/// none.
Flow flow_of(const CaptureFlows& capture, const Scenario& scenario, const std::string& path);

}  // namespace lockstep::conformance
