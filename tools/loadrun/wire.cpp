// Opens a port by the flags that `serve` has too, loops until the load is over, sums up.
#include "tools/loadrun/wire.hpp"

#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "hw/poll/loop.hpp"
#include "tools/cli/failure.hpp"
#include "tools/loadrun/conclude.hpp"
#include "tools/loadrun/live.hpp"
#include "tools/loadrun/plan.hpp"
#include "tools/serve/open_port.hpp"
#include "tools/serve/plan.hpp"
#include "tools/world/units.hpp"

namespace lockstep::tools {
namespace {

struct Line {
  alignas(64) std::array<std::byte, 64> bytes;
};

Duration thread_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return Duration::seconds(static_cast<std::uint64_t>(now.tv_sec)) +
         Duration{static_cast<std::uint64_t>(now.tv_nsec)};
}

/// Everything that lives as long as the load does.
template <class Port>
struct Loader {
  template <class Device>
  Loader(const Config& config, const load::Plan& plan, const http::Site& site, Device device)
      : memory(Stack::arena_bytes(config) / sizeof(Line) + 1),
        stack(config, std::as_writable_bytes(std::span(memory))),
        port(std::move(device), {config.mtu, config.burst_frames}),
        client(plan, site, config.tcp.connections_max) {}

  LoadMoment moment(Instant now) {
    return {now.since(Instant{} + hw::MonotonicClock::start),
            client.counters(),
            client.times(),
            client.gauges(),
            stack.statistics(),
            port.counters(),
            stack.pools().time_wait,
            thread_time()};
  }

  std::vector<Line> memory;
  Stack stack;
  Port port;
  load::Client client;
};

/// Ends the loop when the load is over; on a terminal it draws a row a second.
template <class Port>
class Reporter {
 public:
  Reporter(Loader<Port>& loader, hw::StopSignals& signals)
      : loader_(loader), signals_(signals), live_(isatty(STDERR_FILENO) != 0) {
    if (live_) {
      last_ = std::make_unique<LoadMoment>();
      fmt::print(stderr, "{}\n", live_head());
    }
  }

  Instant due() const {
    if (loader_.client.finished() && !asked_) {
      return Instant{};
    }
    return live_ ? due_ : Instant::never();
  }
  void look(Instant now) {
    if (loader_.client.finished() && !asked_) {
      asked_ = true;
      signals_.ask();
    }
    if (live_ && due_ <= now) {
      auto moment = std::make_unique<LoadMoment>(loader_.moment(now));
      fmt::print(stderr, "{}\n", live_row(*last_, *moment));
      last_ = std::move(moment);
      due_ = now + Duration::seconds(1);
    }
  }
  void sleeping() {}

 private:
  Loader<Port>& loader_;
  hw::StopSignals& signals_;
  bool live_;
  bool asked_ = false;
  Instant due_ = Instant{} + hw::MonotonicClock::start + Duration::seconds(1);
  std::unique_ptr<LoadMoment> last_;
};

[[noreturn]] void nobody_answers(const load::Plan& plan, const load::Counters& counters) {
  bool const refused = counters.faults[static_cast<std::uint32_t>(load::Fault::refused)] != 0;
  throw Failure(ExitCode::environment,
                fmt::format("{}: {}", plan.targets.front().authority,
                            refused ? "it refuses connections: start the server, or correct the "
                                      "port"
                                    : "nobody takes a connection there: is it up, and does the "
                                      "interface lead to it?"));
}

std::string wire_json(const LoadMoment& end, const hw::LoopCounters& loop) {
  nlohmann::ordered_json out{{"frames_in", end.port.frames_in},
                             {"frames_out", end.port.frames_out},
                             {"retransmissions", end.stack.tcp.retransmissions},
                             {"timeouts", end.stack.tcp.timeouts},
                             {"processor_ns", end.processor.ns},
                             {"turns", loop.turns},
                             {"sleeps", loop.slept}};
  return out.dump();
}

/// How the run is called, and how it ends.
struct Frame {
  const LoadOptions& options;
  const ServePlan& where;
  const load::Plan& plan;
  Conclusion& conclusion;
};

template <class Port, class Device>
int load_through(const Frame& frame, const http::Site& site, Device device,
                 const std::string& how) {
  auto loader =
      std::make_unique<Loader<Port>>(frame.where.config, frame.plan, site, std::move(device));
  hw::StopSignals signals;
  refuse(signals.open());
  loader->client.start(loader->stack);
  hw::Ending ending = hw::Ending::stopped;
  hw::LoopCounters counters;
  {
    Reporter<Port> reporter(*loader, signals);
    hw::Loop loop(loader->stack, loader->port, loader->client, reporter, signals, {});
    ending = loop.run();
    counters = loop.counters();
  }
  if (ending == hw::Ending::gone) {
    throw Failure(ExitCode::environment,
                  fmt::format("{} was deleted while it was used: make it again",
                              frame.where.interface));
  }
  const load::Client& client = loader->client;
  if (!client.has_connected()) {
    nobody_answers(frame.plan, client.counters());
  }
  Instant const now = loader->port.now();
  auto const end = std::make_unique<LoadMoment>(loader->moment(now));
  auto const result = std::make_unique<LoadResult>(LoadResult{
      frame.options.workload, fmt::format("on {}{}", frame.where.interface, how), frame.plan,
      client.counters(), client.counters_in_time(), client.measured(now), client.times()});
  std::uint64_t const frames = end->port.frames_in + end->port.frames_out;
  std::string const lost = losses_text(LoadMoment{}, *end);
  std::string const last = fmt::format(
      "frames       {} in, {} out, {} retransmissions; {} ns of processor each\nlost         {}\n",
      grouped(end->port.frames_in), grouped(end->port.frames_out),
      grouped(end->stack.tcp.retransmissions), frames == 0 ? 0 : end->processor.ns / frames,
      lost.empty() ? "nothing" : lost);
  return frame.conclusion.draw(*result, wire_json(*end, counters), last);
}

/// The flags of the interface are those of `serve`, and so is what is refused of them.
ServePlan place_of(const LoadOptions& options, const load::Plan& plan) {
  ServeOptions where;
  where.tap = options.tap;
  where.interface = options.interface;
  where.driver = options.driver;
  where.addresses = options.addresses;
  where.hosts = options.hosts;
  where.gateway = options.gateway;
  where.profile = options.profile;
  where.mtu = options.mtu;
  where.window = options.window;
  where.connections = plan.connections;
  ServePlan out = plan_of(where);
  fit_pools(out.config.tcp, plan);
  out.config.tcp.port_first = Port{1'024};
  out.config.tcp.port_last = Port{65'535};
  out.config.duplicate_tests = Count{0};
  if (plan.time_wait.ns != 0) {
    out.config.tcp.msl = plan.time_wait / 2;
  }
  if (auto const fault = fault_of(out.config); !fault.empty()) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("with this load, {} is out of range: give fewer --connections, a "
                              "smaller --pipeline, or another --time-wait",
                              fault));
  }
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

/// Addresses to call from, and that each target can be reached at all.
void find_ways(const LoadOptions& options, const ServePlan& where, load::Plan& plan) {
  for (const load::Target& target : plan.targets) {
    IpAddress const to = target.endpoint.address;
    bool const routed = to.is_v4() && !options.gateway.empty();
    if (!is_near(where.config, to) && !routed) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("{}: no --address is in its network, and there is no --gateway: "
                                "give one of them",
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

}  // namespace

int load_on_the_wire(const LoadOptions& options, load::Plan plan) {
  ServePlan where = place_of(options, plan);
  find_ways(options, where, plan);
  http::Site site;
  site.complete();
  return with_ports(where, [&]<class Port, class Device>(std::type_identity<Port>,
                                                         std::vector<Device> devices,
                                                         const std::string& how) {
    Conclusion conclusion(options);
    return load_through<Port>({options, where, plan, conclusion}, site,
                              std::move(devices.front()),
                              how.empty() ? "" : fmt::format(" ({})", how));
  });
}

}  // namespace lockstep::tools
