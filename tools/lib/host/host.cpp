// The C calls of host.h.
#include "tools/lib/host/host.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "hw/af_packet/port.hpp"
#include "hw/af_packet/setup.hpp"
#include "hw/af_xdp/port.hpp"
#include "hw/af_xdp/setup.hpp"
#include "hw/tap/port.hpp"
#include "tools/lib/host/engine.hpp"
#include "tools/lib/host/plan.hpp"
#include "tools/lib/host/table_port.hpp"

namespace lockstep::tools {
namespace {

// Why this thread could not open a host.
thread_local std::string not_opened;

void refuse_trouble(const hw::Trouble& trouble) {
  if (trouble) {
    throw HostRefused(trouble.text);
  }
}

hw::PortShape shape_of(const HostPlan& plan) {
  return {plan.config.mtu, plan.config.burst_frames, plan.interface};
}

void open_tap(const HostPlan& plan, lockstep_host& host) {
  refuse_trouble(host.tap.open(plan.tap));
  host.engine =
      std::make_unique<EngineOn<hw::TapPort>>(plan, host.tap.take_device(), shape_of(plan));
  host.description = "the TAP " + plan.interface;
}

void open_packet(const HostPlan& plan, lockstep_host& host) {
  hw::Descriptor socket;
  hw::InterfaceFacts facts;
  refuse_trouble(hw::open_packet_socket({.name = plan.interface}, socket, facts));
  host.engine =
      std::make_unique<EngineOn<hw::AfPacketPort>>(plan, std::move(socket), shape_of(plan));
  host.description = plan.interface + " (packet socket)";
}

void open_xdp(const HostPlan& plan, lockstep_host& host) {
  std::vector<hw::XdpDevice> devices;
  hw::InterfaceFacts facts;
  refuse_trouble(
      hw::open_xdp_queues({plan.interface, plan.config.mtu, plan.place, plan.must_be_zero_copy},
                          Count{1}, {}, devices, facts));
  host.description = plan.interface + " (" + text_of(devices.front().mode) + ")";
  host.engine =
      std::make_unique<EngineOn<hw::XdpPort>>(plan, std::move(devices.front()), shape_of(plan));
}

/// The caller's table, with NULL for members that it does not have yet.
lockstep_driver whole_table(const lockstep_driver* given) {
  if (given == nullptr || given->size < offsetof(lockstep_driver, wait)) {
    throw HostRefused(
        "the driver's size is less than that of its first functions: set size to "
        "sizeof(struct lockstep_driver)");
  }
  lockstep_driver table{};
  std::memcpy(&table, given, std::min(given->size, sizeof table));
  if (table.now == nullptr || table.poll == nullptr || table.send == nullptr) {
    throw HostRefused("the driver lacks now, poll or send: only wait and descriptor may be NULL");
  }
  if (table.now(table.user) < hw::MonotonicClock::start.ns) {
    throw HostRefused("the driver's clock shows less than a second: add 1000000000 to it");
  }
  return table;
}

void open_table(const HostPlan& plan, const lockstep_driver* driver, lockstep_host& host) {
  lockstep_driver const table = whole_table(driver);
  host.engine = std::make_unique<EngineOn<TablePort>>(plan, table, plan.config.mtu);
  host.description = "a driver of the program's own";
}

void open_port(const HostPlan& plan, const lockstep_driver* driver, lockstep_host& host) {
  switch (plan.port) {
    case HostPort::tap:
      return open_tap(plan, host);
    case HostPort::packet:
      return open_packet(plan, host);
    case HostPort::xdp:
      return open_xdp(plan, host);
    case HostPort::table:
      return open_table(plan, driver, host);
  }
}

std::string too_large(const Config& config) {
  return "not enough memory: " + std::to_string(Stack::arena_bytes(config) >> 20) +
         " MiB are needed for " + std::to_string(config.tcp.connections_max.value) +
         " connections and " + std::to_string(config.tcp.blocks_max.value) +
         " blocks of data: give connections or blocks_max less, or raise the limit (ulimit -v)";
}

lockstep_host* open_host(const char* const* options, const lockstep_driver* driver, HostKind kind) {
  HostPlan plan;
  try {
    plan = host_plan_of(options, kind);
    auto host = std::make_unique<lockstep_host>();
    open_port(plan, driver, *host);
    refuse_trouble(host->engine->stop.open());
    host->interface = plan.interface;
    host->description = plan.addresses + " on " + host->description + ", MTU " +
                        std::to_string(plan.config.mtu.count);
    not_opened.clear();
    return host.release();
  } catch (const HostRefused& refused) {
    not_opened = refused.what();
  } catch (const std::bad_alloc&) {
    not_opened = too_large(plan.config);
  }
  return nullptr;
}

/// Notes why the host is over.
void note_ending(lockstep_host& host) {
  switch (host.engine->ending()) {
    case hw::Ending::gone:
      host.error = host.interface + " was deleted: make it again, and open the host anew";
      break;
    case hw::Ending::stopped:
      host.error = "the host was stopped as requested";
      break;
    case hw::Ending::abandoned:
      host.error = "the host was stopped, and open connections were aborted";
      break;
  }
}

}  // namespace
}  // namespace lockstep::tools

using lockstep::Duration;
using lockstep::Instant;
using lockstep::hw::Ending;
using lockstep::hw::Step;

lockstep_host* lockstep_host_open(const char* const* options) {
  return lockstep::tools::open_host(options, nullptr, lockstep::tools::HostKind::interface);
}

lockstep_host* lockstep_host_on_driver(const lockstep_driver* driver, const char* const* options) {
  return lockstep::tools::open_host(options, driver, lockstep::tools::HostKind::driver);
}

void lockstep_host_close(lockstep_host* host) { delete host; }

const char* lockstep_host_error(const lockstep_host* host) {
  return host == nullptr ? lockstep::tools::not_opened.c_str() : host->error.c_str();
}

const char* lockstep_host_description(const lockstep_host* host) {
  return host->description.c_str();
}

lockstep_sockets* lockstep_host_sockets(lockstep_host* host) { return host->engine->sockets().c(); }

int lockstep_host_run(lockstep_host* host) {
  host->error.clear();
  Ending const ending = host->engine->run();
  if (ending == Ending::gone) {
    lockstep::tools::note_ending(*host);
    return -1;
  }
  return ending == Ending::stopped ? 0 : 1;
}

void lockstep_host_stop(lockstep_host* host) { host->engine->stop.ask(); }

int lockstep_host_stop_on_signals(lockstep_host* host) {
  auto const trouble = host->engine->stop.take_signals();
  host->error = trouble.text;
  return trouble ? -1 : 0;
}

int lockstep_host_turn(lockstep_host* host, int64_t timeout) {
  host->error.clear();
  auto const most =
      timeout < 0 ? std::nullopt : std::optional(Duration{static_cast<std::uint64_t>(timeout)});
  Step did = host->engine->step();
  if (did == Step::idle && timeout != 0 && host->engine->rest(most)) {
    did = host->engine->step();
  }
  if (did == Step::over) {
    lockstep::tools::note_ending(*host);
    return -1;
  }
  return did == Step::worked ? 1 : 0;
}

int lockstep_host_prepare(lockstep_host* host, pollfd* entry) {
  constexpr std::uint64_t millisecond = 1'000'000;
  lockstep::hw::WaitFor const what = host->engine->awaited();
  entry->fd = what.frames;
  entry->events = static_cast<short>(POLLIN | (what.room ? POLLOUT : 0));
  entry->revents = 0;
  if (what.until.is_never()) {
    return -1;
  }
  std::uint64_t const left = what.until.since(host->engine->now()).ns;
  std::uint64_t const most = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(left / millisecond + (left % millisecond != 0 ? 1 : 0), most));
}

uint64_t lockstep_host_deadline(const lockstep_host* host) {
  return host->engine->awaited().until.ns;
}
