// The verb `lockstep testbed`: a middlebox between two ends of ours, and every frame accounted for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::tools {

/// As the command line gives them.
struct TestbedOptions {
  std::string box = "router";           ///< router, bridge, or pair: what is between `interfaces`
  std::vector<std::string> interfaces;  ///< of a pair: the client's, the server's
  std::string client;                   ///< its address and prefix, of a pair; the next is used too
  std::string server;                   ///< the same of the server
  std::string client_gateway;           ///< of a pair that routes
  std::string server_gateway;
  std::string rules;               ///< a file of nft's for the box
  std::string lose;                ///< a part of the frames that the box loses
  std::string rate;                ///< of each of the box's links
  std::uint32_t mtu = 1500;        ///< not of a pair, which has its own
  std::uint32_t connections = 16;  ///< of each load
  std::uint64_t size = 100'000;    ///< octets of each body
  std::string duration = "5s";
  std::string timeout = "10s";  ///< of a connect, and of a request
  std::string json;             ///< a file for the result
};

/// Builds, drives, reconciles, takes down; the exit code. Throws Failure.
int run_testbed(const TestbedOptions& options);

}  // namespace lockstep::tools
