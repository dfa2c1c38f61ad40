// What an observer of a server is told: each answer once, and how long it took.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/lib/http/served_kit.hpp"

namespace lockstep::http::testing {
namespace {

class Notes final : public AnswerObserver {
 public:
  void answered(const Answered& answer) override {
    lines.push_back(
        std::string(answer.request.method()) + " " + std::string(answer.request.target()) + " " +
        std::to_string(static_cast<int>(answer.status)) + " " + std::to_string(answer.body_octets));
    EXPECT_LE(answer.begun, answer.now);
    rounds += answer.srtt.ns != 0 ? 1 : 0;
    client = answer.client;
  }
  void acknowledged(Duration latency) override { latencies.push_back(latency); }

  std::vector<std::string> lines;
  std::vector<Duration> latencies;
  std::uint32_t rounds = 0;
  IpAddress client;
};

class Observed : public Served {
 protected:
  Observed() { server->observe(&notes); }
  Notes notes;
};

TEST_F(Observed, EachAnswerIsToldOnce) {
  fetch(get("/short.txt", "Connection: close\r\n"));
  fetch("HEAD /short.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  fetch(get("/missing", "Connection: close\r\n"));
  EXPECT_EQ(notes.lines, (std::vector<std::string>{"GET /short.txt 200 5", "HEAD /short.txt 200 0",
                                                   "GET /missing 404 14"}));
  EXPECT_EQ(notes.latencies.size(), 3u);
  EXPECT_EQ(notes.client, tools::benchmark::client_address());
}

TEST_F(Observed, TheLatencyEndsWithTheLastAcknowledgement) {
  ClientConnection& slow = ask(get("/bytes/3000000"));
  slow.to_read = 0;
  advance(Duration::seconds(2));
  EXPECT_TRUE(notes.latencies.empty());
  slow.to_read = ~std::size_t{0};
  advance(Duration::seconds(3));
  ASSERT_EQ(notes.latencies.size(), 1u);
  EXPECT_GE(notes.latencies[0], Duration::seconds(2));
  EXPECT_LE(notes.latencies[0], Duration::seconds(5));
}

TEST_F(Observed, RoundTripsAreLookedAtOnceInManyAnswers) {
  std::string requests;
  for (int i = 0; i < 100; ++i) {
    requests += get("/short.txt");
  }
  ask(requests);
  advance(Duration::seconds(1));
  EXPECT_EQ(notes.lines.size(), 100u);
  EXPECT_EQ(notes.rounds, 2u);
}

TEST_F(Observed, AnAnswerThatIsCutOffIsToldWithWhatWasQueued) {
  ClientConnection& stalled = ask(get("/bytes/100000000"));
  stalled.to_read = 0;
  advance(Duration::seconds(40));
  EXPECT_EQ(server->counters().send_timeouts, 1u);
  ASSERT_EQ(notes.lines.size(), 1u);
  EXPECT_TRUE(notes.lines[0].starts_with("GET /bytes/100000000 200 "));
  EXPECT_NE(notes.lines[0], "GET /bytes/100000000 200 100000000");
  EXPECT_TRUE(notes.latencies.empty());
}

TEST_F(Observed, ASnapshotGoesOnWithoutAnObserver) {
  ClientConnection& slow = ask(get("/bytes/3000000"));
  slow.to_read = 2'900'000;
  advance(Duration::seconds(2));
  ASSERT_EQ(notes.lines.size(), 1u);  // queued whole, not acknowledged
  ASSERT_TRUE(notes.latencies.empty());
  auto const state = server->snapshot();
  server->observe(nullptr);
  ASSERT_TRUE(server->restore(state));
  slow.to_read = ~std::size_t{0};
  advance(Duration::seconds(2));
  EXPECT_GT(slow.received.size(), 3'000'000u);
  EXPECT_TRUE(notes.latencies.empty());
}

TEST_F(Observed, OctetsAreCountedByStatus) {
  fetch(get("/short.txt", "Connection: close\r\n"));
  fetch(get("/missing", "Connection: close\r\n"));
  std::uint64_t sum = 0;
  for (std::uint64_t const octets : server->counters().answer_octets) {
    sum += octets;
  }
  EXPECT_EQ(sum, joined.server.statistics().tcp.bytes_sent);
  EXPECT_GT(server->counters().answer_octets[index_of(Status::not_found)], 14u);
}

}  // namespace
}  // namespace lockstep::http::testing
