// Registers the verb `serve`.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/base/options/config_file.hpp"
#include "tools/verbs/serve/calls.hpp"
#include "tools/verbs/serve/plain.hpp"
#include "tools/verbs/serve/serve.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

namespace {

void register_calls(CLI::App& serve, int& exit_code) {
  CLI::App* const verb = serve.add_subcommand(
      "calls", "Runs our stack on a Linux TAP, driven by calls that are read from standard input");
  auto const options = std::make_shared<CallsOptions>();
  verb->add_option("--tap", options->tap, "the interface; created if it does not exist")
      ->required();
  verb->add_option("--address", options->addresses, "our address and its prefix")->required();
  verb->add_option("--neighbour", options->neighbours,
                   "ADDRESS=MAC: a static neighbour; the first is the peer of connect")
      ->required();
  verb->add_option("--set", options->fields,
                   "FIELD=VALUE: set a field of Config, see `lockstep profiles`");
  verb->add_option("--profile", options->profile,
                   "profile of the stack: rfc, default, linux or freebsd")
      ->capture_default_str();
  verb->add_option("--mac", options->mac, "our MAC address")->capture_default_str();
  verb->add_option("--mtu", options->mtu, "largest IP packet in octets")
      ->check(CLI::Range(576, 65'000))
      ->capture_default_str();
  verb->add_option("--seed", options->seed, "seed of the stack's keys")->capture_default_str();
  verb->footer(
      "Each line is a call: [\"listen\", 80], [\"unlisten\"], [\"accept\"], [\"connect\", 80, "
      "5000],\n"
      "[\"write\", 1, \"68690a\"], [\"read\", 1, 100], [\"finish\", 1], [\"close\", 1],\n"
      "[\"abort\", 1], [\"state\", 80, 5000]. Each answer is a line: {\"value\": ...} or\n"
      "{\"error\": \"...\"}.\n"
      "Ends at the end of standard input. Used by `pytest --target tap:lockstep`.\n"
      "Example: lockstep serve calls --tap lock0 --address 10.0.0.1/24 \\\n"
      "             --neighbour 10.0.0.2=02:00:00:00:00:02");
  verb->callback([options, &exit_code] { exit_code = run_serve_calls(*options); });
}

/// The options of the interface, and of the stack on it.
void add_place(CLI::App& verb, ServeOptions& options) {
  CLI::Option_group* const where = verb.add_option_group("where", "one of these");
  where->add_option("--tap", options.tap, "a TAP interface; created if it does not exist");
  where->add_option("--iface", options.interface,
                    "an existing interface, whose link address we use too");
  where->require_option(1);
  verb.add_option("--driver", options.driver,
                  "driver for --iface: packet (a packet socket), xdp (AF_XDP, native if the "
                  "interface's driver supports it), xdp-native, xdp-generic, or xdp-zero-copy (an "
                  "error if it would copy)")
      ->check(CLI::IsMember({"packet", "xdp", "xdp-native", "xdp-generic", "xdp-zero-copy"}))
      ->capture_default_str();
  verb.add_option(
          "--address", options.addresses,
          "our address and prefix, like 10.9.0.2/24, which no interface of the kernel may have")
      ->required();
  verb.add_option("--host", options.hosts,
                  "the address to give the kernel on the TAP, like 10.9.0.1/24");
  verb.add_option("--gateway", options.gateway, "router to clients in other networks");
  verb.add_option("--port", options.port, "port to listen on")
      ->check(CLI::Range(1, 65'535))
      ->capture_default_str();
  verb.add_option("--profile", options.profile,
                  "profile of our stack: default, rfc, linux or freebsd")
      ->capture_default_str();
  verb.add_option("--controller", options.controller,
                  "a shared object with the congestion controller of our stack; "
                  "sim/examples/controllers/README.md");
  verb.add_option("--mtu", options.mtu,
                  "largest IP packet in octets (default: 1500 on a TAP, else the interface's MTU)")
      ->check(CLI::Range(576, 65'000));
  verb.add_option("--window", options.window, "receive window in octets (default: the profile's)")
      ->check(CLI::Range(1'024, 0x3fff'ffff));
  verb.add_option(
      "--spin", options.spin,
      "poll for this long after the last turn that had work, then sleep (default: 50us)");
  verb.add_option("--connections", options.connections,
                  "connections open at the same time, at most")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb.add_option("--control", options.control,
                  "path of the socket for `lockstep ss`, with mode 0600; none: no socket (default: "
                  "/run/lockstep/PID.sock)");
  verb.add_option("--user", options.user,
                  "USER or USER:GROUP: change to it once the interface is open; files and the "
                  "control socket must be in folders of that user");
  verb.add_option("--seccomp", options.seccomp,
                  "on: only the system calls that a server makes are allowed once it runs; off")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  verb.add_option("--log", options.log,
                  "events on standard error, such as a full disk or an address conflict: text, or "
                  "json, a line each, which also has begin and end")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  verb.add_option("--json", options.json, "also write the summary to this file");
}

/// The number of shards, and their processors.
void add_shards(CLI::App& verb, ServeOptions& options) {
  verb.add_option("--shards", options.shards,
                  "threads, each with its own stack and its share of the flows")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  verb.add_option("--cpus", options.cpus,
                  "processors to pin the shards to, one each, like 0,2-3 (default: not pinned)");
}

/// The options of journal and metrics.
void add_books(CLI::App& verb, ServeOptions& options, const std::string& more) {
  verb.add_option("--metrics", options.metrics,
                  "ADDRESS:PORT, one of our addresses: serve the counters at /metrics, in "
                  "Prometheus' format" +
                      more + "; not together with --record");
  verb.add_option(
      "--record", options.record,
      "write a journal of every input to this file, for lockstep replay --journal; with "
      "several shards FILE.0, FILE.1 and so on; an existing file is refused");
  verb.add_option("--pcapng", options.pcapng,
                  "capture all frames while running: with run.pcapng to run-00001.pcapng, "
                  "run-00002.pcapng and so on, with comments on what was dropped");
  verb.add_option("--pcapng-size", options.pcapng_size,
                  "begin the next file at this size (default: 64MiB)");
  verb.add_option("--pcapng-files", options.pcapng_files, "keep this number of files, the newest")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  verb.add_flag("--force", options.force, "with --record and --pcapng: overwrite existing files");
}

void register_plain(CLI::App& serve, int& exit_code, PlainServer what, const std::string& name) {
  bool const echo = what == PlainServer::echo;
  CLI::App* const verb = serve.add_subcommand(
      name, echo ? "Serves echo (RFC 862): sends received data back, on a Linux interface"
                 : "Serves get, set and delete of memcached's text protocol, for `load`");
  auto const options = std::make_shared<ServeOptions>();
  options->port = echo ? 7 : 11'211;
  add_place(*verb, *options);
  if (echo) {
    add_shards(*verb, *options);  // memcached has one shard, because each would have its own keys
  }
  add_books(*verb, *options, "");
  verb->footer(fmt::format(
      "A server for `lockstep load`, not a product. SIGINT, SIGTERM or SIGHUP ends it with a\n"
      "summary.\n"
      "Example: lockstep serve {0} --iface eth1 --driver xdp --address 10.9.0.2/24\n"
      "         lockstep load {1}://10.9.0.2 --workload {2} --tap ...",
      name, echo ? "echo" : "memcached", echo ? "pingpong64" : "memcached"));
  bool const is_old = name == "memcached";
  if (is_old) {
    verb->group("");  // not listed
  }
  add_config_options(*verb, [options, &exit_code, what, is_old] {
    exit_code = run_serve_plain(what, *options);
    if (is_old) {
      fmt::print(stderr, "serve memcached is now called serve cache\n");
    }
  });
}

}  // namespace

void register_serve(CLI::App& app, int& exit_code) {
  CLI::App* const serve = app.add_subcommand(
      "serve", "Runs servers on our stack for real clients, on a Linux interface");
  serve->require_subcommand(1);
  register_calls(*serve, exit_code);
  register_plain(*serve, exit_code, PlainServer::echo, "echo");
  register_plain(*serve, exit_code, PlainServer::memcached, "cache");
  register_plain(*serve, exit_code, PlainServer::memcached, "memcached");
  CLI::App* const verb = serve->add_subcommand(
      "http", "Serves HTTP/1.1 (GET, HEAD, and PUT or POST to /sink) on a Linux interface");
  auto const options = std::make_shared<ServeOptions>();
  add_place(*verb, *options);
  verb->add_option(
      "--folder", options->folder,
      "the files to serve, read into memory at the start; /bytes/N is always N octets");
  add_shards(*verb, *options);
  verb->add_option(
      "--per-client", options->per_client,
      "connections of one client address (IPv6: of one /64) at the same time, at most; "
      "more are reset (default: no limit; with shards each has its part)");
  verb->add_option("--access-log", options->access_log,
                   "append a line for each answer to this file; then SIGHUP opens it anew, and "
                   "does not end the server");
  verb->add_option(
          "--access-format", options->access_format,
          "format of --access-log: common, or combined, with Referer and the name of the client")
      ->check(CLI::IsMember({"common", "combined"}))
      ->capture_default_str();
  verb->add_option("--idle", options->idle,
                   "close a connection after this time without a request (default: 60s)");
  verb->add_option("--grace", options->grace,
                   "when few connections are left, those that have waited at least this long "
                   "without a request give way to new ones (default: 1s)");
  verb->add_option("--seed", options->seed,
                   "draw the stack's keys from this 64-bit number: predictable, for tests only "
                   "(default: random)");
  add_books(*verb, *options, " (dashboard: tools/verbs/serve/grafana.json)");
  verb->add_flag("--embed", options->embed,
                 "with --record: put the files of --folder into the journal, else only their "
                 "hash; then a replay needs --folder too");
  verb->add_option(
      "--record-on", options->record_on,
      "with --record: keep the last seconds in memory; at each of these events write from "
      "five seconds before it to five seconds after it: rto, reset, drop:NAME, separated by "
      "commas; at most 16 files, FILE, FILE-2 and so on");
  verb->footer(
      "--tap needs /dev/net/tun and CAP_NET_ADMIN, --iface CAP_NET_RAW, AF_XDP also CAP_BPF and\n"
      "CAP_NET_ADMIN. AF_XDP takes all frames of the interface: the kernel gets none.\n"
      "PUT or POST to /sink discards the body; the answer is its length and SHA-256.\n"
      "SIGINT, SIGTERM or SIGHUP closes open connections and prints a summary; a second one ends\n"
      "at once. Exit code 3 also if the interface is deleted, or a full disk loses lines of\n"
      "--access-log.\n"
      "Example: lockstep serve http --tap lock0 --address 10.9.0.2/24 --host 10.9.0.1/24 &\n"
      "         curl http://10.9.0.2/bytes/1000 | wc -c\n"
      "         lockstep serve http --iface eth1 --address 10.9.0.2/24 --shards 2 --cpus 0,1");
  add_config_options(*verb, [options, &exit_code] { exit_code = run_serve_http(*options); });
}

}  // namespace lockstep::tools
