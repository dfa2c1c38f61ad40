// One run: flows of our TCP and of ns-3's over a ready topology, and what is written down of it.
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
  std::vector<std::string> flows{"ours", "newreno"};  ///< the sender of each pair
  std::string receivers = "same";                     ///< same, ours, ns3
  std::uint64_t bytes = 10'000'000;                   ///< that each sends
  double stop = 60;                                   ///< seconds
  std::uint32_t seed = 1;
  std::uint64_t run = 1;
  std::string profile = "default";
  std::vector<std::pair<std::string, std::string>> attributes;  ///< of every LockstepStack
  std::vector<std::pair<std::string, std::string>> defaults;    ///< of ns-3's own attributes
  double measure_from = 0;  ///< seconds: the goodput from then to the end is told as well
  bool speed = false;       ///< frames of the hosts are counted, and the time taken
  std::string folder;       ///< where files go; empty: nowhere
  bool pcap = true;
};

struct FlowResult {
  std::string kind;
  std::uint64_t received = 0;
  bool complete = false;
  double first_s = 0;          ///< when the first octet came
  double last_s = 0;           ///< when the last one did
  double goodput_bit_s = 0;    ///< from the start of the flow to its last octet
  std::uint64_t segments = 0;  ///< with text
  std::uint64_t retransmissions = 0;
  std::uint64_t timeouts = 0;  ///< of the retransmission timer
  double late_bit_s = 0;       ///< from measure_from to the end of the run
};

struct QueueResult {
  std::uint32_t most = 0;  ///< packets
  double mean = 0;         ///< over time
  std::uint64_t drops = 0;
  std::uint64_t marks = 0;
};

struct ExperimentResult {
  std::vector<FlowResult> flows;
  std::vector<QueueResult> queues;
  double jain = 0;  ///< 1: all have the same goodput
  double simulated_s = 0;
  double wall_s = 0;
  std::uint64_t events = 0;       ///< of ns-3's scheduler
  std::uint64_t host_frames = 0;  ///< that hosts sent or received; 0 unless speed was asked for
  std::uint64_t lost = 0;         ///< packets, by the chance of --loss
};

/// Throws Failure for what is wrong with the settings, before anything is written.
ExperimentResult run_experiment(const ExperimentSettings& settings);

std::string result_text(const ExperimentResult& result);
std::string result_json(const ExperimentSettings& settings, const ExperimentResult& result);

}  // namespace lockstep::tools
