// Opens a port with the same options as `serve`, runs the load to its end, and prints the results.
#include "tools/verbs/load/wire.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "hw/poll/clock.hpp"
#include "tools/base/output/event_log.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/host/rules.hpp"
#include "tools/lib/journal/load_parts.hpp"
#include "tools/verbs/load/conclude.hpp"
#include "tools/verbs/load/metrics.hpp"
#include "tools/verbs/load/plan.hpp"
#include "tools/verbs/load/workers.hpp"
#include "tools/verbs/serve/open_port.hpp"
#include "tools/verbs/serve/shard_pool.hpp"
#include "tools/verbs/serve/summary.hpp"

namespace lockstep::tools {
namespace {

/// A load in which every shard has its part.
struct LoadRole {
  using App = load::Client;
  using Totals = LoadTotals;

  App app(ShardId self, Count connections_max) const {
    return App(plans[self.value], site, connections_max);
  }
  hw::Trouble start(App& app, Stack& stack) const {
    app.start(stack);
    return {};
  }
  void count(const App& app, Instant now, Totals& totals) const {
    totals.load = total_of(app, now);
    totals.gauges = app.gauges();
    totals.has_connected = app.has_connected();
  }
  Moment moment(const Totals& totals) const {
    Moment out;
    static_cast<ShardTotals&>(out) = totals;
    out.connections = totals.load.counters.connections;
    out.requests = totals.load.counters.answered;
    out.octets = totals.load.counters.body_octets;
    out.errors = load::faults_of(totals.load.counters);
    out.open = totals.gauges.open;
    out.active = totals.gauges.active;
    out.latency = totals.load.times.latency;
    out.rtt = totals.load.times.rtt;
    return out;
  }
  std::string metrics(const std::vector<Totals>& shards) const { return load_metrics(shards); }
  void write_parts(journal::Writer& writer, const journal::Run& run, ShardId self) const {
    journal::write_parts(writer, run, plans[self.value]);
  }
  static bool is_over(const App& app) { return app.finished(); }

  const std::vector<load::LoadPlan>& plans;
  const http::Site& site;
};

[[noreturn]] void nobody_answers(const load::LoadPlan& plan, const load::Counters& counters) {
  bool const refused = counters.faults[static_cast<std::uint32_t>(load::Fault::refused)] != 0;
  throw Failure(ExitCode::environment,
                fmt::format("{}: {}", plan.targets.front().authority,
                            refused ? "connection refused: start the server, or correct the port"
                                    : "no connection was established: check that the server is up "
                                      "and reachable through the interface"));
}

/// The totals of all shards, and of each.
struct LoadEnd {
  LoadTotals sum;
  const std::vector<Finished<LoadTotals>>& shards;
};

std::string wire_json(const LoadEnd& end) {
  const LoadTotals& sum = end.sum;
  nlohmann::ordered_json out{{"frames_in", sum.port.frames_in},
                             {"frames_out", sum.port.frames_out},
                             {"retransmissions", sum.stack.tcp.retransmissions},
                             {"timeouts", sum.stack.tcp.timeouts},
                             {"processor_ns", sum.processor.ns},
                             {"turns", sum.loop.turns},
                             {"sleeps", sum.loop.slept},
                             {"journal_octets", sum.journal_bytes}};
  auto& list = out["shards"] = nlohmann::ordered_json::array();
  for (auto const& each : end.shards) {
    const LoadTotals& mine = each.totals;
    list.push_back({{"connections", mine.load.counters.connections},
                    {"answered", mine.load.counters.answered},
                    {"latency_p99_ns", mine.load.times.latency.at({99'000}).ns},
                    {"frames_in", mine.port.frames_in},
                    {"frames_out", mine.port.frames_out},
                    {"forwarded", mine.shard.forwarded},
                    {"announced", mine.shard.announced},
                    {"given", mine.shard.given},
                    {"ring_full", mine.shard.lost},
                    {"processor_ns", mine.processor.ns},
                    {"journal_octets", mine.journal_bytes}});
  }
  return out.dump();
}

std::string wire_text(const LoadEnd& end) {
  const LoadTotals& sum = end.sum;
  std::uint64_t const frames = sum.port.frames_in + sum.port.frames_out;
  std::string const lost = losses_text(ShardTotals{}, sum);
  std::string out = fmt::format(
      "frames       {} in, {} out, {} retransmissions; {} ns of processor each\nlost         {}\n",
      grouped(sum.port.frames_in), grouped(sum.port.frames_out),
      grouped(sum.stack.tcp.retransmissions), frames == 0 ? 0 : sum.processor.ns / frames,
      lost.empty() ? "nothing" : lost);
  if (sum.journal_bytes != 0) {
    out += fmt::format("journal      {} octets\n", grouped(sum.journal_bytes));
  }
  for (std::size_t i = 0; end.shards.size() > 1 && i < end.shards.size(); ++i) {
    const LoadTotals& mine = end.shards[i].totals;
    out += fmt::format(
        "{:<12} {} connections, {} answered, p99 {}, {} frames in, {} out, {} "
        "forwarded, {} from others\n",
        fmt::format("shard {}", i), grouped(mine.load.counters.connections),
        grouped(mine.load.counters.answered), text_of(mine.load.times.latency.at({99'000})),
        grouped(mine.port.frames_in), grouped(mine.port.frames_out), grouped(mine.shard.forwarded),
        grouped(mine.shard.given));
  }
  return out;
}

/// The name of the run, and the way it ends.
struct Frame {
  const LoadOptions& options;
  const ServePlan& where;
  const load::LoadPlan& plan;
  Conclusion& conclusion;
  std::string how;  ///< how the interface is driven
};

int conclude(const Frame& frame, const std::vector<Finished<LoadTotals>>& shards,
             const Journals& journals) {
  auto const end = std::make_unique<LoadEnd>(LoadEnd{{}, shards});
  for (auto const& each : shards) {
    add(end->sum, each.totals);
  }
  Ended const ended = ended_of(shards);
  log_event({LogLevel::info, "ended", "the load has ended"},
            {{"ending", std::string(tools::name_of(ended.ending))},
             {"connections", end->sum.load.counters.connections},
             {"answered", end->sum.load.counters.answered},
             {"errors", load::faults_of(end->sum.load.counters)}});
  if (ended.ending == hw::Ending::gone) {
    fail_if_cut_short(ended, frame.where, journals);
  }
  const Total& total = end->sum.load;
  if (!end->sum.has_connected) {
    nobody_answers(frame.plan, total.counters);
  }
  auto const result = std::make_unique<LoadResult>(
      LoadResult{frame.options.workload, fmt::format("on {}{}", frame.where.interface, frame.how),
                 frame.plan, total.counters, total.in_time, total.measured, total.times});
  int const verdict = frame.conclusion.draw(*result, wire_json(*end), wire_text(*end));
  fail_if_cut_short(ended, frame.where, journals);
  return verdict;
}

/// Lets initial sequence numbers and timestamps continue over runs, so that a server whose
/// TIME-WAIT has a connection of the run before takes the new one (RFC 6191; RFC 9293 3.6.1): the
/// clock is the machine's, and the offset of each four-tuple is drawn from a number of this boot.
/// Without that number they begin anew.
void continue_runs(Config& config) {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::uint64_t boot = 0;
  while (std::getline(file, text, '-')) {
    boot = boot * 31 + std::strtoull(text.c_str(), nullptr, 16);
  }
  Config drawn;
  if (boot != 0 && draw_secrets(boot, drawn)) {
    config.tcp.isn_key = drawn.tcp.isn_key;
    config.tcp.timestamp_key = drawn.tcp.timestamp_key;
    hw::MonotonicClock::follow_machine();
  }
}

/// The interface options are those of `serve`, and are checked in the same way.
ServePlan place_of(const LoadOptions& options, const load::LoadPlan& plan) {
  ServeOptions where;
  where.role = "load";
  where.control = options.control;
  where.log = options.log;
  where.seccomp = "off";
  where.pcapng = options.pcapng_folder;
  where.force = options.force;
  where.tap = options.tap;
  where.interface = options.interface;
  where.driver = options.driver;
  where.addresses = options.addresses;
  where.hosts = options.hosts;
  where.gateway = options.gateway;
  where.profile = options.profile;
  where.controller = options.controller;
  where.mtu = options.mtu;
  where.window = options.window;
  where.port = 0;  // no listener
  where.shards = options.shards;
  where.cpus = options.cpus;
  where.metrics = options.metrics;
  where.record = options.record;
  where.json = options.json;
  where.connections = plan.connections;
  ServePlan out = plan_of(where);
  out.config.tcp.port_first = Port{1'024};
  out.config.tcp.port_last = Port{65'535};
  out.config.duplicate_tests = Count{0};
  out.config.address_probes = Count{0};
  continue_runs(out.config);
  return out;
}

bool is_near(const Config& config, IpAddress target) {
  for (std::uint32_t i = 0; i < config.address_count.value; ++i) {
    HostAddress const& ours = config.addresses[i];
    std::uint32_t const before = target.is_v4() ? 96 : 0;
    if (ours.address.is_v4() == target.is_v4() &&
        common_bits({ours.address, target}) >= before + ours.prefix_bits) {
      return true;
    }
  }
  return false;
}

/// Finds the source addresses, and checks that each target can be reached.
void find_ways(const LoadOptions& options, const ServePlan& where, load::LoadPlan& plan) {
  for (const load::Target& target : plan.targets) {
    IpAddress const to = target.endpoint.address;
    bool const routed = to.is_v4() && !options.gateway.empty();
    if (!is_near(where.config, to) && !routed) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("{}: not in the network of an --address, and there is no "
                                "--gateway: give one of them",
                                target.authority));
    }
  }
  for (std::uint32_t i = 0; i < where.config.address_count.value; ++i) {
    IpAddress const ours = where.config.addresses[i].address;
    if (ours.is_v4() == plan.targets.front().endpoint.address.is_v4()) {
      plan.sources.push_back(ours);
    }
  }
}

/// The part of each shard. The first has the largest.
std::vector<load::LoadPlan> shares_of(const load::LoadPlan& plan, ShardCount shards) {
  std::vector<load::LoadPlan> out;
  for (std::uint32_t i = 0; i < shards.value; ++i) {
    auto share = share_of(plan, {i}, shards);
    if (!share) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("--shards {}: shard {} would be idle: each shard needs at least "
                                "1 of --connections, --requests and --rate: choose fewer",
                                shards.value, i));
    }
    out.push_back(std::move(*share));
  }
  return out;
}

/// Each shard gets pools as large as the first one's, whose part is the largest.
void fit_shards(const load::LoadPlan& largest, Config& config) {
  fit_pools(config.tcp, largest);
  if (largest.time_wait.ns != 0) {
    config.tcp.msl = largest.time_wait / 2;
  }
  if (auto const fault = fault_of(config); !fault.empty()) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("with this load, {} is out of range: give fewer --connections, a "
                              "smaller --pipeline, or another --time-wait",
                              fault));
  }
}

void announce(const ServePlan& where, const load::LoadPlan& plan) {
  log_event({LogLevel::info, "loading",
             fmt::format("load for {} on {}", plan.targets.front().authority, where.interface)},
            {{"interface", where.interface},
             {"targets", std::uint64_t{plan.targets.size()}},
             {"connections", std::uint64_t{plan.connections}},
             {"shards", std::uint64_t{where.shards.value}}});
}

}  // namespace

int load_on_the_wire(const LoadOptions& options, load::LoadPlan plan) {
  ServePlan where = place_of(options, plan);
  find_ways(options, where, plan);
  std::vector<load::LoadPlan> const plans = shares_of(plan, where.shards);
  fit_shards(plans.front(), where.config);
  http::Site site;
  site.complete();
  return with_ports(
      where, [&]<class Port, class Device>(std::type_identity<Port>, std::vector<Device> devices,
                                           const std::string& how) {
        Conclusion conclusion(options);
        Journals const journals = open_journals(where, options.record, options.force);
        auto const shards = run_role<Port>(where, LoadRole{plans, site}, std::move(devices),
                                           journals, [&] { announce(where, plan); });
        return conclude(
            {options, where, plan, conclusion, how.empty() ? "" : fmt::format(" ({})", how)},
            shards, journals);
      });
}

}  // namespace lockstep::tools
