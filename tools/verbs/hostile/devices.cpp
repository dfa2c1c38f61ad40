// `lockstep hostile --device`: the runs, and the table.
#include "tools/verbs/hostile/devices.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "conformance/devices/load.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/progress.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

using conformance::SiegePlan;
using conformance::SiegeReport;

std::string broken_of(const SiegeReport& report) {
  if (!report.fault.empty() || !report.wrong.empty()) {
    return report.fault.empty() ? report.wrong : report.fault;
  }
  return report.honest_done ? "" : "the honest clients have not finished after 120 s";
}

std::string text_of(const std::vector<SiegeResult>& results) {
  using Align = TextTable::Align;
  TextTable table({{"attack", Align::left},
                   {"frames"},
                   {"replies/1000"},
                   {"amplified %"},
                   {"honest %"},
                   {"broken", Align::left}});
  for (const SiegeResult& each : results) {
    table.add({std::string(name_of(each.attack)), fmt::format("{}", each.report.frames_in),
               fmt::format("{}", each.replies_per_mille), fmt::format("{}", each.amplified_percent),
               fmt::format("{}", each.honest_percent),
               each.broken.empty() ? "nothing" : each.broken});
  }
  return table.text(terminal_columns());
}

std::string json_of(const std::string& device, const std::vector<SiegeResult>& results) {
  nlohmann::ordered_json out{{"device", device}};
  out["attacks"] = nlohmann::ordered_json::array();
  for (const SiegeResult& each : results) {
    const SiegeReport& report = each.report;
    out["attacks"].push_back({{"attack", name_of(each.attack)},
                              {"frames_in", report.frames_in},
                              {"bytes_in", report.bytes_in},
                              {"frames_out", report.frames_out},
                              {"bytes_out", report.bytes_out},
                              {"replies_per_mille", each.replies_per_mille},
                              {"amplified_percent", each.amplified_percent},
                              {"honest_done", report.honest_done},
                              {"honest_ns", report.honest.ns},
                              {"honest_percent", each.honest_percent},
                              {"fingerprint", fmt::format("{:016x}", report.fingerprint)},
                              {"broken", each.broken}});
  }
  return json_text(out);
}

}  // namespace

std::vector<SiegeResult> besiege(const HostileOptions& options) {
  std::vector<HostileBound> const bounds = chosen_bounds(options);
  SiegePlan plan;
  plan.victim = conformance::device_path(options.device);
  plan.honest = conformance::device_path("lockstep");  // the clients
  plan.seed = options.seed;
  SiegeReport const quiet = conformance::run_siege(plan);
  if (!quiet.left_out.empty()) {
    throw Failure(ExitCode::environment,
                  fmt::format("device {}: {}", options.device, quiet.left_out));
  }
  if (std::string const why = broken_of(quiet); !why.empty()) {
    throw Failure(ExitCode::finding,
                  fmt::format("device {}: without an attack: {}", options.device, why));
  }
  std::vector<SiegeResult> out;
  Progress progress;
  for (HostileBound const& bound : bounds) {
    constexpr std::uint64_t share = 10;
    plan.attack = bound.attack;
    plan.frames = options.frames == 0 ? bound.frames / share : options.frames;
    SiegeResult result;
    result.attack = bound.attack;
    result.report = conformance::run_siege(plan);
    SiegeReport const& report = result.report;
    result.replies_per_mille = part_of(report.frames_out, report.frames_in, 1'000);
    result.amplified_percent = part_of(report.bytes_out, report.bytes_in, 100);
    result.honest_percent = report.honest_done ? quiet.honest.ns * 100 / report.honest.ns : 0;
    result.broken = broken_of(report);
    if (!options.pcapng.empty() && !result.broken.empty()) {
      save_file(fmt::format("{}/{}.pcapng", options.pcapng, name_of(bound.attack)), report.capture);
    }
    out.push_back(std::move(result));
    progress.draw(out.size(), bounds.size(),
                  fmt::format("{} of {} attacks", out.size(), bounds.size()));
  }
  return out;
}

int run_siege_verb(const HostileOptions& options) {
  if (std::error_code wrong; !options.pcapng.empty()) {
    std::filesystem::create_directories(options.pcapng, wrong);
    if (wrong) {
      throw Failure(ExitCode::environment,
                    fmt::format("--pcapng {}: {}", options.pcapng, wrong.message()));
    }
  }
  std::vector<SiegeResult> const results = besiege(options);
  bool held = true;
  for (SiegeResult const& each : results) {
    held = held && each.broken.empty();
  }
  fmt::print("{}", text_of(results));
  if (!options.json.empty()) {
    save_file(options.json, json_of(options.device, results));
  }
  return static_cast<int>(held ? ExitCode::fine : ExitCode::finding);
}

}  // namespace lockstep::tools
