// Replays flows and scenarios: script, play, compare.
#include "conformance/replay/replay.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "conformance/replay/edit.hpp"
#include "conformance/replay/exact.hpp"
#include "conformance/replay/obligations.hpp"
#include "conformance/replay/unaided.hpp"
#include "conformance/replay/watch.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::conformance {
namespace {

// Linux's profile without what only imitates Linux: its quick ACKs (whether a device acknowledges
// the first segments at once says nothing about the others), and where its frames differ from the
// RFCs' usual ones.
Config usual() {
  Config config = profile_linux();
  tcp::Config const usual;
  config.tcp.quick_acks = usual.quick_acks;
  config.tcp.time_wait_ignores_reset = usual.time_wait_ignores_reset;
  config.tcp.rto_min_added = usual.rto_min_added;
  config.tcp.syn_linear_timeouts = usual.syn_linear_timeouts;
  config.tcp.window_probe_data = usual.window_probe_data;
  config.tcp.slow_start_below_twice = usual.slow_start_below_twice;
  config.tcp.reset_acknowledges = usual.reset_acknowledges;
  config.tcp.reset_stamps = usual.reset_stamps;
  config.tcp.syn_data = usual.syn_data;
  config.tcp.push_syn_data = usual.push_syn_data;
  config.tcp.push_bursts = usual.push_bursts;
  config.tcp.window_update_doubles = usual.window_update_doubles;
  config.tcp.fast_open_by_addresses = usual.fast_open_by_addresses;
  config.tcp.timer_steps = usual.timer_steps;
  config.tcp.syn_received_timeout = usual.syn_received_timeout;
  config.tcp.user_timeout_while_answered = usual.user_timeout_while_answered;
  config.tcp.give_up_at_timer = usual.give_up_at_timer;
  config.tcp.simultaneous_answered = usual.simultaneous_answered;
  config.tcp.probe_from_answer = usual.probe_from_answer;
  config.tcp.duplicates_in_flight = usual.duplicates_in_flight;
  config.tcp.dsack_before_reordering = usual.dsack_before_reordering;
  config.tcp.answer_interval = usual.answer_interval;
  config.tcp.unsent_answered = usual.unsent_answered;
  config.tcp.syn_after_bad_ack = usual.syn_after_bad_ack;
  config.tcp.soft_errors_end_open = usual.soft_errors_end_open;
  config.tcp.bad_cookie_reset = usual.bad_cookie_reset;
  config.tcp.options_lenient = usual.options_lenient;
  config.tcp.timestamps_required = usual.timestamps_required;
  config.tcp.timestamps_behind = usual.timestamps_behind;
  config.tcp.segment_half_window = usual.segment_half_window;
  config.tcp.window_smaller_ignored = usual.window_smaller_ignored;
  config.tcp.shrunk_retransmitted = usual.shrunk_retransmitted;
  config.tcp.path_mtu_stalled = usual.path_mtu_stalled;
  config.tcp.path_mtu_plateaus = usual.path_mtu_plateaus;
  config.tcp.path_mtu_slow_start = usual.path_mtu_slow_start;
  return config;
}

Replayed replay_edited(const Flow& flow, const Flow& original, const Endpoint& device,
                       const Scenario* scenario) {
  Replayed out;
  out.script = make_script(flow, original, device, scenario);
  if (!out.script.cannot_tell.empty()) {
    out.verdict.judgement = Judgement::cannot_tell;
    out.verdict.reason = out.script.cannot_tell;
    return out;
  }
  Config const base = scenario != nullptr ? scenario->config : usual();
  bool const keep = scenario != nullptr && scenario->sets_receive_buffer;
  out.config = replay_config(out.script, base, keep);
  out.run = play(out.script, out.config);
  if (out.run.unsettled) {
    out.verdict = verdict_of_unsettled();
    return out;
  }
  static const std::vector<std::string> nothing;
  const auto& shows = scenario != nullptr ? scenario->shows : nothing;
  out.verdict = out.script.comparison == Comparison::exact
                    ? compare_exactly(out.script, out.run, out.config, shows)
                    : compare_obligations(out.script, out.run, out.config, shows);
  return out;
}

}  // namespace

Verdict verdict_of_unsettled() {
  Verdict out;
  out.judgement = Judgement::cannot_tell;
  out.reason = "the play did not settle";
  return out;
}

bool TwinResult::passes() const {
  return replayed.verdict.judgement == Judgement::violates && replayed.verdict.divergence &&
         replayed.verdict.divergence->clause == twin->clause;
}

bool ScenarioResult::passes() const {
  Judgement const judgement = replayed.verdict.judgement;
  bool const agrees = judgement == Judgement::agrees || judgement == Judgement::differs_allowed;
  return agrees && std::all_of(twins.begin(), twins.end(),
                               [](const TwinResult& twin) { return twin.passes(); });
}

Replayed replay_flow(const Flow& flow, const Endpoint& device, const Scenario* scenario) {
  if (scenario != nullptr && scenario->comparison == Comparison::exact) {
    return replay_edited(flow, flow, device, scenario);
  }
  Flow mended = flow;
  std::vector<std::string> notes = normalise(mended, scenario != nullptr);
  Replayed out = scenario != nullptr ? replay_edited(mended, mended, device, scenario)
                                     : replay_mended(mended, device);
  out.script.notes.insert(out.script.notes.end(), notes.begin(), notes.end());
  return out;
}

Replayed replay_mended(const Flow& flow, const Endpoint& device) {
  Replayed out = replay_edited(flow, flow, device, nullptr);
  Watch watch(flow.first, flow.second, flow.recorded_since);
  for (const tools::Segment& segment : flow.segments) {
    watch.take(segment);
  }
  bool const accuses = out.verdict.judgement == Judgement::violates ||
                       out.verdict.judgement == Judgement::core_differs;
  if (watch.is_mixed() && accuses) {
    out.verdict = {};
    out.verdict.judgement = Judgement::cannot_tell;
    out.verdict.reason = "two connections with these addresses are in the capture";
  }
  add_findings(out.verdict, out.script, watch.findings(device));
  return out;
}

Flow flow_of(const CaptureFlows& capture, const Scenario& scenario, const std::string& path) {
  for (const Flow& flow : capture.flows) {
    if (flow.first == scenario.device || flow.second == scenario.device) {
      return flow;
    }
  }
  throw tools::Failure(
      tools::ExitCode::bad_input,
      fmt::format("{}: no TCP segment from or to {}, which {} names as the device; expected its "
                  "connection: correct [device] or the capture",
                  path, tools::text_of(scenario.device), scenario.path));
}

std::unique_ptr<ScenarioResult> replay_scenario(const std::string& folder) {
  auto out = std::make_unique<ScenarioResult>();
  out->scenario = load_scenario(folder + "/scenario.toml");
  std::string const path = folder + "/capture.pcapng";
  Flow flow = flow_of(read_flows(path), out->scenario, path);
  const Scenario& scenario = out->scenario;
  if (scenario.comparison == Comparison::obligations) {
    normalise(flow, true);
  }
  out->replayed = replay_edited(flow, flow, scenario.device, &scenario);
  for (const Twin& twin : scenario.twins) {
    Flow const changed = edited(flow, scenario, twin.edit);
    out->twins.push_back({&twin, replay_edited(changed, flow, scenario.device, &scenario)});
  }
  return out;
}

}  // namespace lockstep::conformance
