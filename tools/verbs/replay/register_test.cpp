// Tests of the verb: its JSON has what it prints.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "conformance/replay/conversation.hpp"
#include "conformance/replay/packet.hpp"
#include "tools/base/capture/octets.hpp"
#include "tools/base/capture/pcapng_writer.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/verbs.hpp"

namespace lockstep::tools {
namespace {

using conformance::Conversation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Writes the packets to a file, and returns its path.
std::string written(const Conversation& c, const std::string& name) {
  PcapngWriter writer;
  for (const Segment& segment : c.flow().segments) {
    writer.add(segment.time, conformance::packet_of(segment), "");
  }
  std::string const path = ::testing::TempDir() + "replay_" + name;
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(writer.bytes().data()),
             static_cast<std::streamsize>(writer.bytes().size()));
  return path;
}

struct Outcome {
  int code = 0;
  std::string out;
  nlohmann::json flow;
};

/// The result for the side of the device.
Outcome replay(const Conversation& c) {
  std::string const path = written(c, "late.pcapng");
  std::string const json = path + ".json";
  CLI::App app;
  Outcome outcome;
  register_replay(app, outcome.code);
  std::vector<const char*> const arguments{"lockstep", "replay", path.c_str(), "--device",
                                           "10.0.0.1", "--json", json.c_str()};
  ::testing::internal::CaptureStdout();
  app.parse(static_cast<int>(arguments.size()), arguments.data());
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.flow = nlohmann::json::parse(std::ifstream(json)).at("flows").at(0);
  return outcome;
}

// After 8,000 segments only the packets are checked. There the device sends timestamps and a SACK
// block, neither of which was negotiated.
TEST(Replay, JsonHasTheViolationsAfterTheReplayedPart) {
  Conversation c;
  c.handshake();
  std::uint32_t const requests = 4'100;
  for (std::uint32_t i = 0; i < requests; ++i) {
    c.peer(20 + i, "PA", {1 + i, 1, 1}).device(20 + i, "A", {1, 2 + i});
  }
  for (std::uint32_t i = 0; i < 3; ++i) {
    c.peer(5'000 + i, "PA", {1 + requests + i, 1, 1});
    c.device(5'000 + i, "A", {1, 2 + requests + i}).stamp(900 + i, 1);
  }
  for (unsigned const octet : {1u, 1u, 5u, 10u}) {
    c.last().options.push_back(static_cast<std::byte>(octet));
  }
  put_long(c.last().options, Conversation::peer_isn + 1);
  put_long(c.last().options, Conversation::peer_isn + 2);
  Outcome const outcome = replay(c);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("209 packets after it were checked without replay"));
  EXPECT_EQ(outcome.flow["verdict"], "violates");
  EXPECT_EQ(outcome.flow["clause"], "7323:TS-39");
  EXPECT_FALSE(outcome.flow.contains("rules"));
  nlohmann::json const none = nlohmann::json::array();
  std::vector<std::string> lines;
  for (const auto& violation : outcome.flow.value("violations", none)) {
    lines.push_back(fmt::format("packet {}: {}, {} times ({})", violation["packet"].dump(),
                                violation["text"].get<std::string>(), violation["count"].dump(),
                                violation["clause"].get<std::string>()));
    EXPECT_THAT(outcome.out, HasSubstr(violation["sentence"].get<std::string>()));
  }
  EXPECT_THAT(
      lines,
      ElementsAre(
          "packet 8205: a timestamp although both sides did not agree on them, 3 times "
          "(7323:TS-39)",
          "packet 8209: SACK blocks to a peer that did not permit them, 1 times (2018:SACK-2)"));
  EXPECT_EQ(outcome.flow.value("divergence", ""),
            "a timestamp although both sides did not agree on them");
}

// One of the outputs would be lost.
TEST(Replay, TwoOutputsHaveTwoPlaces) {
  Conversation c;
  std::string const path = written(c.handshake(), "short.pcapng");
  std::string const both = ::testing::TempDir() + "replay_both";
  for (bool const journal : {false, true}) {
    std::vector<const char*> arguments{"lockstep", "replay"};
    if (journal) {
      arguments.push_back("--journal");
    }
    arguments.insert(arguments.end(),
                     {path.c_str(), "--json", both.c_str(), "--pcapng", both.c_str()});
    CLI::App app;
    int code = 0;
    register_replay(app, code);
    EXPECT_THAT([&] { app.parse(static_cast<int>(arguments.size()), arguments.data()); },
                ThrowsMessage<Failure>(HasSubstr("two outputs would be written there")));
  }
}

}  // namespace
}  // namespace lockstep::tools
