// Registers the verb `testbed`.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/base/options/config_file.hpp"
#include "tools/verbs/testbed/options.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_testbed(CLI::App& app, int& exit_code) {
  CLI::App* const verb = app.add_subcommand(
      "testbed", "Sends load through a middlebox in both directions, and accounts for every frame");
  auto const options = std::make_shared<TestbedOptions>();
  verb->add_option("--box", options->box,
                   "router: a Linux router; bridge: a Linux bridge; pair: your own box between two "
                   "existing interfaces")
      ->check(CLI::IsMember({"router", "bridge", "pair"}))
      ->capture_default_str();
  verb->add_option(
      "--rules", options->rules,
      "router, bridge: a file of nft rules; the interfaces are called client and server. "
      "A rule that drops frames needs a counter");
  verb->add_option("--lose", options->lose,
                   "router, bridge: drop this share of the frames, like 1%");
  verb->add_option("--rate", options->rate, "router, bridge: rate of each link, like 100Mbit/s");
  verb->add_option("--mtu", options->mtu, "router, bridge: MTU in octets")
      ->check(CLI::Range(576, 9'000))
      ->capture_default_str();
  verb->add_option("--iface", options->interfaces,
                   "pair: the client's interface, then the server's")
      ->allow_extra_args(false);
  verb->add_option("--client", options->client,
                   "pair: the client's address and prefix; the next address is used too");
  verb->add_option("--server", options->server, "pair: the server's address and prefix");
  verb->add_option("--client-gateway", options->client_gateway,
                   "pair: set this if the box is a router");
  verb->add_option("--server-gateway", options->server_gateway,
                   "pair: set this if the box is a router");
  verb->add_option("--connections", options->connections,
                   "connections open at the same time in each of the two loads")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  verb->add_option("--size", options->size, "octets of each download and upload")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32))
      ->capture_default_str();
  verb->add_option("--duration", options->duration, "time for which both loads send requests")
      ->capture_default_str();
  verb->add_option("--timeout", options->timeout, "for a connect, and for a request")
      ->capture_default_str();
  verb->add_option("--json", options->json, "also write the result, with each flow, to this file");
  verb->footer(
      "The client downloads and uploads at the same time, so that data flows in both directions.\n"
      "At both ends nft counts the frames of each flow as they are sent and as they arrive. Each\n"
      "missing frame must appear in a drop counter: of a rule, a queue, an interface or IP.\n"
      "On a pair's interfaces a temporary nft table counts, and is removed at the end.\n"
      "Needs root. Exit code 1: a loss that no counter explains, or a load that failed (then\n"
      "`causes` shows where the box dropped its frames).\n"
      "Example: lockstep testbed --lose 1% --rate 200Mbit/s --duration 10s --json result.json\n"
      "         lockstep testbed --box pair --iface eth1 --iface eth2 --client 10.9.0.2/24 \\\n"
      "             --server 10.9.0.10/24");
  add_config_options(*verb, [options, &exit_code] { exit_code = run_testbed(*options); });
}

}  // namespace lockstep::tools
