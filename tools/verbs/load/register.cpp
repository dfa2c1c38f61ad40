// Registers the verb `load`.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/base/options/config_file.hpp"
#include "tools/verbs/load/options.hpp"
#include "tools/verbs/load/workloads.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

void add_loads(CLI::App& verb, LoadOptions& options) {
  std::string names;
  for (const Workload& each : workloads) {
    names += "\n  " + std::string(each.id) + ": " + std::string(each.what);
  }
  verb.add_option("--workload", options.workload, "a predefined load, one of" + names);
  verb.add_option("--connections", options.connections,
                  "connections open at the same time (default: 1)")
      ->check(CLI::Range(1, 1'000'000));
  verb.add_option(
          "--requests-per-connection", options.requests_a_connection,
          "open a new connection after this number of requests; 0: connections stay open (default: "
          "0)")
      ->check(CLI::Range(0, 1'000'000'000));
  verb.add_option("--pipeline", options.pipeline,
                  "unanswered requests allowed on a connection (default: 1)")
      ->check(CLI::Range(1, 1'024));
  verb.add_option(
          "--rate", options.rate,
          "open loop: requests per second on a schedule that does not wait for answers; "
          "latency counts from the scheduled instant (default: closed loop, the next request "
          "follows the answer)")
      ->check(CLI::Range(1, 10'000'000));
  verb.add_flag("--poisson", options.poisson,
                "exponential gaps between scheduled requests (default: equal)");
  verb.add_option("--connect-rate", options.connects_a_second,
                  "new connections per second, at most")
      ->check(CLI::Range(1, 10'000'000));
  verb.add_option("--idle-share", options.idle_share,
                  "percent of the connections that send no request (default: 0)")
      ->check(CLI::Range(0, 99));
  verb.add_option("--think", options.think,
                  "pause before each request but the first (default: 0s)");
  verb.add_option("--message", options.message,
                  "octets of an echo, or of a value in memcached (default: 64)")
      ->check(CLI::Range(1, 1'000'000));
  verb.add_option("--updates", options.updates,
                  "percent of memcached's requests that are set (default: 0)")
      ->check(CLI::Range(0, 100));
  verb.add_option(
          "--upload", options.upload,
          "PUT this number of octets to the URL's path instead of GET; /sink must answer with that "
          "number and the SHA-256")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40));
  verb.add_option(
          "--close", options.close_mode,
          "the side that closes first: server or client; reset: the client aborts (default: "
          "server; with echo: client)")
      ->check(CLI::IsMember({"server", "client", "reset"}));
}

void add_ends(CLI::App& verb, LoadOptions& options) {
  verb.add_option("--requests", options.requests, "end after this number of requests");
  verb.add_option("--duration", options.duration, "end after this time (default: 10s)");
  verb.add_option("--warm-up", options.warm_up, "time before the measurement begins (default: 0s)");
  verb.add_option("--timeout", options.timeout, "for a connect, and for a request (default: 10s)");
  verb.add_option("--fail-if", options.fail_if,
                  "exit code 1 if this holds, like p99>2ms, errors>0, requests/s<1000, "
                  "goodput<1Mbit/s; a request that failed or was never sent counts as infinite "
                  "latency; may be repeated")
      ->allow_extra_args(false);
  verb.add_option("--seed", options.seed, "seed of what is requested and when (default: 1)");
  verb.add_option("--json", options.json,
                  "also write the result to this file, as report.schema.json describes");
}

void add_place(CLI::App& verb, LoadOptions& options) {
  CLI::Option_group* const where = verb.add_option_group("where", "one of these");
  where->add_option("--tap", options.tap, "a TAP interface; created if it does not exist");
  where->add_option("--iface", options.interface,
                    "an existing interface, whose link address we use too");
  where->add_option("--sim", options.sim,
                    "a simulated world's file; the host with the target's address is the server");
  where->add_option(
      "--make-site", options.make_site,
      "only write the files that the load requests to this folder, for another server");
  where->require_option(1);
  verb.add_option(
      "--controller", options.controller,
      "a shared object with a congestion controller: on an interface that of our stack; "
      "in a world one that a host's congestion must name, as by --set HOST.congestion=NAME");
  verb.add_option(
          "--mtu", options.mtu,
          "largest IP packet in octets, at least 576 on an interface; in a world that of both "
          "hosts (default: 1500 on a TAP and in a world, else the interface's MTU)")
      ->check(CLI::Range(128, 65'000));
}

void add_wire(CLI::App& verb, LoadOptions& options) {
  CLI::Option_group* const wire = verb.add_option_group("on an interface");
  wire->add_option("--driver", options.driver, "driver for --iface")
      ->check(CLI::IsMember({"packet", "xdp", "xdp-native", "xdp-generic", "xdp-zero-copy"}))
      ->capture_default_str();
  wire->add_option("--address", options.addresses,
                   "our address and prefix, like 10.9.0.2/24, which no interface of the kernel may "
                   "have. Up to 8, used in turn: each has 64,512 ports per target")
      ->allow_extra_args(false);
  wire->add_option("--host", options.hosts,
                   "the address to give the kernel on a TAP, like 10.9.0.1/24")
      ->allow_extra_args(false);
  wire->add_option("--gateway", options.gateway, "router to targets in other networks");
  wire->add_option("--profile", options.profile,
                   "profile of our stack: default, rfc, linux or freebsd")
      ->capture_default_str();
  wire->add_option("--window", options.window, "receive window in octets (default: the profile's)")
      ->check(CLI::Range(1'024, 0x3fff'ffff));
  wire->add_option("--shards", options.shards,
                   "threads, each with its own stack and its part of the connections, of "
                   "--requests and of --rate")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  wire->add_option("--cpus", options.cpus,
                   "processors to pin the shards to, one each, like 0,2-3 (default: not pinned)");
  wire->add_option(
      "--metrics", options.metrics,
      "ADDRESS:PORT, one of our addresses: serve the counters at /metrics, in Prometheus' "
      "format; not together with --record");
  wire->add_option(
          "--log", options.log,
          "events on standard error: text, or json, a line each, which also has begin and end")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  wire->add_option("--control", options.control,
                   "path of the socket for `lockstep ss`; none: no socket (default: "
                   "/run/lockstep/PID.sock)");
  wire->add_option(
      "--record", options.record,
      "write a journal of every input to this file, for lockstep replay --journal; with "
      "several shards FILE.0, FILE.1 and so on; an existing file is refused");
  wire->add_flag("--force", options.force, "with --record: overwrite existing files");
  wire->add_option("--time-wait", options.time_wait,
                   "TIME-WAIT of connections that we close first; then the port can be reused "
                   "(default: 1min)");
}

}  // namespace

void register_load(CLI::App& app, int& exit_code) {
  CLI::App* const verb = app.add_subcommand(
      "load", "Generates load for a server and measures it, on a Linux interface or simulated");
  auto const options = std::make_shared<LoadOptions>();
  verb->add_option("URL,--url", options->urls,
                   "http://ADDRESS[:PORT]/PATH, echo://ADDRESS[:PORT] or "
                   "memcached://ADDRESS[:PORT]; several are used in turn")
      ->required();
  add_loads(*verb, *options);
  add_ends(*verb, *options);
  add_place(*verb, *options);
  add_wire(*verb, *options);
  CLI::Option_group* const simulated = verb->add_option_group("simulated");
  simulated->add_option("--from", options->from,
                        "the client host (default: the first that is not a target)");
  simulated
      ->add_option(
          "--set", options->settings,
          "NAME.FIELD=VALUE: set a field of a host's Config (* for all hosts), of a link, app "
          "or fault; may be repeated")
      ->allow_extra_args(false);
  simulated->add_option("--pcapng", options->pcapng_folder,
                        "in a world: write a capture of each host to this folder; on an interface: "
                        "to FILE-00001.pcapng and so on, as serve does");
  verb->footer(
      "Answers are checked: syntax, length and, for /bytes/N and echoes, every octet.\n"
      "Exit code 1: --fail-if, no request was answered, or an answer was wrong.\n"
      "Example: lockstep load http://10.9.0.1/ --tap lock0 --address 10.9.0.2/24 \\\n"
      "             --host 10.9.0.1/24 --connections 64 --duration 10s --fail-if 'p99>5ms'\n"
      "         lockstep load echo://10.0.0.2 --workload pingpong64 --requests 10000 \\\n"
      "             --sim tools/verbs/load/worlds/wire.toml --seed 7");
  add_config_options(*verb, [options, &exit_code] { exit_code = run_load(*options); });
}

}  // namespace lockstep::tools
