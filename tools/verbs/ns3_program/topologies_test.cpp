// Each topology completes its flows; the seed determines every result; wrong settings give one
// line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tools/base/output/atomic_file.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/ns3_program/experiment.hpp"

namespace lockstep::tools {
namespace {

using testing::HasSubstr;

ExperimentSettings settings_of(std::string_view topology) {
  ExperimentSettings settings;
  settings.topology.name = topology;
  settings.bytes = 300'000;
  return settings;
}

class EachTopology : public testing::TestWithParam<std::string_view> {};

TEST_P(EachTopology, CarriesEveryFlowToItsEnd) {
  auto settings = settings_of(GetParam());
  settings.flows = {"ours", "newreno", "cubic", "ours"};
  auto const result = run_experiment(settings);
  ASSERT_EQ(result.flows.size(), 4u);
  for (const auto& flow : result.flows) {
    EXPECT_TRUE(flow.complete) << flow.kind << " " << flow.received;
    EXPECT_GT(flow.segments, 200u) << flow.kind;
  }
  EXPECT_GT(result.jain, 0.2);
  EXPECT_LE(result.jain, 1.0001);
  ASSERT_FALSE(result.queues.empty());
  EXPECT_GT(result.queues[0].most, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, EachTopology, testing::ValuesIn(topology_names));

TEST(Topologies, WhoeverReceives) {
  for (const char* receivers : {"ours", "ns3"}) {
    auto settings = settings_of("dumbbell");
    settings.flows = {"ours", "cubic"};
    settings.receivers = receivers;
    settings.bytes = 1'000'000;  // ns-3's sender would fill a window of 64 KiB earlier, and crash
    for (const auto& flow : run_experiment(settings).flows) {
      EXPECT_TRUE(flow.complete) << receivers << " " << flow.kind;
    }
  }
}

// Enough data for ns-3's senders to fill our windows, with one of our senders among them and alone.
TEST(Topologies, OurReceiverHandlesAllOfNs3sSenders) {
  for (auto const& flows : std::vector<std::vector<std::string>>{
           {"ours", "newreno"}, {"newreno", "newreno"}, {"cubic", "cubic"}}) {
    auto settings = settings_of("dumbbell");
    settings.receivers = "ours";
    settings.flows = flows;
    settings.bytes = 10'000'000;
    for (const auto& flow : run_experiment(settings).flows) {
      EXPECT_TRUE(flow.complete) << flow.kind;
    }
  }
}

// A packet of 1,502 octets takes 1.2016 ms, and the queue holds 100 of them.
TEST(Topologies, EachQueueDiscHasItsDelay) {
  double longest = 0;
  for (const char* const disc : {"none", "pfifo", "red1993", "codel", "fqcodel", "pie"}) {
    auto settings = settings_of("dumbbell");
    settings.topology.disc = disc;
    settings.flows = {"ours", "ours"};
    settings.bytes = 100'000'000;
    settings.measure_from = 4;
    settings.stop = 8;
    auto const queue = run_experiment(settings).queues[0];
    bool const unmanaged = std::string_view(disc) == "none" || std::string_view(disc) == "pfifo";
    longest = unmanaged ? std::max(longest, queue.delay_p95_ms) : longest;
    EXPECT_GT(queue.delay_mean_ms, 0) << disc;
    EXPECT_GE(queue.delay_p95_ms, queue.delay_mean_ms) << disc;
    EXPECT_LE(queue.delay_p95_ms, 100 * 1.2016 + 0.001) << disc;
    EXPECT_LT(queue.delay_mean_ms, unmanaged ? 121 : longest / 2) << disc;
  }
}

TEST(Topologies, RuledSendersEqualNs3sByDefault) {
  for (const char* kind : {"newreno", "cubic"}) {
    std::vector<ExperimentResult> results;
    for (std::string const& each : {std::string(kind), std::string(kind) + "-ruled"}) {
      auto settings = settings_of("dumbbell");
      settings.bytes = 3'000'000;
      settings.flows = {each};
      results.push_back(run_experiment(settings));
    }
    EXPECT_GT(results[0].flows[0].retransmissions, 0u) << kind;
    EXPECT_EQ(results[0].flows[0].last_s, results[1].flows[0].last_s) << kind;
    EXPECT_EQ(results[0].flows[0].retransmissions, results[1].flows[0].retransmissions) << kind;
  }
}

// Defaults that were set persist in ns-3, so the run without them comes first.
double seconds_of(const std::string& kind, const std::string& attribute) {
  auto settings = settings_of("lossy");
  settings.topology.delay = "20ms";
  settings.bytes = 3'000'000;
  settings.stop = 200;
  settings.flows = {kind};
  if (!attribute.empty()) {
    settings.defaults = {{attribute, "true"}};
  }
  return run_experiment(settings).flows[0].last_s;
}

TEST(Topologies, ARuleOfOursMakesNs3sSenderFaster) {
  for (auto const& [kind, attribute] :
       {std::pair{"newreno-ruled", "CountOctets"}, std::pair{"cubic-ruled", "Friendly"}}) {
    auto const type = kind[0] == 'n' ? "lockstep::RuledNewReno::" : "lockstep::RuledCubic::";
    double const plain = seconds_of(kind, "");
    double const ruled = seconds_of(kind, std::string(type) + attribute);
    EXPECT_LT(ruled, 0.8 * plain) << kind;
  }
}

// In its own process, because ns-3 does not reset its count of random streams within one.
void run_apart(const ExperimentSettings& settings) {
  pid_t const child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    save_file(settings.folder + "/summary.json", result_json(settings, run_experiment(settings)));
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
}

// The contents of all files of a run, concatenated.
std::string files_of(std::uint64_t run) {
  auto const folder = std::filesystem::temp_directory_path() /
                      ("lockstep-topologies-" + std::to_string(::getpid()));
  auto settings = settings_of("lossy");
  settings.run = run;
  settings.folder = folder.string();
  run_apart(settings);
  std::string all;
  std::vector<std::filesystem::path> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path());
  }
  std::ranges::sort(names);
  for (const auto& name : names) {
    std::ifstream file(name, std::ios::binary);
    all += name.filename().string();
    all.append(std::istreambuf_iterator<char>(file), {});
  }
  EXPECT_EQ(names.size(), 12u);  // summary, traces, and two interfaces for each of five links
  std::filesystem::remove_all(folder);
  return all;
}

TEST(Topologies, TheRunNumberDecidesEveryFile) {
  auto const first = files_of(3);
  EXPECT_THAT(first, HasSubstr(",CongestionWindow,"));
  EXPECT_TRUE(first == files_of(3));
  EXPECT_FALSE(first == files_of(4));
}

TEST(Topologies, SpeedAndLateGoodputAreReported) {
  auto settings = settings_of("dumbbell");
  settings.flows = {"ours"};
  settings.receivers = "ours";
  settings.speed = true;
  settings.measure_from = 1.2;
  settings.stop = 1.3;  // before the flow ends
  auto const result = run_experiment(settings);
  auto const& flow = result.flows[0];
  EXPECT_FALSE(flow.complete);
  // Each segment leaves one host, most arrive at the other, and ACKs return.
  EXPECT_GT(result.host_frames, flow.segments * 2);
  EXPECT_LT(result.host_frames, flow.segments * 5);
  // 10 Mbit/s of frames of 1,502 octets that carry 1,448 octets of data.
  EXPECT_NEAR(flow.late_bit_s, 9.64e6, 0.3e6);
  EXPECT_EQ(result.lost, 0u);
}

TEST(Topologies, RandomLossesAreCounted) {
  auto settings = settings_of("lossy");
  settings.flows = {"ours"};
  settings.bytes = 1'000'000;
  auto const result = run_experiment(settings);
  EXPECT_GT(result.lost, 0u);
  EXPECT_GE(result.flows[0].retransmissions, 1u);
  EXPECT_EQ(result.host_frames, 0u);  // --speed not given
}

std::string complaint(const ExperimentSettings& settings) {
  try {
    run_experiment(settings);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::bad_input);
    return failure.what();
  }
  return "";
}

TEST(Topologies, WhatIsWrongIsNamed) {
  EXPECT_THAT(complaint(settings_of("ring")), HasSubstr("unknown topology 'ring': use"));
  auto lan = settings_of("lan");
  lan.topology.ecn = true;
  EXPECT_THAT(complaint(lan), HasSubstr("--ecn: the topology lan has no bottleneck"));
  lan.topology.disc = "codel";
  EXPECT_THAT(complaint(lan), HasSubstr("--disc: the topology lan has no bottleneck"));
  lan.topology.loss = 0.3;
  EXPECT_THAT(complaint(lan), HasSubstr("--loss: the topology lan has no bottleneck"));
  auto settings = settings_of("lan");
  settings.flows = {"ours", "veno"};
  EXPECT_THAT(complaint(settings), HasSubstr("unknown TCP 'veno': use ours, newreno"));
  settings.flows = {"ours"};
  settings.attributes = {{"DuplicateAcks", "0"}};
  EXPECT_THAT(complaint(settings), HasSubstr("--set DuplicateAcks=0: LockstepStack has no such"));
  settings.attributes = {};
  settings.defaults = {{"ns3::TcpSocketBase::MinTto", "1s"}};
  EXPECT_THAT(complaint(settings), HasSubstr("--default ns3::TcpSocketBase::MinTto=1s: ns-3"));
  settings.defaults = {};
  // Values for which ns-3 ends the process.
  settings.attributes = {{"DuplicateAcks", "many"}};
  EXPECT_THAT(complaint(settings), HasSubstr("--set DuplicateAcks=many: LockstepStack has no"));
  settings.attributes = {};
  settings.defaults = {{"ns3::TcpSocket::SndBufSize", "x"}};
  EXPECT_THAT(complaint(settings), HasSubstr("--default ns3::TcpSocket::SndBufSize=x: ns-3 has"));
  settings.defaults = {};
  for (const char* rate : {"bogus", "0bps", "-5Mbps", "10bps", "2000Gbps", "10Mbpsx", "Mbps"}) {
    settings.topology.rate = rate;
    EXPECT_THAT(complaint(settings), HasSubstr("--rate " + std::string(rate) +
                                               ": expected a rate "
                                               "from 1kbps to 1000Gbps, like 10Mbps"));
  }
  settings.topology.rate = "";
  for (const char* delay : {"5parsec", "-5ms", "ms", "2h", "late"}) {
    settings.topology.delay = delay;
    EXPECT_THAT(complaint(settings), HasSubstr("--delay " + settings.topology.delay +
                                               ": expected a time from 0s to 1h, like 20ms"));
  }
  settings.topology.delay = "";
  settings.measure_from = settings.stop;
  EXPECT_THAT(complaint(settings), HasSubstr("--measure-from 60: the run ends at 60 (--stop)"));
}

}  // namespace
}  // namespace lockstep::tools
