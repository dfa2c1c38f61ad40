// Registers the verb `serve`.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/verbs/serve/calls.hpp"
#include "tools/verbs/serve/plain.hpp"
#include "tools/verbs/serve/serve.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

namespace {

void register_calls(CLI::App& serve, int& exit_code) {
  CLI::App* const verb = serve.add_subcommand(
      "calls", "Our stack on a Linux TAP; its program is whoever writes calls to standard input");
  auto const options = std::make_shared<CallsOptions>();
  verb->add_option("--tap", options->tap, "the interface: made if it is not there")->required();
  verb->add_option("--address", options->addresses, "our address and its prefix")->required();
  verb->add_option("--neighbour", options->neighbours,
                   "ADDRESS=MAC: whom connect calls, and others that are never asked for theirs")
      ->required();
  verb->add_option("--set", options->fields, "FIELD=VALUE, as `lockstep profiles` lists them");
  verb->add_option("--profile", options->profile, "rfc, default, linux or freebsd")
      ->capture_default_str();
  verb->add_option("--mac", options->mac, "our link address")->capture_default_str();
  verb->add_option("--mtu", options->mtu, "octets of an IP packet")
      ->check(CLI::Range(576, 65'000))
      ->capture_default_str();
  verb->add_option("--seed", options->seed, "draws the keys")->capture_default_str();
  verb->footer(
      "A call is a line: [\"listen\", 80], [\"unlisten\"], [\"accept\"], [\"connect\", 80, 5000],\n"
      "[\"write\", 1, \"68690a\"], [\"read\", 1, 100], [\"finish\", 1], [\"close\", 1],\n"
      "[\"abort\", 1], [\"state\", 80, 5000]. The answer is a line too: {\"value\": ...} or\n"
      "{\"error\": \"...\"}.\n"
      "It ends with standard input. What `pytest --target tap:lockstep` talks to.\n"
      "Example: lockstep serve calls --tap lock0 --address 10.0.0.1/24 \\\n"
      "             --neighbour 10.0.0.2=02:00:00:00:00:02");
  verb->callback([options, &exit_code] { exit_code = run_serve_calls(*options); });
}

/// The interface, and how the stack stands on it.
void add_place(CLI::App& verb, ServeOptions& options) {
  CLI::Option_group* const where = verb.add_option_group("where", "one of these");
  where->add_option("--tap", options.tap, "a TAP: made if it is not there");
  where->add_option("--iface", options.interface,
                    "an interface that is there; its link address is ours too");
  where->require_option(1);
  verb.add_option("--driver", options.driver,
                  "of --iface: packet (a packet socket), xdp (AF_XDP, native if the interface's "
                  "driver can), xdp-native, xdp-generic, or xdp-zero-copy: refused if it copies")
      ->check(CLI::IsMember({"packet", "xdp", "xdp-native", "xdp-generic", "xdp-zero-copy"}))
      ->capture_default_str();
  verb.add_option("--address", options.addresses,
                  "our address and its prefix, like 10.9.0.2/24; no interface may have it")
      ->required();
  verb.add_option("--host", options.hosts,
                  "the kernel's own address on the interface, like 10.9.0.1/24");
  verb.add_option("--gateway", options.gateway, "on the way to clients of other networks");
  verb.add_option("--port", options.port, "where to listen")
      ->check(CLI::Range(1, 65'535))
      ->capture_default_str();
  verb.add_option("--profile", options.profile, "default, rfc, linux or freebsd")
      ->capture_default_str();
  verb.add_option("--mtu", options.mtu,
                  "octets of an IP packet (1500 of a TAP, the interface's own elsewhere)")
      ->check(CLI::Range(576, 65'000));
  verb.add_option("--window", options.window,
                  "octets that a peer may have under way to us (the profile's)")
      ->check(CLI::Range(1'024, 0x3fff'ffff));
  verb.add_option("--spin", options.spin,
                  "turns go on for so long after the last that had work, before it sleeps (50us)");
  verb.add_option("--connections", options.connections, "at once, at most")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb.add_option("--json", options.json, "write the summary to this file too");
}

/// Several of them, and where they run.
void add_shards(CLI::App& verb, ServeOptions& options) {
  verb.add_option("--shards", options.shards,
                  "threads, each with a stack of its own and its share of the flows")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  verb.add_option("--cpus", options.cpus,
                  "the processors that the shards run on, one each, like 0,2-3 (anywhere)");
}

/// What is kept of a run, and what is told of it meanwhile.
void add_books(CLI::App& verb, ServeOptions& options, const std::string& more) {
  verb.add_option("--metrics", options.metrics,
                  "ADDRESS:PORT, an address of ours: what is counted, as Prometheus reads it, at "
                  "/metrics" +
                      more + "; not together with --record");
  verb.add_option("--record", options.record,
                  "keep a journal of every input here, for lockstep replay --journal; of several "
                  "shards FILE.0, FILE.1 and so on");
}

void register_plain(CLI::App& serve, int& exit_code, PlainServer what) {
  bool const echo = what == PlainServer::echo;
  CLI::App* const verb = serve.add_subcommand(
      echo ? "echo" : "memcached", echo ? "Sends back what it hears, on a Linux interface"
                                        : "get and set of memcached's text protocol");
  auto const options = std::make_shared<ServeOptions>();
  options->port = echo ? 7 : 11'211;
  add_place(*verb, *options);
  if (echo) {
    add_shards(*verb, *options);  // memcached's keys would be each shard's own
  }
  add_books(*verb, *options, "");
  verb->footer(
      fmt::format("What a load is tried on. SIGINT or SIGTERM: it ends, with a summary.\n"
                  "Example: lockstep serve {0} --iface eth1 --driver xdp --address 10.9.0.2/24\n"
                  "         lockstep load {0}://10.9.0.2 --workload {1} --tap ...",
                  echo ? "echo" : "memcached", echo ? "pingpong64" : "memcached"));
  verb->callback([options, &exit_code, what] { exit_code = run_serve_plain(what, *options); });
}

}  // namespace

void register_serve(CLI::App& app, int& exit_code) {
  CLI::App* const serve = app.add_subcommand("serve", "Serves real clients through an interface");
  serve->require_subcommand(1);
  register_calls(*serve, exit_code);
  register_plain(*serve, exit_code, PlainServer::echo);
  register_plain(*serve, exit_code, PlainServer::memcached);
  CLI::App* const verb =
      serve->add_subcommand("http", "HTTP/1.1 GET, HEAD, PUT to /sink, on a Linux interface");
  auto const options = std::make_shared<ServeOptions>();
  add_place(*verb, *options);
  verb->add_option("--folder", options->folder,
                   "the files to serve, all held in memory; /bytes/N is N octets in any case");
  add_shards(*verb, *options);
  verb->add_option("--seed", options->seed,
                   "draw the keys from this 64-bit number: foreseeable (by chance)");
  add_books(*verb, *options, " (dashboard: tools/verbs/serve/grafana.json)");
  verb->add_option("--record-on", options->record_on,
                   "with --record: keep the last seconds in memory, and write five before and five "
                   "after each of these only: rto, reset, drop:NAME, with commas between; at most "
                   "16 files, FILE, FILE-2 and so on");
  verb->footer(
      "A TAP needs /dev/net/tun and CAP_NET_ADMIN, an interface CAP_NET_RAW, AF_XDP also CAP_BPF\n"
      "and CAP_NET_ADMIN; it takes every frame of the interface away from the kernel.\n"
      "What is PUT to /sink is hashed and forgotten: the answer is its length and its SHA-256.\n"
      "SIGINT or SIGTERM: what is open is closed, then a summary; a second one: at once. Exit\n"
      "code 3 also if the interface is deleted.\n"
      "Example: lockstep serve http --tap lock0 --address 10.9.0.2/24 --host 10.9.0.1/24\n"
      "         curl http://10.9.0.2/bytes/1000 | wc -c\n"
      "         lockstep serve http --iface eth1 --address 10.9.0.2/24 --shards 2 --cpus 0,1");
  verb->callback([options, &exit_code] { exit_code = run_serve_http(*options); });
}

}  // namespace lockstep::tools
