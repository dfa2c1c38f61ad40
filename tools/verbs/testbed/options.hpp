// The options of the verb `lockstep testbed`, which accounts for every frame through a middlebox.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::tools {

/// The options of the command line.
struct TestbedOptions {
  std::string box = "router";  ///< router, bridge, or pair: the user's box between `interfaces`
  std::vector<std::string> interfaces;  ///< pair: the client's, then the server's
  std::string client;                   ///< pair: address and prefix; the next address is used too
  std::string server;                   ///< pair: the server's address and prefix
  std::string client_gateway;           ///< pair: if the box is a router
  std::string server_gateway;
  std::string rules;               ///< file of nft rules for the box
  std::string lose;                ///< share of the frames that the box drops
  std::string rate;                ///< of each of the box's links
  std::uint32_t mtu = 1500;        ///< not for a pair, which keeps its own
  std::uint32_t connections = 16;  ///< of each load
  std::uint64_t size = 100'000;    ///< octets of each body
  std::string duration = "5s";
  std::string timeout = "10s";  ///< of a connect, and of a request
  std::string json;             ///< file for the result
};

/// Builds the network, runs the loads, balances the counters, removes the network; returns the exit
/// code. Throws Failure.
int run_testbed(const TestbedOptions& options);

}  // namespace lockstep::tools
