// A stack, a port, an application without files, and the loop over them.
#include "tools/serve/plain.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/seam/statistics.hpp"
#include "tools/load/cache_server.hpp"
#include "tools/load/echo_server.hpp"
#include "tools/output/draft_file.hpp"
#include "tools/output/json.hpp"
#include "tools/serve/open_port.hpp"
#include "tools/serve/service.hpp"
#include "tools/world/units.hpp"

namespace lockstep::tools {
namespace {

/// Nothing is drawn while it runs.
struct Nobody {
  Instant due() const { return Instant::never(); }
  void look(Instant) {}
  void sleeping() {}
};

/// What is served, where, and where the summary goes.
struct Plain {
  PlainServer what;
  const ServePlan& plan;
  const std::string& json;  ///< empty: nowhere else
  std::string how;          ///< the interface is driven
};

void announce(const Plain& plain) {
  const ServePlan& plan = plain.plan;
  for (std::uint32_t i = 0; i < plan.config.address_count.value; ++i) {
    IpAddress const& address = plan.config.addresses[i].address;
    fmt::print("serving {}://{}{}{}:{} on {}{}\n",
               plain.what == PlainServer::echo ? "echo" : "memcached", address.is_v4() ? "" : "[",
               text_of(address), address.is_v4() ? "" : "]", plan.server.port.value,
               plan.interface, plain.how);
  }
  std::fflush(stdout);
}

void sum_up(const Plain& plain, const Statistics& said, const hw::PortCounters& frames,
            const hw::LoopCounters& turns) {
  fmt::print("frames {} in, {} out; {} retransmissions; slept {} times in {} turns\n",
             grouped(frames.frames_in), grouped(frames.frames_out),
             grouped(said.tcp.retransmissions), grouped(turns.slept), grouped(turns.turns));
  if (!plain.json.empty()) {
    DraftFile file(plain.json);
    nlohmann::ordered_json const out{{"frames_in", frames.frames_in},
                                     {"frames_out", frames.frames_out},
                                     {"retransmissions", said.tcp.retransmissions},
                                     {"turns", turns.turns},
                                     {"slept", turns.slept}};
    file.put(json_text(out));
    file.keep();
  }
}

template <class Port, class App, class Device>
void run_app(const Plain& plain, App& app, Device device) {
  const ServePlan& plan = plain.plan;
  std::vector<ArenaLine> memory(Stack::arena_bytes(plan.config) / sizeof(ArenaLine) + 1);
  Stack stack(plan.config, std::as_writable_bytes(std::span(memory)));
  Port port(std::move(device), {plan.config.mtu, plan.config.burst_frames});
  if (Refusal const refused = app.start(stack); refused != Refusal::none) {
    throw Failure(ExitCode::bad_input, fmt::format("port {}: {}: choose another",
                                                   plan.server.port.value, name_of(refused)));
  }
  hw::StopSignals signals;
  refuse(signals.open());
  announce(plain);
  Nobody nobody;
  hw::Loop loop(stack, port, app, nobody, signals, plan.loop);
  hw::Ending const ending = loop.run();
  sum_up(plain, stack.statistics(), port.counters(), loop.counters());
  if (ending == hw::Ending::gone) {
    throw Failure(ExitCode::environment,
                  fmt::format("{} was deleted while it was served: make it again",
                              plan.interface));
  }
}

template <class Port, class Device>
void run_on(const Plain& plain, Device device) {
  const ServePlan& plan = plain.plan;
  Count const most = plan.config.tcp.connections_max;
  if (plain.what == PlainServer::echo) {
    load::EchoServer app({plan.server.port, plan.server.backlog}, most);
    run_app<Port>(plain, app, std::move(device));
  } else {
    load::CacheSettings settings;
    settings.port = plan.server.port;
    settings.backlog = plan.server.backlog;
    load::CacheServer app(settings, most);
    run_app<Port>(plain, app, std::move(device));
  }
}

}  // namespace

int run_serve_plain(PlainServer what, const ServeOptions& options) {
  ServePlan const plan = plan_of(options);
  Plain plain{what, plan, options.json, {}};
  return with_ports(plan, [&]<class Port, class Device>(std::type_identity<Port>,
                                                        std::vector<Device> devices,
                                                        const std::string& how) {
    plain.how = how.empty() ? "" : fmt::format(" ({})", how);
    run_on<Port>(plain, std::move(devices.front()));
    return static_cast<int>(ExitCode::fine);
  });
}

}  // namespace lockstep::tools
