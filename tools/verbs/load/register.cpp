// Registers the verb `load`.
#include <CLI/CLI.hpp>
#include <memory>

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
  verb.add_option("--workload", options.workload, "what is asked for, and how; one of" + names);
  verb.add_option("--connections", options.connections, "at once, at most (1)")
      ->check(CLI::Range(1, 1'000'000));
  verb.add_option("--requests-per-connection", options.requests_a_connection,
                  "then a new one is made; 0: it lasts (0)")
      ->check(CLI::Range(0, 1'000'000'000));
  verb.add_option("--pipeline", options.pipeline,
                  "requests on a connection that wait for their answers (1)")
      ->check(CLI::Range(1, 1'024));
  verb.add_option("--rate", options.rate,
                  "requests a second on schedule, whatever the answers do: latency is then "
                  "measured from the scheduled instant (a new one when the last is answered)")
      ->check(CLI::Range(1, 10'000'000));
  verb.add_flag("--poisson", options.poisson, "the schedule's pauses are exponential (all alike)");
  verb.add_option("--connect-rate", options.connects_a_second, "new connections a second at most")
      ->check(CLI::Range(1, 10'000'000));
  verb.add_option("--idle-share", options.idle_share,
                  "percent of the connections that never ask (0)")
      ->check(CLI::Range(0, 99));
  verb.add_option("--think", options.think, "pause before each request but the first (0s)");
  verb.add_option("--message", options.message,
                  "octets of an echo, or of what memcached keeps (64)")
      ->check(CLI::Range(1, 1'000'000));
  verb.add_option("--updates", options.updates, "percent of memcached's requests that set (0)")
      ->check(CLI::Range(0, 100));
  verb.add_option("--upload", options.upload,
                  "PUT so many octets to the URL's path in place of GET; of /sink the answer must "
                  "be their number and SHA-256")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40));
  verb.add_option("--close", options.close_mode,
                  "who closes first: server, client, or reset: nobody (server; client of echo)")
      ->check(CLI::IsMember({"server", "client", "reset"}));
}

void add_ends(CLI::App& verb, LoadOptions& options) {
  verb.add_option("--requests", options.requests, "ends when so many have been asked");
  verb.add_option("--duration", options.duration, "ends after so long (10s)");
  verb.add_option("--warm-up", options.warm_up, "before that, unmeasured (0s)");
  verb.add_option("--timeout", options.timeout, "of a connect, and of a request (10s)");
  verb.add_option("--fail-if", options.fail_if,
                  "exit code 1 if so, like p99>2ms, errors>0, requests/s<1000, goodput<1Mbit/s; "
                  "what failed or was never sent took for ever; may be repeated")
      ->allow_extra_args(false);
  verb.add_option("--seed", options.seed, "draws what is asked for and when (1)");
  verb.add_option("--json", options.json, "write the result here too, as report.schema.json says");
}

void add_place(CLI::App& verb, LoadOptions& options) {
  CLI::Option_group* const where = verb.add_option_group("where", "one of these");
  where->add_option("--tap", options.tap, "a TAP: made if it is not there");
  where->add_option("--iface", options.interface,
                    "an interface that is there; its link address is ours too");
  where->add_option("--sim", options.sim, "the file of a world: the target's host serves");
  where->add_option("--make-site", options.make_site,
                    "write the files that are asked for into this folder, for another server");
  where->require_option(1);
  verb.add_option("--mtu", options.mtu,
                  "octets of an IP packet, in a world of both hosts' (of a TAP and a host 1500, "
                  "else the interface's own); from 576 on the wire")
      ->check(CLI::Range(128, 65'000));
}

void add_wire(CLI::App& verb, LoadOptions& options) {
  CLI::Option_group* const wire = verb.add_option_group("on an interface");
  wire->add_option("--driver", options.driver, "of --iface")
      ->check(CLI::IsMember({"packet", "xdp", "xdp-native", "xdp-generic", "xdp-zero-copy"}))
      ->capture_default_str();
  wire->add_option("--address", options.addresses,
                   "ours and its prefix, like 10.9.0.2/24; no interface may have it. Up to 8, "
                   "which call in turn: each has 64,512 ports a target")
      ->allow_extra_args(false);
  wire->add_option("--host", options.hosts, "the kernel's own address on a TAP, like 10.9.0.1/24")
      ->allow_extra_args(false);
  wire->add_option("--gateway", options.gateway, "on the way to targets of other networks");
  wire->add_option("--profile", options.profile, "default, rfc, linux or freebsd")
      ->capture_default_str();
  wire->add_option("--window", options.window,
                   "octets that a server may have under way to us (the profile's)")
      ->check(CLI::Range(1'024, 0x3fff'ffff));
  wire->add_option("--shards", options.shards,
                   "threads, each with a stack of its own and its part of the connections, of "
                   "--requests and of --rate")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  wire->add_option("--cpus", options.cpus,
                   "the processors that the shards run on, one each, like 0,2-3 (anywhere)");
  wire->add_option("--metrics", options.metrics,
                   "ADDRESS:PORT, an address of ours: what is counted, as Prometheus reads it, at "
                   "/metrics; not together with --record");
  wire->add_option("--record", options.record,
                   "keep a journal of every input here, for lockstep replay --journal; of several "
                   "shards FILE.0, FILE.1 and so on");
  wire->add_option("--time-wait", options.time_wait,
                   "of ours, where we close first: a port is free again after that (1min)");
}

}  // namespace

void register_load(CLI::App& app, int& exit_code) {
  CLI::App* const verb = app.add_subcommand(
      "load", "Loads a server and measures it, on a Linux interface or simulated");
  auto const options = std::make_shared<LoadOptions>();
  verb->add_option("URL", options->urls,
                   "http://ADDRESS[:PORT]/PATH, echo://ADDRESS[:PORT] or "
                   "memcached://ADDRESS[:PORT]; several take turns")
      ->required();
  add_loads(*verb, *options);
  add_ends(*verb, *options);
  add_place(*verb, *options);
  add_wire(*verb, *options);
  CLI::Option_group* const simulated = verb->add_option_group("simulated");
  simulated->add_option("--from", options->from, "the host that asks (the first that can)");
  simulated
      ->add_option("--set", options->settings,
                   "NAME.FIELD=VALUE: a field of a host's Config (* for all), of a link, app or "
                   "fault; may be repeated")
      ->allow_extra_args(false);
  simulated->add_option("--pcapng", options->pcapng_folder, "write a capture of each host here");
  verb->footer(
      "Answers are checked: their form, length and, of /bytes/N and echoes, every octet.\n"
      "Exit code 1: --fail-if, nothing was answered, or an answer was wrong.\n"
      "Example: lockstep load http://10.9.0.1/ --tap lock0 --address 10.9.0.2/24 \\\n"
      "             --host 10.9.0.1/24 --connections 64 --duration 10s --fail-if 'p99>5ms'\n"
      "         lockstep load echo://10.0.0.2 --workload pingpong64 --requests 10000 \\\n"
      "             --sim tools/verbs/load/worlds/wire.toml --seed 7");
  verb->callback([options, &exit_code] { exit_code = run_load(*options); });
}

}  // namespace lockstep::tools
