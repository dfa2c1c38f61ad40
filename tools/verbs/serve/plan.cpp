// Converts options to a configuration: addresses, pools by the number of connections, keys.
#include "tools/verbs/serve/plan.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>

#include "hw/interface.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/event_log.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/lib/controllers/load.hpp"
#include "tools/lib/host/rules.hpp"
#include "tools/lib/journal/format.hpp"
#include "tools/verbs/serve/metrics.hpp"

namespace lockstep::tools {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Failure(ExitCode::bad_input, message);
}

HostAddress address_in(const std::string& option, const std::string& text) {
  auto const found = parse_address_and_prefix(text);
  if (!found) {
    refuse(
        fmt::format("{} {}: expected an address and its prefix, like 10.9.0.2/24 or "
                    "2001:db8::2/64: correct it",
                    option, text));
  }
  return {found->address, found->prefix_bits};
}

void read_addresses(const ServeOptions& options, ServePlan& plan) {
  if (options.addresses.size() > Config::addresses_max) {
    refuse(fmt::format("--address: at most {} can be given", Config::addresses_max));
  }
  for (const std::string& text : options.addresses) {
    HostAddress const ours = address_in("--address", text);
    if (auto const why = unfit_address(ours); !why.empty()) {
      refuse(fmt::format("--address {}: {}: choose a host's address", text, why));
    }
    plan.config.addresses[plan.config.address_count.value] = ours;
    ++plan.config.address_count.value;
    if (auto const clash = hw::refuse_kernel_address(ours.address)) {
      refuse(fmt::format("--address {}: {}", text, clash.text));
    }
  }
  for (const std::string& text : options.hosts) {
    HostAddress const host = address_in("--host", text);
    bool near = false;
    for (std::uint32_t i = 0; i < plan.config.address_count.value; ++i) {
      HostAddress const& ours = plan.config.addresses[i];
      if (ours.address == host.address) {
        refuse(
            fmt::format("--host {}: it is also an --address, and both would answer: choose "
                        "another",
                        text));
      }
      near = near || same_network(ours, host.address);
    }
    if (!near) {
      refuse(fmt::format(
          "--host {}: no --address is in its network: choose one in a network of --address", text));
    }
    plan.tap.hosts.push_back(host);
  }
}

void read_gateway(const ServeOptions& options, Config& config) {
  if (options.gateway.empty()) {
    return;
  }
  auto const gateway = parse_address(options.gateway);
  bool near = false;
  for (std::uint32_t i = 0; gateway && i < config.address_count.value; ++i) {
    near = near || same_network(config.addresses[i], *gateway);
  }
  if (!near || !gateway->is_v4()) {
    refuse(
        fmt::format("--gateway {}: expected an IPv4 address in a network of --address: "
                    "correct it",
                    options.gateway));
  }
  for (std::uint32_t i = 0; i < config.address_count.value; ++i) {
    if (config.addresses[i].address == *gateway) {
      refuse(fmt::format("--gateway {}: it is our own --address: give the router's address",
                         options.gateway));
    }
  }
  config.gateway = *gateway;
}

/// Draws each key, and a link address if there is none yet.
void draw_keys_of(const std::string& seed, Config& config) {
  auto const number = parse_seed(seed);
  if (!seed.empty() && !number) {
    refuse(fmt::format("--seed {}: expected a number from 0 to 18446744073709551615: correct it",
                       seed));
  }
  if (!draw_secrets(number, config)) {
    throw Failure(ExitCode::environment, "the kernel's random numbers cannot be read: give --seed");
  }
}

/// Parses the driver of the interface.
void read_driver(const ServeOptions& options, ServePlan& plan) {
  if (!options.tap.empty()) {
    if (options.driver != "packet") {
      refuse("--driver: it does not apply to --tap; give --iface and an existing interface");
    }
    return;
  }
  plan.port = options.driver == "packet" ? PortKind::packet : PortKind::xdp;
  if (options.driver == "xdp-native") {
    plan.place = hw::XdpPlace::native;
  } else if (options.driver == "xdp-generic") {
    plan.place = hw::XdpPlace::generic;
  } else if (options.driver == "xdp-zero-copy") {
    plan.place = hw::XdpPlace::native;
    plan.must_be_zero_copy = true;
  }
}

/// The stack uses the controller of --controller.
void read_controller(const ServeOptions& options, Config& config) {
  if (options.controller.empty()) {
    return;
  }
  if (!options.record.empty()) {
    refuse("--controller: a journal is replayed without it: leave out --record");
  }
  config.tcp.congestion = congestion_of(options.controller);
}

/// Determines the interface. If it exists already, its MTU and link address are used.
Bytes read_interface(const ServeOptions& options, ServePlan& plan) {
  read_driver(options, plan);
  bool const on_tap = plan.port == PortKind::tap;
  plan.interface = on_tap ? options.tap : options.interface;
  if (on_tap) {
    plan.tap.name = options.tap;
    plan.tap.mtu = Bytes{options.mtu == 0 ? 1500 : options.mtu};
    return plan.tap.mtu;
  }
  if (!options.hosts.empty()) {
    refuse("--host: it applies to --tap only; give " + options.interface +
           " its address with `ip address add`");
  }
  hw::InterfaceFacts facts;
  if (auto const trouble = hw::look_at(options.interface, facts)) {
    throw Failure(
        trouble.kind == hw::TroubleKind::bad_input ? ExitCode::bad_input : ExitCode::environment,
        "--iface: " + trouble.text);
  }
  plan.config.mac = facts.mac;
  if (options.mtu > facts.mtu.count) {
    refuse(fmt::format(
        "--mtu {}: the MTU of {} is {}: `ip link set dev {} mtu {}`, or a smaller --mtu",
        options.mtu, options.interface, facts.mtu.count, options.interface, options.mtu));
  }
  return options.mtu == 0 ? Bytes{std::min(facts.mtu.count, interface_mtu_max)}
                          : Bytes{options.mtu};
}

/// The number of connections of a shard: a quarter more than its part, as flows are not spread
/// evenly.
std::uint32_t share_of(std::uint32_t connections, ShardCount shards) {
  std::uint32_t const part = (connections + shards.value - 1) / shards.value;
  return shards.value == 1 ? connections : part + part / 4 + 1;
}

void read_shards(const ServeOptions& options, ServePlan& plan) {
  plan.shards = {options.shards};
  plan.config.tcp.shards = Count{options.shards};
  plan.tap.queues = Count{options.shards};
  if (options.cpus.empty()) {
    return;
  }
  if (auto const trouble = hw::parse_cpus(options.cpus, plan.cpus)) {
    refuse("--cpus: " + trouble.text);
  }
  if (plan.cpus.size() != options.shards) {
    refuse(fmt::format("--cpus {}: {} processors for {} shards: give one for each", options.cpus,
                       plan.cpus.size(), options.shards));
  }
  std::vector<hw::Cpu> const allowed = hw::allowed_cpus();
  for (hw::Cpu const each : plan.cpus) {
    if (std::find(allowed.begin(), allowed.end(), each) == allowed.end()) {
      refuse(
          fmt::format("--cpus {}: this program may not run on processor {}: `taskset -cp $$` "
                      "lists those where it may",
                      options.cpus, each.number));
    }
  }
}

Endpoint metrics_of(const ServeOptions& options, const ServePlan& plan) {
  Endpoint const place = metrics_place(options.metrics);
  bool ours = false;
  for (std::uint32_t i = 0; i < plan.config.address_count.value; ++i) {
    ours = ours || plan.config.addresses[i].address == place.address;
  }
  if (!ours) {
    refuse(fmt::format("--metrics {}: not one of --address: choose one of them", options.metrics));
  }
  if (place.port.value == options.port) {
    refuse(fmt::format("--metrics {}: --port uses this port: choose another", options.metrics));
  }
  if (!options.record.empty()) {
    refuse(
        "--metrics: a journal does not hold the other shards' counters, so it could not be "
        "replayed: leave out --record or --metrics");
  }
  return place;
}

void read_time(const char* option, const std::string& text, Duration& into) {
  if (text.empty()) {
    return;
  }
  auto const time = parse_duration(text);
  if (!time || time->ns == 0) {
    refuse(fmt::format("{} {}: expected a time with a unit, like 30s or 500ms: correct it", option,
                       text));
  }
  into = *time;
}

void read_limits(const ServeOptions& options, http::ServerSettings& server) {
  read_time("--idle", options.idle, server.idle);
  read_time("--grace", options.grace, server.grace);
  if (options.shards > 1 && options.per_client != 0 && options.per_client < options.shards) {
    refuse(fmt::format("--per-client {}: less than one for each of {} shards: raise it",
                       options.per_client, options.shards));
  }
  server.per_client = options.per_client == 0 ? 0 : share_of(options.per_client, {options.shards});
}

void read_capture(const ServeOptions& options, CaptureSettings& capture) {
  capture.path = options.pcapng;
  capture.files = options.pcapng_files;
  capture.force = options.force;
  if (options.pcapng_size.empty()) {
    return;
  }
  constexpr std::uint64_t least = 65'536;
  auto const octets = parse_bytes(options.pcapng_size);
  if (!octets || *octets < least) {
    refuse(
        fmt::format("--pcapng-size {}: expected a size of at least 64KiB, like 64MiB: correct it",
                    options.pcapng_size));
  }
  capture.file_octets = *octets;
}

/// Checks that memory suffices: later each shard makes its stack in its own thread, where failure
/// could not be reported.
void check_memory(const ServeOptions& options, const ServePlan& plan) {
  // for the application and the threads
  std::uint64_t const beside = std::uint64_t{64} << 20;
  std::uint64_t const one = Stack::arena_bytes(plan.config);
  std::uint64_t const wanted = (one + one / 8) * plan.shards.value + beside;
  // Tries to map the memory; nothing of it is touched.
  void* const tried =
      mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (tried == MAP_FAILED) {
    throw Failure(
        ExitCode::environment,
        fmt::format("not enough memory: {} MiB are needed for {} connections: choose fewer "
                    "--connections, or raise the limit (ulimit -v)",
                    wanted >> 20, options.connections));
  }
  munmap(tried, wanted);
}

/// The journals of all shards, with those of --record-on.
std::vector<std::string> journal_names(const ServeOptions& options) {
  std::vector<std::string> out;
  for (std::uint32_t i = 0; !options.record.empty() && i < options.shards; ++i) {
    out.push_back(options.shards == 1 ? options.record : fmt::format("{}.{}", options.record, i));
    std::string const name = out.back();
    for (std::uint32_t file = 2;
         !options.record_on.empty() && file <= journal::FlightRecorder::files_max; ++file) {
      out.push_back(fmt::format("{}-{}", name, file));
    }
  }
  return out;
}

/// Output files must differ.
void check_outputs(const ServeOptions& options) {
  std::string const socket = options.control == "none" ? "" : options.control;
  std::array<std::string, 3> const others{options.json, options.access_log, socket};
  std::vector<std::string> const journals = journal_names(options);
  for (std::size_t i = 0; i < others.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      refuse_same_output(others[j], others[i]);
    }
    for (const std::string& journal : journals) {
      refuse_same_output(journal, others[i]);
    }
  }
  if (options.pcapng.empty()) {
    return;
  }
  auto const refuse_capture = [&](const std::string& name) {
    if (std::uint32_t const number = capture_number(name); number != 0) {
      refuse_same_output(capture_name(options.pcapng, number), name);
    }
  };
  std::ranges::for_each(others, refuse_capture);
  std::ranges::for_each(journals, refuse_capture);
}

/// A snapshot must fit into one record of a journal.
void check_snapshot(const ServeOptions& options, const Config& config) {
  std::uint64_t const most =
      Stack::arena_bytes(config) + http::Server::snapshot_bytes_max(config.tcp.connections_max);
  if (most + 1024 > journal::record_max) {
    refuse(
        fmt::format("--record-on: the state of {} connections takes up to {} octets, and a record "
                    "of a journal holds {}: choose fewer --connections, or more --shards",
                    options.connections, most, journal::record_max));
  }
}

}  // namespace

ServePlan plan_of(const ServeOptions& options) {
  ServePlan plan;
  plan.role = options.role;
  plan.control = options.control;
  set_log_format(options.log == "json" ? LogFormat::json : LogFormat::text);
  auto const profile = profile_by_name(options.profile);
  if (!profile) {
    refuse(fmt::format("--profile {}: choose one of default, rfc, linux and freebsd",
                       options.profile));
  }
  plan.config = *profile;
  read_controller(options, plan.config);
  plan.config.address_count = Count{0};
  // Half a second, in place of RFC 5227's four to seven: a server that starts again answers soon.
  plan.config.address_probes = Count{3};
  plan.config.address_probe_interval = Duration::milliseconds(150);
  check_outputs(options);
  read_capture(options, plan.capture);
  plan.confined = options.seccomp == "on" && can_confine();
  if (!options.user.empty()) {
    plan.user = run_as(options.user);
  }
  Bytes const mtu = read_interface(options, plan);
  read_addresses(options, plan);
  read_gateway(options, plan.config);
  set_mtu(plan.config, mtu);
  read_shards(options, plan);
  if (!options.metrics.empty()) {
    plan.metrics = metrics_of(options, plan);
  }
  if (!options.record_on.empty()) {
    if (options.record.empty()) {
      refuse("--record-on: it needs a file: give --record as well");
    }
    plan.record_on = journal::parse_troubles(options.record_on);
  }
  if (!options.spin.empty()) {
    auto const spin = parse_duration(options.spin);
    if (!spin) {
      refuse(fmt::format("--spin {}: expected a time with a unit, like 50us or 0us: correct it",
                         options.spin));
    }
    plan.loop.spin = *spin;
  }
  if (options.window != 0) {
    plan.config.tcp.receive_buffer = Bytes{options.window};
    plan.config.tcp.receive_buffer_max = Bytes{options.window};
  }
  size_pools(plan.config.tcp, Count{share_of(options.connections, plan.shards)});
  draw_keys_of(options.seed, plan.config);
  plan.server.port = Port{static_cast<std::uint16_t>(options.port)};
  read_limits(options, plan.server);
  plan.server.backlog.pending = Count{std::max(128u, std::min(options.connections, 65'535u))};
  if (auto const fault = fault_of(plan.config); !fault.empty()) {
    refuse(fmt::format("these options do not fit each other: {}", fault));
  }
  if (plan.record_on) {
    check_snapshot(options, plan.config);
  }
  check_memory(options, plan);
  return plan;
}

}  // namespace lockstep::tools
