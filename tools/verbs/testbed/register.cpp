// Registers the verb `testbed`.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/verbs/testbed/options.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {

void register_testbed(CLI::App& app, int& exit_code) {
  CLI::App* const verb = app.add_subcommand(
      "testbed", "Loads a middlebox from both sides, and accounts for every frame");
  auto const options = std::make_shared<TestbedOptions>();
  verb->add_option("--box", options->box,
                   "router: Linux routes, with nft's rules; bridge: Linux bridges; pair: whatever "
                   "is between two interfaces that are there")
      ->check(CLI::IsMember({"router", "bridge", "pair"}))
      ->capture_default_str();
  verb->add_option("--rules", options->rules,
                   "of a router or bridge: a file for nft; the interfaces are client and server. "
                   "What drops needs a counter to be accounted for");
  verb->add_option("--lose", options->lose,
                   "of a router or bridge: a part of the frames, like 1%, by flow");
  verb->add_option("--rate", options->rate, "of a router or bridge: of each link, like 100Mbit/s");
  verb->add_option("--mtu", options->mtu, "of a router or bridge: octets of an IP packet")
      ->check(CLI::Range(576, 9'000))
      ->capture_default_str();
  verb->add_option("--iface", options->interfaces, "of a pair: the client's, then the server's")
      ->allow_extra_args(false);
  verb->add_option("--client", options->client,
                   "of a pair: its address and prefix; the next address is taken too");
  verb->add_option("--server", options->server, "of a pair: its address and prefix");
  verb->add_option("--client-gateway", options->client_gateway, "of a pair that routes");
  verb->add_option("--server-gateway", options->server_gateway, "of a pair that routes");
  verb->add_option("--connections", options->connections, "at once, of each of the two loads")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  verb->add_option("--size", options->size, "octets of each download and upload")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32))
      ->capture_default_str();
  verb->add_option("--duration", options->duration, "both loads ask for so long")
      ->capture_default_str();
  verb->add_option("--timeout", options->timeout, "of a connect, and of a request")
      ->capture_default_str();
  verb->add_option("--json", options->json, "write the result to this file too, each flow in it");
  verb->footer(
      "The client side downloads and uploads at the same time, so that text goes both ways over\n"
      "every link. At both ends nft counts each flow's frames as they are offered and as they\n"
      "arrive; what is missing must have been lost by something that counts: a rule, a queue, an\n"
      "interface, IP. A pair is counted where it is, in a table of nft's that goes with us.\n"
      "As root. Exit code 1: a loss without a cause, or a load that failed; then `causes` says\n"
      "where the box stopped it.\n"
      "Example: lockstep testbed --lose 1% --rate 200Mbit/s --duration 10s --json result.json\n"
      "         lockstep testbed --box pair --iface eth1 --iface eth2 --client 10.9.0.2/24 \\\n"
      "             --server 10.9.0.10/24");
  verb->callback([options, &exit_code] { exit_code = run_testbed(*options); });
}

}  // namespace lockstep::tools
