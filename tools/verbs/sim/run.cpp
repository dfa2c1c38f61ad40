// Reads the world, runs it with its traces, and reports.
#include "tools/verbs/sim/run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <vector>

#include "conformance/devices/peer.hpp"
#include "conformance/interop/device_host.hpp"
#include "conformance/interop/judge.hpp"
#include "core/tcp/congestion/added.hpp"
#include "sim/checkers/rfc.hpp"
#include "sim/kernel/kernel.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/progress.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/controllers/load.hpp"
#include "tools/lib/sim_apps/http_app.hpp"
#include "tools/lib/sim_report/report_json.hpp"
#include "tools/lib/world_file/failed_check.hpp"
#include "tools/lib/world_file/world_file.hpp"
#include "tools/verbs/sim/out_folder.hpp"
#include "tools/verbs/sim/report.hpp"
#include "tools/verbs/sim/series.hpp"
#include "tools/verbs/sim/spectators.hpp"

namespace lockstep::tools {
namespace {

std::uint64_t parse_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, seed);
  if (error != std::errc{} || stopped != end) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--seed {}: expected a number from 0 to 18446744073709551615: "
                              "correct it",
                              text));
  }
  return seed;
}

sim::Checks parse_checks(const std::string& text) {
  if (text == "all") {
    return sim::Checks::all;
  }
  if (text == "sampled") {
    return sim::Checks::sampled;
  }
  if (text == "off") {
    return sim::Checks::off;
  }
  throw Failure(ExitCode::bad_input,
                fmt::format("--checks {}: expected all, sampled or off: correct it", text));
}

/// When the run stops at the latest.
Instant limit_of(const SimRunOptions& options, const sim::World& world) {
  if (options.until.empty()) {
    return Instant{0} + world.limit;
  }
  const auto until = parse_duration(options.until);
  if (!until) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("--until {}: expected a time with a unit, like 10s or 500ms: "
                              "correct it",
                              options.until));
  }
  return Instant{0} + *until;
}

/// Draws how far the run is in virtual time.
void show(Progress& progress, const sim::Kernel& kernel, Instant limit) {
  if (kernel.steps() % 65'536 == 0 && progress.is_due()) {
    progress.draw(
        kernel.now().ns, limit.ns,
        fmt::format("{} of at most {}, {} frames", text_of(kernel.now().since(Instant{0})),
                    text_of(limit.since(Instant{0})), grouped(kernel.frames_sent())));
  }
}

/// Judges the devices among the hosts, each from the frames on its link.
class DeviceReferees final : public sim::Observer {
 public:
  DeviceReferees(const sim::World& world, sim::Findings& findings) : findings_(findings) {
    for (sim::StationSpec const& station : world.stations) {
      judges_.push_back(station.device.empty() ? nullptr
                                               : std::make_unique<conformance::DeviceJudge>());
      names_.push_back(station.name);
    }
  }

  void sent(const sim::Kernel&, const sim::FrameNote& note) override { see(note, true); }
  void delivered(const sim::Kernel&, const sim::FrameNote& note) override { see(note, false); }
  void ended(const sim::Kernel&) override {
    for (std::size_t i = 0; i < judges_.size(); ++i) {
      if (judges_[i] != nullptr) {
        tell(*judges_[i], names_[i]);
      }
    }
  }

 private:
  void see(const sim::FrameNote& note, bool own) {
    if (note.node.kind == sim::NodeKind::station && judges_[note.node.index] != nullptr) {
      judges_[note.node.index]->see(note, own);
    }
  }
  void tell(conformance::DeviceJudge& judge, sim::Name name) {
    if (judge.sent_malformed()) {
      findings_.add({sim::CheckerKind::rfc, judge.malformed_at(), name,
                     "a packet with a wrong checksum or length was sent", 0, 0});
    }
    judge.end();
    for (auto const& violation : judge.violations().kept()) {
      if (!judge.fragmented() && violation.certainty() == sim::referee::Certainty::certain) {
        findings_.add({sim::CheckerKind::rfc, violation.at, name,
                       sim::referee::text_of(violation.rule).words, violation.numbers.expected,
                       violation.numbers.found});
      }
    }
  }

  sim::Findings& findings_;
  std::vector<std::unique_ptr<conformance::DeviceJudge>> judges_;
  std::vector<sim::Name> names_;
};

sim::Registry registry_of_run() {
  sim::Registry out = world_registry();
  conformance::add_device_hosts(out);
  return out;
}

/// The world, in which hosts may use the controllers of the options. A controller that no host uses
/// changes nothing: says so.
sim::World world_of(const SimRunOptions& options) {
  for (const std::string& file : options.controllers) {
    load_controller(file);
  }
  sim::World world = read_world(options.file, options.settings, Devices::allowed);
  for (const std::string& file : options.controllers) {
    const std::string name = load_controller(file);
    const bool used = std::ranges::any_of(world.hosts, [&](const sim::HostSpec& host) {
      return tcp::congestion_words()[static_cast<std::size_t>(host.config.tcp.congestion)] == name;
    });
    if (!used) {
      fmt::print(stderr,
                 "lockstep: {}: no host uses this controller: set congestion = \"{}\" in its "
                 "[host.config], or add --set '*.congestion={}'\n",
                 file, name, name);
    }
  }
  return world;
}

sim::Ending run_to_end(sim::Kernel& kernel, Instant limit, OutFolder* out) {
  Progress progress;
  while (!kernel.done()) {
    if (kernel.scheduled() == 0) {
      kernel.end();
      return sim::Ending::deadlocked;
    }
    if (kernel.next_at() > limit) {
      kernel.end();
      return sim::Ending::limit_reached;
    }
    kernel.step();
    if (out != nullptr) {
      out->stepped(kernel);
    }
    show(progress, kernel, limit);
  }
  kernel.end();
  return kernel.fault().empty() ? sim::Ending::completed : sim::Ending::failed;
}

}  // namespace

int run_simulation(const SimRunOptions& options) {
  const sim::Checks checks = parse_checks(options.checks);
  sim::World world = world_of(options);
  if (checks == sim::Checks::off) {
    world.invariants_every = 0;
  }
  const std::uint64_t seed = parse_seed(options.seed);
  Instant const limit = limit_of(options, world);
  refuse_overwrite(options.file, options.json_file);
  refuse_overwrite(options.file, options.series_file);
  set_check_handler(print_failed_check);
  sim::Kernel kernel(world, seed, registry_of_run());
  if (!kernel.fault().empty()) {
    throw Failure(ExitCode::bad_input, std::string(kernel.fault()));
  }
  std::unique_ptr<OutFolder> out;
  if (!options.out_folder.empty()) {
    out = std::make_unique<OutFolder>(options.out_folder, options.force, kernel);
  }
  sim::Findings findings;
  sim::RfcChecker referee(world, findings, checks);
  if (checks != sim::Checks::off) {
    kernel.observe(referee);
  }
  DeviceReferees device_referees(world, findings);
  if (checks != sim::Checks::off) {
    kernel.observe(device_referees);
  }
  Captures captures(options.pcapng_folder, world, kernel);
  std::unique_ptr<AtomicFile> json;
  if (!options.json_file.empty()) {
    json = std::make_unique<AtomicFile>(options.json_file);
  }
  std::unique_ptr<AtomicFile> series_file;
  std::unique_ptr<Series> series;
  if (!options.series_file.empty()) {
    series_file = std::make_unique<AtomicFile>(options.series_file);
    series = std::make_unique<Series>(*series_file);
    kernel.observe(*series);
  }
  sim::Ending const ending = run_to_end(kernel, limit, out.get());
  captures.keep();
  if (out != nullptr) {
    out->keep(kernel, ending);
  }
  if (series_file != nullptr) {
    series_file->keep();
  }
  if (json != nullptr) {
    json->put(report_json(kernel, name_of(ending)));
    json->keep();
  }
  fmt::print("{}", report_text(kernel, ending, terminal_columns()));
  // A run that --until stopped early counts as complete.
  const bool stopped = !options.until.empty() && ending == sim::Ending::limit_reached;
  const bool lawful = print_findings(findings);
  // What a device, or a controller, did that it must not do.
  const std::string fault =
      kernel.fault().empty() ? controller_fault_of(kernel) : std::string(kernel.fault());
  if (!fault.empty()) {
    fmt::print(stderr, "lockstep: {}\n", fault);
    return 1;
  }
  return all_well(kernel, stopped ? sim::Ending::completed : ending) && lawful ? 0 : 1;
}

}  // namespace lockstep::tools
