// Runs a world to its end, lets its stacks settle, and evaluates the checkers.
#include "sim/swarm/trial.hpp"

#include <utility>

#include "core/stack/statistics.hpp"
#include "sim/checkers/alteration.hpp"
#include "sim/checkers/conservation.hpp"
#include "sim/checkers/invariants.hpp"
#include "sim/checkers/liveness.hpp"
#include "sim/checkers/rfc.hpp"
#include "sim/checkers/stream.hpp"
#include "sim/swarm/drop_case_generator.hpp"
#include "sim/swarm/drop_case_generator6.hpp"
#include "sim/swarm/trickler.hpp"

namespace lockstep::sim {
namespace {

// After the applications are done: connections that none of them owns end by their timers.
constexpr Duration settling_time = Duration::seconds(1'200);

// The last action of all stations: the connections that they open must be released after that.
Instant stations_end(const World& world) {
  Instant end;
  for (const StationSpec& station : world.stations) {
    end = later(end, Instant{0} + Duration{station.every.ns * (station.acts + 1)});
  }
  return end;
}

ConservationChecker::Connections connections_of(const Kernel& kernel, HostIndex host) {
  tcp::Counters const& counters = kernel.host(host).stack().statistics().tcp;
  ConservationChecker::Connections seen{counters.connections_opened, counters.connections_closed,
                                        0};
  for (const Flow& flow : kernel.ledger().flows()) {
    for (const FlowEnd& end : flow.ends) {
      seen.owned += end.open && !end.station && end.host == host ? 1 : 0;
    }
  }
  return seen;
}

bool settled(const Kernel& kernel) {
  for (std::uint32_t i = 0; i < kernel.host_count(); ++i) {
    ConservationChecker::Connections const seen = connections_of(kernel, {i});
    if (seen.opened != seen.closed + seen.owned) {
      return false;
    }
  }
  return true;
}

class Trial {
 public:
  Trial(const World& world, std::uint64_t seed, const Registry& registry)
      : kernel_(world, seed, registry),
        alteration_(world),
        stream_(findings_, &alteration_),
        conservation_(findings_),
        invariants_(findings_),
        liveness_(findings_, &alteration_),
        service_(findings_),
        progress_(findings_),
        rfc_(world, findings_) {
    kernel_.observe(alteration_);
    kernel_.observe(stream_);
    kernel_.observe(conservation_);
    kernel_.observe(invariants_);
    kernel_.observe(liveness_);
    kernel_.observe(service_);
    kernel_.observe(progress_);
    kernel_.observe(rfc_);
  }

  Kernel& kernel() { return kernel_; }

  TrialResult run() {
    Instant const limit = Instant{0} + kernel_.world().limit;
    go_on(limit, [this] { return kernel_.done(); });
    kernel_.end();
    if (findings_.empty()) {
      Instant const quiet = later(kernel_.now(), stations_end(kernel_.world()));
      go_on(quiet + settling_time, [this] { return settled(kernel_); });
      for (std::uint32_t i = 0; i < kernel_.host_count(); ++i) {
        conservation_.judge_connections(kernel_, {i}, connections_of(kernel_, {i}));
      }
    }
    TrialResult result;
    result.findings = findings_;
    result.fingerprint = kernel_.fingerprint();
    result.frames = kernel_.frames_sent();
    result.ended = kernel_.now();
    result.tally.add(kernel_);
    result.tally.seeds = 1;
    result.tally.failed = findings_.empty() ? 0 : 1;
    result.tally.fingerprint = TableHash({}).add(kernel_.seed()).add(result.fingerprint).finish();
    return result;
  }

 private:
  // Runs until over() is true, the schedule is empty, or `limit` has passed.
  template <class Over>
  void go_on(Instant limit, Over over) {
    while (!over() && kernel_.now() <= limit && kernel_.step()) {
      if (kernel_.steps() == trial_steps_max) {
        findings_.add({CheckerKind::liveness, kernel_.now(), kernel_.world().name,
                       "the step limit was reached before the end", trial_steps_max,
                       kernel_.steps()});
        return;
      }
    }
  }

  Kernel kernel_;
  Findings findings_;
  AlterationWatch alteration_;
  StreamChecker stream_;
  ConservationChecker conservation_;
  InvariantChecker invariants_;
  LivenessChecker liveness_;
  ServiceChecker service_;
  ProgressChecker progress_;
  RfcChecker rfc_;
};

template <std::uint32_t trickle>
std::unique_ptr<Station> trickler(const World& world, const StationSpec& spec, Random random) {
  return std::make_unique<Trickler>(world, spec, random, static_cast<Trickle>(trickle));
}

template <std::uint32_t... trickles>
void add_tricklers(Registry& registry, std::integer_sequence<std::uint32_t, trickles...>) {
  (registry.add_station(name_of(static_cast<Trickle>(trickles)), trickler<trickles>), ...);
}

}  // namespace

Registry swarm_registry() {
  Registry registry = Registry::standard();
  registry.add_station(
      "drop_case_generator", [](const World& world, const StationSpec& spec, Random random) {
        return std::unique_ptr<Station>(std::make_unique<DropCaseGenerator>(world, spec, random));
      });
  registry.add_station(
      "drop_case_generator6", [](const World& world, const StationSpec& spec, Random random) {
        return std::unique_ptr<Station>(std::make_unique<DropCaseGenerator6>(world, spec, random));
      });
  add_tricklers(registry, std::make_integer_sequence<std::uint32_t, trickle_count>{});
  return registry;
}

TrialResult run_trial(const World& world, std::uint64_t seed, Observer* watcher,
                      const Registry& registry) {
  Trial trial(world, seed, registry);
  if (watcher != nullptr) {
    trial.kernel().observe(*watcher);
  }
  return trial.run();
}

}  // namespace lockstep::sim
