// The program lockstep_ns3: runs ready-made ns-3 topologies with flows of our TCP and of ns-3's.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <string_view>

#include "tools/base/output/atomic_file.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/lib/ns3_ports/port_kind.hpp"
#include "tools/verbs/ns3_program/experiment.hpp"
#include "tools/verbs/ns3_program/options.hpp"
#include "tools/verbs/verbs.hpp"

namespace {

using namespace lockstep::tools;

int run_it(CLI::App& run, RunOptions& options) {
  auto const settings = settings_of(run, options);
  auto const result = run_experiment(settings);
  auto const json = result_json(settings, result);
  if (!settings.folder.empty()) {
    save_file(settings.folder + "/summary.json", json);
  }
  fmt::print("{}", options.json ? json : result_text(result));
  bool const all = std::ranges::all_of(result.flows, [](const auto& f) { return f.complete; });
  return static_cast<int>(all ? ExitCode::fine : ExitCode::finding);
}

/// A known cause is ns-3's TcpRateLinux, which every sender of ns-3 has.
void say_fault(int signal) {
  constexpr std::string_view line =
      "lockstep: the run ended with a memory access error: ns-3's senders do this when a "
      "receiver's buffer is much smaller than a megabyte; try --set ReceiveBufferBytes=1048576\n";
  static_cast<void>(::write(STDERR_FILENO, line.data(), line.size()) < 0);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("Runs ready-made ns-3 topologies with flows of our TCP and of ns-3's",
               "lockstep ns3");
  app.require_subcommand(1);
  app.footer("Example: lockstep ns3 run dumbbell --flows ours,newreno --seed 7 --out run");
  RunOptions options;
  CLI::App* const run = app.add_subcommand("run", "Runs one topology");
  add_run_options(*run, options);
  // The verbs that have an option for the port.
  add_port_kind(ns3_port_kind());
  int exit_code = static_cast<int>(ExitCode::fine);
  register_conformance(app, exit_code);
  register_matrix(app, exit_code);
  std::signal(SIGSEGV, say_fault);
  try {
    app.parse(count, arguments);
    return run->parsed() ? run_it(*run, options) : exit_code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);
    }
    fmt::print(stderr, "lockstep: {}; see 'lockstep ns3 --help'\n", error.what());
    return static_cast<int>(ExitCode::bad_input);
  } catch (const Failure& failure) {
    fmt::print(stderr, "lockstep: {}\n", failure.what());
    return static_cast<int>(failure.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "lockstep: {}\n", error.what());
    return static_cast<int>(ExitCode::environment);
  }
}
