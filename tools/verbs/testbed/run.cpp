// Builds the topology, runs the server and two loads in it, and reads the counters when all have
// ended.
#include <fmt/core.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>

#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/progress.hpp"
#include "tools/base/output/table.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/units.hpp"
#include "tools/verbs/testbed/options.hpp"
#include "tools/verbs/testbed/report.hpp"
#include "tools/verbs/testbed/topology.hpp"

namespace lockstep::tools {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t interrupted = 0;

/// On SIGINT or SIGTERM everything is removed in order, and the counts so far are printed.
void heed_signals() {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = 1; };
  for (int const each : {SIGINT, SIGTERM, SIGHUP}) {
    ::sigaction(each, &action, nullptr);
  }
}

std::string bare(const std::string& address) { return address.substr(0, address.find('/')); }

Words program(const End& end, const std::string& address, Words words) {
  words.insert(words.begin(), std::filesystem::read_symlink("/proc/self/exe").string());
  for (const char* const each : {"--driver", "packet", "--iface"}) {
    words.emplace_back(each);
  }
  words.insert(words.end(), {end.interface, "--address", address, "--json", Child::report_path});
  if (!end.gateway.empty()) {
    words.insert(words.end(), {"--gateway", end.gateway});
  }
  return words;
}

std::unique_ptr<Child> start_server(const TestbedOptions& options, const End& end) {
  constexpr milliseconds patience{20'000};
  auto server = std::make_unique<Child>(
      *end.where,
      program(end, end.addresses.front(),
              {"serve", "http", "--connections", std::to_string(options.connections * 2 + 64)}));
  Clock::time_point const begun = Clock::now();
  while (server->out().find('\n') == std::string::npos) {
    bool const more = Child::attend({server.get()}, milliseconds(100));
    if (!more || Clock::now() - begun > patience) {
      int const code = more ? 3 : server->wait();
      throw Failure(code == 2 ? ExitCode::bad_input : ExitCode::environment,
                    fmt::format("the server: {}", more ? "it did not start: check the machine's "
                                                         "load"
                                                       : first_line(server->errors())));
    }
  }
  return server;
}

std::unique_ptr<Child> start_load(const TestbedOptions& options, const Topology& topology,
                                  std::size_t which) {
  const End& end = topology.client();
  bool const up = which == 1;
  std::string const to = bare(topology.server().addresses.front());
  std::string const size = std::to_string(options.size);
  Words words{"load",          fmt::format("http://{}{}", to, up ? "/sink" : "/bytes/" + size),
              "--connections", std::to_string(options.connections),
              "--duration",    options.duration,
              "--timeout",     options.timeout};
  if (up) {
    words.insert(words.end(), {"--upload", size});
  }
  return std::make_unique<Child>(*end.where, program(end, end.addresses[which], words));
}

/// Waits until both loads have ended, or were asked to end by a signal.
void await(const std::array<std::unique_ptr<Child>, 2>& loads, Child& server, Duration lasts) {
  Progress progress;
  Clock::time_point const begun = Clock::now();
  bool signalled = false;
  while (!loads[0]->is_over() || !loads[1]->is_over()) {
    Child::attend({loads[0].get(), loads[1].get(), &server}, milliseconds(100));
    if (interrupted != 0 && !signalled) {
      signalled = true;
      for (auto const& each : loads) {
        each->send(SIGINT);
      }
    }
    auto const passed = std::chrono::duration_cast<milliseconds>(Clock::now() - begun).count();
    progress.draw(static_cast<std::uint64_t>(passed), lasts.ns / 1'000'000, "both loads run");
  }
}

/// Waits until no counter changes any more, so that frames in flight have arrived.
Reconciled settle(const Topology& topology) {
  constexpr int most = 50;
  Counted before = topology.count();
  for (int i = 0; i < most; ++i) {
    ::poll(nullptr, 0, 100);
    Counted now = topology.count();
    if (now == before) {
      break;
    }
    before = std::move(now);
  }
  return reconcile(before);
}

LoadOutcome outcome_of(const std::string& name, Child& load) {
  int const code = load.wait();
  return {name, code, first_line(load.errors()), load.report()};
}

}  // namespace

int run_testbed(const TestbedOptions& options) {
  auto const lasts = parse_duration(options.duration);
  if (!lasts || lasts->ns == 0) {
    throw Failure(ExitCode::bad_input, fmt::format("--duration {}: expected a time like 5s or "
                                                   "500ms: correct it",
                                                   options.duration));
  }
  std::unique_ptr<AtomicFile> json;
  if (!options.json.empty()) {
    json = std::make_unique<AtomicFile>(options.json);
  }
  heed_signals();
  Topology const topology(options);
  TestbedResult result;
  {
    auto const server = start_server(options, topology.server());
    std::array<std::unique_ptr<Child>, 2> const loads{start_load(options, topology, 0),
                                                      start_load(options, topology, 1)};
    await(loads, *server, *lasts);
    result.loads = {outcome_of("download", *loads[0]), outcome_of("upload", *loads[1])};
    server->send(SIGINT);
    server->wait();
    result.server_json = server->report();
  }
  for (const LoadOutcome& each : result.loads) {
    if (each.code == 2) {
      throw Failure(ExitCode::bad_input, fmt::format("the {}: {}", each.name, each.error));
    }
  }
  result.account = settle(topology);
  fmt::print("{}", testbed_text(options, result, terminal_columns()));
  if (json != nullptr) {
    json->put(testbed_json(options, result));
    json->keep();
  }
  return static_cast<int>(result.is_fine() ? ExitCode::fine : ExitCode::finding);
}

}  // namespace lockstep::tools
