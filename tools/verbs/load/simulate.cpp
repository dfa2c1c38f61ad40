// A simulation whose hosts run the same application classes as on an interface.
#include "tools/verbs/load/simulate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/units/check.hpp"
#include "sim/checkers/rfc.hpp"
#include "sim/kernel/kernel.hpp"
#include "tools/base/output/progress.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/controllers/load.hpp"
#include "tools/lib/http/server.hpp"
#include "tools/lib/load/cache_server.hpp"
#include "tools/lib/load/client.hpp"
#include "tools/lib/load/echo_server.hpp"
#include "tools/lib/sim_apps/http_app.hpp"
#include "tools/lib/world_file/failed_check.hpp"
#include "tools/lib/world_file/world_file.hpp"
#include "tools/verbs/load/conclude.hpp"
#include "tools/verbs/load/plan.hpp"
#include "tools/verbs/load/workers.hpp"
#include "tools/verbs/sim/spectators.hpp"

namespace lockstep::tools {
namespace {

bool is_over(const load::Client& client) { return client.finished(); }
template <class Server>
bool is_over(const Server& server) {
  return server.done();
}

/// Wraps an application as a model of the simulation's kernel. It gets the events of all
/// connections that no other model on the host has claimed.
template <class App>
class AppModel final : public sim::Model {
 public:
  template <class... Arguments>
  explicit AppModel(Arguments&&... arguments) : app(std::forward<Arguments>(arguments)...) {}

  void on_event(sim::Desk& desk, const Event& event) override { app.on_event(desk.stack, event); }
  void run(sim::Desk& desk) override { app.run(desk.stack, desk.now); }
  void turned(sim::Desk&, bool) override {}
  Instant deadline() const override { return app.deadline(); }
  bool done() const override { return is_over(app); }
  std::unique_ptr<sim::Model> clone() const override {
    bool const can_be_copied = false;
    CHECK(can_be_copied);
    return nullptr;
  }

  App app;
};

/// Installs an application on a host before the first step.
template <class App, class... Arguments>
App& join(sim::Kernel& kernel, sim::HostIndex index, Arguments&&... arguments) {
  sim::Host& host = kernel.host(index);
  auto model = std::make_unique<AppModel<App>>(std::forward<Arguments>(arguments)...);
  App& app = model->app;
  host.set_otherwise({static_cast<std::uint32_t>(host.models().size())});
  host.models().push_back(std::move(model));
  return app;
}

void start(Refusal refusal, const load::Target& target) {
  if (refusal != Refusal::none) {
    throw Failure(ExitCode::bad_input, fmt::format("{}: the world's host cannot listen there: {}: "
                                                   "choose another port",
                                                   target.authority, name_of(refusal)));
  }
}

/// The hosts of the world that take part; of several workers the first.
struct Cast {
  sim::HostIndex client;
  std::vector<sim::HostIndex> servers;  // for each target
};

std::vector<sim::HostIndex> workers_of(const sim::World& world, sim::HostIndex first) {
  const sim::HostSpec& host = world.hosts[first.value];
  std::vector<sim::HostIndex> out{first};
  for (std::uint32_t shard = 1; shard < host.shards(); ++shard) {
    out.push_back(host.sibling({shard}));
  }
  return out;
}

std::string names_of(const sim::World& world) {
  std::string out;
  for (const sim::HostSpec& host : world.hosts) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", host.name.view(),
                       text_of(host.config.addresses[0].address));
  }
  return out;
}

sim::HostIndex host_at(const sim::World& world, const load::Target& target) {
  for (std::uint32_t i = 0; i < world.hosts.size(); ++i) {
    const Config& config = world.hosts[i].config;
    for (std::uint32_t a = 0; a < config.address_count.value; ++a) {
      if (config.addresses[a].address == target.endpoint.address) {
        return {i};
      }
    }
  }
  throw Failure(ExitCode::bad_input,
                fmt::format("{}: no host of the world has that address; choose one of {}",
                            target.authority, names_of(world)));
}

Cast cast_of(const LoadOptions& options, const load::LoadPlan& plan, const sim::World& world) {
  Cast cast;
  for (const load::Target& target : plan.targets) {
    cast.servers.push_back(host_at(world, target));
  }
  auto const serves = [&](std::uint32_t i) {
    const sim::HostSpec& host = world.hosts[i];
    sim::HostIndex const first = host.shards() == 1 ? sim::HostIndex{i} : host.shard_first;
    return std::find(cast.servers.begin(), cast.servers.end(), first) != cast.servers.end();
  };
  for (std::uint32_t i = 0; i < world.hosts.size(); ++i) {
    bool const fits = options.from.empty() || world.hosts[i].name.view() == options.from;
    if (fits && !serves(i)) {
      cast.client = {i};
      return cast;
    }
  }
  throw Failure(
      ExitCode::bad_input,
      options.from.empty()
          ? fmt::format("{}: every host of the world is a target: add a client host", options.sim)
          : fmt::format("--from {}: no such host, or it is a target; choose one of {}",
                        options.from, names_of(world)));
}

void fit_host(sim::World& world, sim::HostIndex first, const LoadOptions& options,
              const load::LoadPlan& plan) {
  for (sim::HostIndex const index : workers_of(world, first)) {
    Config& config = world.hosts[index.value].config;
    fit_pools(config.tcp, plan);
    if (options.mtu != 0) {
      set_mtu(config, Bytes{options.mtu});
    }
    if (plan.time_wait.ns != 0) {
      config.tcp.msl = plan.time_wait / 2;
    }
  }
}

/// Raises the MTU of each link to at least that of the hosts.
void fit_links(sim::World& world, const LoadOptions& options) {
  for (sim::LinkSpec& link : world.links) {
    for (sim::LaneSpec* lane : {&link.forward, &link.back}) {
      lane->mtu_bytes = std::max(lane->mtu_bytes, options.mtu);
    }
  }
  if (auto const fault = sim::fault_of(world); !fault.none()) {
    throw Failure(ExitCode::bad_input, fmt::format("{}: with this load, {}: {}", options.sim,
                                                   fault.subject.view(), fault.what));
  }
}

void serve(sim::Kernel& kernel, sim::HostIndex index, const load::LoadPlan& plan,
           const load::Target& target, const http::Site& site) {
  sim::Host& host = kernel.host(index);
  Count const most = host.stack().config().tcp.connections_max;
  Backlog const backlog{Count{std::min(most.value, 65'535u)}, Count::unlimited()};
  if (plan.protocol == load::Protocol::echo) {
    auto& app = join<load::EchoServer>(kernel, index,
                                       load::EchoSettings{target.endpoint.port, backlog}, most);
    start(app.start(host.stack()), target);
  } else if (plan.protocol == load::Protocol::memcached) {
    load::CacheSettings settings;
    settings.port = target.endpoint.port;
    settings.backlog = backlog;
    settings.value_max = lockstep::most(settings.value_max, plan.message);
    auto& app = join<load::CacheServer>(kernel, index, settings, most);
    start(app.start(host.stack()), target);
  } else {
    http::ServerSettings settings;
    settings.port = target.endpoint.port;
    settings.backlog = backlog;
    auto& app = join<http::Server>(kernel, index, site, settings, most);
    start(app.start(host.stack()), target);
  }
}

/// Starts a client on each worker; a worker without connections gets none.
std::vector<load::Client*> call(sim::Kernel& kernel, sim::HostIndex first,
                                const load::LoadPlan& plan, const http::Site& site) {
  std::vector<load::Client*> out;
  std::vector<sim::HostIndex> const workers = workers_of(kernel.world(), first);
  ShardCount const count{static_cast<std::uint32_t>(workers.size())};
  for (std::uint32_t worker = 0; worker < workers.size(); ++worker) {
    if (auto const share = share_of(plan, {worker}, count)) {
      Stack& stack = kernel.host(workers[worker]).stack();
      out.push_back(&join<load::Client>(kernel, workers[worker], *share, site,
                                        stack.config().tcp.connections_max));
      out.back()->start(stack);
    }
  }
  return out;
}

bool are_finished(const std::vector<load::Client*>& clients) {
  return std::all_of(clients.begin(), clients.end(),
                     [](load::Client const* each) { return each->finished(); });
}

sim::Ending run_to_end(sim::Kernel& kernel, const std::vector<load::Client*>& clients) {
  Instant const limit = Instant{0} + kernel.world().limit;
  Progress progress;
  while (!are_finished(clients) && kernel.scheduled() != 0 && kernel.next_at() <= limit) {
    kernel.step();
    if (kernel.steps() % 65'536 == 0 && progress.is_due()) {
      progress.draw(
          kernel.now().ns, limit.ns,
          fmt::format("{} of at most {}, {} answered", text_of(kernel.now().since(Instant{0})),
                      text_of(limit.since(Instant{0})),
                      grouped(total_of(clients, kernel.now()).counters.answered)));
    }
  }
  kernel.end();
  return are_finished(clients)     ? sim::Ending::completed
         : kernel.scheduled() == 0 ? sim::Ending::deadlocked
                                   : sim::Ending::limit_reached;
}

std::string sim_json(const SimulatedLoad& run) {
  return nlohmann::ordered_json{{"ending", sim::name_of(run.ending)},
                                {"virtual_ns", run.lasted.ns},
                                {"frames_sent", run.frames_sent},
                                {"fingerprint", fmt::format("{:016x}", run.fingerprint)}}
      .dump();
}

/// The world, in which hosts may name the controller of the options. Throws Failure if none does:
/// the load would not be of that controller.
sim::World world_of(const LoadOptions& options) {
  if (options.controller.empty()) {
    return read_world(options.sim, options.settings);
  }
  tcp::Congestion const congestion = congestion_of(options.controller);
  sim::World world = read_world(options.sim, options.settings);
  bool const is_used = std::ranges::any_of(world.hosts, [&](const sim::HostSpec& host) {
    return host.config.tcp.congestion == congestion;
  });
  if (!is_used) {
    std::string const name = load_controller(options.controller);
    throw Failure(ExitCode::bad_input,
                  fmt::format("--controller {}: no host of {} has congestion = \"{}\": add --set "
                              "HOST.congestion={}",
                              options.controller, options.sim, name, name));
  }
  return world;
}

}  // namespace

SimulatedLoad simulate(const LoadOptions& options, const load::LoadPlan& plan) {
  sim::World world = world_of(options);
  Cast const cast = cast_of(options, plan, world);
  fit_host(world, cast.client, options, plan);
  for (sim::HostIndex const server : cast.servers) {
    fit_host(world, server, options, plan);
  }
  fit_links(world, options);
  http::Site site;
  site.complete();
  sim::Kernel kernel(world, plan.seed, world_registry());
  sim::Findings findings;
  sim::RfcChecker referee(world, findings);
  kernel.observe(referee);
  Captures captures(options.pcapng_folder, world, kernel);
  for (std::uint32_t i = 0; i < plan.targets.size(); ++i) {
    bool const again = std::find(cast.servers.begin(), cast.servers.begin() + i, cast.servers[i]) !=
                       cast.servers.begin() + i;
    for (sim::HostIndex const worker : workers_of(world, cast.servers[i])) {
      if (!again) {
        serve(kernel, worker, plan, plan.targets[i], site);
      }
    }
  }
  std::vector<load::Client*> const clients = call(kernel, cast.client, plan, site);
  sim::Ending const ending = run_to_end(kernel, clients);
  captures.keep();
  SimulatedLoad out;
  Total const total = total_of(clients, kernel.host(cast.client).clock().local(kernel.now()));
  out.result = {options.workload,
                fmt::format("in the world {}, seed {}", world.name.view(), plan.seed),
                plan,
                total.counters,
                total.in_time,
                total.measured,
                total.times};
  out.ending = ending;
  out.lasted = kernel.now().since(Instant{0});
  out.frames_sent = kernel.frames_sent();
  out.fingerprint = kernel.fingerprint();
  out.is_lawful = print_findings(findings);
  out.fault = controller_fault_of(kernel);
  return out;
}

int simulate_load(const LoadOptions& options, const load::LoadPlan& plan) {
  refuse_overwrite(options.sim, options.json);
  Conclusion conclusion(options);
  set_check_handler(print_failed_check);
  SimulatedLoad const run = simulate(options, plan);
  std::string const last = fmt::format(
      "{} after {} of virtual time, {} frames sent, fingerprint {:016x}\n",
      sim::name_of(run.ending), text_of(run.lasted), grouped(run.frames_sent), run.fingerprint);
  int const verdict = conclusion.draw(run.result, sim_json(run), last);
  if (!run.fault.empty()) {
    throw Failure(ExitCode::finding, run.fault);
  }
  return run.ending == sim::Ending::completed && run.is_lawful ? verdict : 1;
}

}  // namespace lockstep::tools
