// One run: flows of our TCP and of ns-3's over a ready-made topology, and the recorded results.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/verbs/ns3_program/topology.hpp"

namespace lockstep::tools {

struct ExperimentSettings {
  TopologySettings topology;
  std::vector<std::string> flows{"ours", "newreno"};  ///< the sender's TCP of each pair
  std::string receivers = "same";                     ///< same, ours, ns3
  std::uint64_t bytes = 10'000'000;                   ///< sent by each flow
  double stop = 60;                                   ///< seconds
  std::uint32_t seed = 1;
  std::uint64_t run = 1;
  std::string profile = "default";
  std::vector<std::pair<std::string, std::string>> attributes;  ///< set on every LockstepStack
  std::vector<std::pair<std::string, std::string>> defaults;    ///< set on ns-3's own attributes
  double measure_from = 0;  ///< seconds: also report the goodput from then to the end
  bool speed = false;       ///< count the hosts' frames, and measure the time taken
  std::string folder;       ///< folder for the files; empty: none
  bool pcap = true;
};

struct FlowResult {
  std::string kind;
  std::uint64_t received = 0;
  bool complete = false;
  double first_s = 0;          ///< when the first octet arrived
  double last_s = 0;           ///< when the last octet arrived
  double goodput_bit_s = 0;    ///< from the start of the flow to its last octet
  std::uint64_t segments = 0;  ///< that carried data
  std::uint64_t retransmissions = 0;
  std::uint64_t timeouts = 0;  ///< retransmission timeouts
  double late_bit_s = 0;       ///< from measure_from to the end of the run
};

struct QueueResult {
  std::uint32_t most = 0;  ///< packets
  double mean = 0;         ///< over time
  std::uint64_t drops = 0;
  std::uint64_t marks = 0;
  double delay_mean_ms = 0;  ///< of packets that leave from measure_from on
  double delay_p95_ms = 0;
};

struct ExperimentResult {
  std::vector<FlowResult> flows;
  std::vector<QueueResult> queues;
  double jain = 0;  ///< 1: all have the same goodput
  double simulated_s = 0;
  double wall_s = 0;
  std::uint64_t events = 0;       ///< executed by ns-3's scheduler
  std::uint64_t host_frames = 0;  ///< sent or received by hosts; 0 unless `speed` is set
  std::uint64_t lost = 0;         ///< packets lost by --loss
};

/// Throws Failure for wrong settings, before anything is written.
ExperimentResult run_experiment(const ExperimentSettings& settings);

std::string result_text(const ExperimentResult& result);
std::string result_json(const ExperimentSettings& settings, const ExperimentResult& result);

}  // namespace lockstep::tools
