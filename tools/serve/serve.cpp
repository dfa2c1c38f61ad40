// Opens, announces, loops, sums up.
#include "tools/serve/serve.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "core/units/check.hpp"
#include "hw/af_packet/port.hpp"
#include "hw/af_packet/setup.hpp"
#include "hw/af_xdp/port.hpp"
#include "hw/af_xdp/setup.hpp"
#include "hw/tap/port.hpp"
#include "tools/cli/failure.hpp"
#include "tools/journal/http_parts.hpp"
#include "tools/journal/recorder.hpp"
#include "tools/output/draft_file.hpp"
#include "tools/serve/folder.hpp"
#include "tools/serve/plan.hpp"
#include "tools/serve/summary.hpp"
#include "tools/world/units.hpp"

namespace lockstep::tools {
namespace {

struct Line {
  alignas(64) std::array<std::byte, 64> bytes;
};

/// Set while a journal is kept, so that a failed CHECK leaves it whole.
journal::TurnLog* open_log = nullptr;

void on_failed_check(const CheckSite& site) {
  fmt::print(stderr, "lockstep: a bug of ours: CHECK({}) failed at {}:{}; please report it{}\n",
             site.condition, site.file, site.line,
             open_log == nullptr ? ", with a journal (--record) if it comes again"
                                 : " with the journal");
  if (open_log != nullptr) {
    open_log->flush();
  }
}

void refuse(const hw::Trouble& trouble) {
  if (trouble) {
    throw Failure(trouble.kind == hw::TroubleKind::bad_input ? ExitCode::bad_input
                                                             : ExitCode::environment,
                  trouble.text);
  }
}

/// Everything that lives as long as the server does.
template <class Port>
struct Service {
  template <class Device>
  Service(const ServePlan& plan, const http::Site& site, Device device)
      : memory(Stack::arena_bytes(plan.config) / sizeof(Line) + 1),
        stack(plan.config, std::as_writable_bytes(std::span(memory))),
        port(std::move(device), {plan.config.mtu, plan.config.burst_frames}),
        server(site, plan.server, plan.config.tcp.connections_max) {}

  std::vector<Line> memory;
  Stack stack;
  Port port;
  http::Server server;
};

template <class Port>
ServeTotals totals_of(Service<Port>& service, Instant now) {
  return {now.since(Instant{} + hw::MonotonicClock::start),
          service.stack.statistics(),
          service.server.counters(),
          service.port.counters(),
          {},
          0,
          service.server.open()};
}

/// Draws the line of each second on a terminal, and hands the journal over before each sleep.
template <class Port>
class Reporter {
 public:
  Reporter(Service<Port>& service, journal::TurnLog* log)
      : service_(service), log_(log), live_(isatty(STDERR_FILENO) != 0) {}
  ~Reporter() { wipe(); }
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  Instant due() const { return live_ ? due_ : Instant::never(); }
  void look(Instant now) {
    ServeTotals const totals = totals_of(service_, now);
    fmt::print(stderr, "\r\x1b[K{}", live_line(last_, totals));
    drawn_ = true;
    last_ = totals;
    due_ = now + Duration::seconds(1);
  }
  void sleeping() {
    if (log_ != nullptr) {
      log_->flush();
    }
  }

 private:
  void wipe() const {
    if (drawn_) {
      fmt::print(stderr, "\r\x1b[K");
    }
  }

  Service<Port>& service_;
  journal::TurnLog* log_;
  bool live_;
  bool drawn_ = false;
  Instant due_ = Instant{} + hw::MonotonicClock::start + Duration::seconds(1);
  ServeTotals last_;
};

struct Finished {
  hw::Ending ending = hw::Ending::stopped;
  hw::LoopCounters counters;
};

template <class Port, class Driver, class App>
Finished loop(Service<Port>& service, Driver& port, App& app, Reporter<Port>& reporter,
              hw::StopSignals& signals) {
  hw::Loop loop(service.stack, port, app, reporter, signals, {});
  hw::Ending const ending = loop.run();
  return {ending, loop.counters()};
}

std::uint64_t unix_ns() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count());
}

/// The loop with a journal around both ends of the stack. A journal that cannot be written any more
/// is no reason to stop serving: it is told at the end.
template <class Port>
Finished recorded(const ServePlan& plan, const http::Site& site, Service<Port>& service,
                  journal::Writer& writer, hw::StopSignals& signals) {
  std::uint64_t const origin = unix_ns() - service.port.now().ns;
  write_parts(writer, plan.config, plan.server, site, plan.interface, origin);
  journal::TurnLog log(writer, plan.config.frames_per_turn);
  open_log = &log;
  journal::Recorder port(service.port, log, service.stack);
  journal::Noted app(service.server, log);
  Reporter<Port> reporter(service, &log);
  Finished const finished = loop(service, port, app, reporter, signals);
  open_log = nullptr;
  log.finish(service.stack.fingerprint());
  return finished;
}

void announce(const ServePlan& plan, const http::Site& site, const std::string& how) {
  for (std::uint32_t i = 0; i < plan.config.address_count.value; ++i) {
    IpAddress const& address = plan.config.addresses[i].address;
    fmt::print("serving http://{}{}{}:{}/ on {}: {} paths, and /bytes/N\n",
               address.is_v4() ? "" : "[", text_of(address), address.is_v4() ? "" : "]",
               plan.server.port.value, plan.interface, grouped(site.files()));
  }
  if (!how.empty()) {
    fmt::print("{}: {}\n", plan.interface, how);
  }
  std::fflush(stdout);
}

int conclude(const Finished& finished, const ServePlan& plan, const journal::Writer* writer) {
  if (finished.ending == hw::Ending::gone) {
    throw Failure(ExitCode::environment,
                  fmt::format("{} was deleted while it was served: make it again, or let this "
                              "program make it",
                              plan.interface));
  }
  if (writer != nullptr && writer->failed() != 0) {
    throw Failure(ExitCode::environment,
                  fmt::format("{}: {}: the journal ends after {} octets; make room", writer->path(),
                              std::strerror(writer->failed()), writer->bytes()));
  }
  return static_cast<int>(ExitCode::fine);
}

/// The files that the run leaves, opened before it begins, and how its interface is driven.
struct Outputs {
  std::string how;  ///< empty: there is one way only
  std::unique_ptr<journal::Writer> writer;
  std::unique_ptr<DraftFile> json;
};

template <class Port, class Device>
int serve(const ServePlan& plan, const http::Site& site, Device device, const Outputs& outputs) {
  journal::Writer* const writer = outputs.writer.get();
  Service<Port> service(plan, site, std::move(device));
  hw::StopSignals signals;
  refuse(signals.open());
  Refusal const refused = service.server.start(service.stack);
  if (refused != Refusal::none) {
    throw Failure(ExitCode::bad_input, fmt::format("port {}: {}: choose another",
                                                   plan.server.port.value, name_of(refused)));
  }
  announce(plan, site, outputs.how);
  Finished finished;
  if (writer != nullptr) {
    finished = recorded(plan, site, service, *writer, signals);
  } else {
    Reporter<Port> reporter(service, nullptr);
    finished = loop(service, service.port, service.server, reporter, signals);
  }
  ServeTotals totals = totals_of(service, service.port.now());
  totals.loop = finished.counters;
  totals.journal_bytes = writer == nullptr ? 0 : writer->bytes();
  fmt::print("{}", summary_text(totals));
  if (outputs.json != nullptr) {
    outputs.json->put(summary_json(totals, finished.ending));
    outputs.json->keep();
  }
  return conclude(finished, plan, writer);
}

Outputs outputs_of(const ServeOptions& options) {
  Outputs outputs;
  if (!options.record.empty()) {
    outputs.writer = std::make_unique<journal::Writer>(options.record);
  }
  if (!options.json.empty()) {
    outputs.json = std::make_unique<DraftFile>(options.json);
  }
  return outputs;
}

// The interface first, so that nothing is written where it cannot be had.

int serve_tap(const ServePlan& plan, const http::Site& site, const ServeOptions& options) {
  hw::TapInterface tap;
  refuse(tap.open(plan.tap));
  return serve<hw::TapPort>(plan, site, tap.take_device(), outputs_of(options));
}

int serve_packet(const ServePlan& plan, const http::Site& site, const ServeOptions& options) {
  hw::Descriptor device;
  hw::InterfaceFacts facts;
  refuse(hw::open_packet_socket({.name = plan.interface}, device, facts));
  return serve<hw::AfPacketPort>(plan, site, std::move(device), outputs_of(options));
}

int serve_xdp(const ServePlan& plan, const http::Site& site, const ServeOptions& options) {
  hw::XdpDevice device;
  hw::InterfaceFacts facts;
  refuse(hw::open_xdp({plan.interface, plan.config.mtu, plan.place}, device, facts));
  Outputs outputs = outputs_of(options);
  outputs.how = text_of(device.mode);
  return serve<hw::XdpPort>(plan, site, std::move(device), outputs);
}

}  // namespace

int run_serve_http(const ServeOptions& options) {
  ServePlan const plan = plan_of(options);
  http::Site site;
  if (!options.folder.empty()) {
    load_folder(options.folder, site);
  }
  site.complete();
  set_check_handler(on_failed_check);
  switch (plan.port) {
    case PortKind::packet:
      return serve_packet(plan, site, options);
    case PortKind::xdp:
      return serve_xdp(plan, site, options);
    case PortKind::tap:
      break;
  }
  return serve_tap(plan, site, options);
}

}  // namespace lockstep::tools
