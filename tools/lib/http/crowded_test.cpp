// A server that is short of connections: who gives way, and the limit of a client.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/lib/http/served_kit.hpp"

namespace lockstep::http::testing {
namespace {

// Room for 64 connections; four are kept free.
class Crowded : public Served {
 protected:
  Crowded() : Served({}, [](Config& config) { config.tcp.connections_max = Count{64}; }) {}

  std::vector<ClientConnection*> open_all(std::size_t count, const std::string& text) {
    std::vector<ClientConnection*> out;
    for (std::size_t i = 0; i < count; ++i) {
      out.push_back(&ask(text));
      advance(Duration::microseconds(20));
    }
    return out;
  }
};

TEST_F(Crowded, TheOldestSilentOnesGiveWayAfterTheirGrace) {
  auto const silent = open_all(64, "");
  advance(server_settings.grace - Duration::milliseconds(100));
  EXPECT_EQ(server->counters().gave_way_silent, 0u);
  advance(Duration::milliseconds(200));
  EXPECT_EQ(server->counters().gave_way_silent, 4u);
  for (std::size_t i = 0; i < silent.size(); ++i) {
    EXPECT_EQ(silent[i]->closed, i < 4) << i;
  }
  for (int i = 0; i < 100; ++i) {
    ClientConnection& honest = ask(get("/short.txt", "Connection: close\r\n"));
    advance(Duration::milliseconds(1));
    EXPECT_EQ(response_in(honest.received).body, "hello") << i;
  }
}

TEST_F(Crowded, ThoseWithARequestGiveWayLast) {
  ClientConnection& kept = ask(get("/short.txt"));
  ClientConnection& busy = ask(get("/bytes/3000000"));
  busy.reads = false;
  auto const partial = open_all(10, "GET / HT");
  auto const silent = open_all(40, "");
  advance(Duration::seconds(2));
  open_all(12, "");
  EXPECT_EQ(server->counters().gave_way_silent, 4u);
  EXPECT_EQ(server->counters().gave_way_partial, 0u);
  EXPECT_TRUE(silent[3]->closed);
  EXPECT_FALSE(silent[4]->closed);
  EXPECT_FALSE(kept.closed);
  EXPECT_FALSE(busy.closed);
  EXPECT_FALSE(partial.front()->closed);
}

TEST_F(Crowded, PartsOfRequestsGiveWayBeforeIdleOnes) {
  auto const kept = open_all(10, get("/short.txt"));
  auto const partial = open_all(50, "GET / HT");
  advance(Duration::seconds(2));
  open_all(4, "");
  EXPECT_EQ(server->counters().gave_way_partial, 4u);
  EXPECT_EQ(server->counters().gave_way_idle, 0u);
  EXPECT_TRUE(partial.front()->closed);
}

TEST_F(Crowded, IdleOnesGiveWayIfThereAreNoOthers) {
  auto const kept = open_all(64, get("/short.txt"));
  advance(Duration::seconds(2));
  EXPECT_EQ(server->counters().gave_way_idle, 4u);
  EXPECT_TRUE(kept.front()->closed);
  EXPECT_FALSE(kept.back()->closed);
}

TEST_F(Crowded, AnAddressHasItsLimit) {
  server_settings.per_client = 3;
  server_settings.port = Port{81};
  Server limited(site, server_settings, joined.config.tcp.connections_max);
  ASSERT_EQ(limited.start(joined.server), Refusal::none);
  Client caller(tools::benchmark::server_address(), Port{81});
  auto const go = [&](Duration by) {
    joined.advance(by, joined.client_port, caller, joined.server_port, limited);
  };
  std::vector<ClientConnection*> all;
  for (int i = 0; i < 5; ++i) {
    all.push_back(&caller.open(joined.client, ""));
    go(Duration::milliseconds(1));
  }
  EXPECT_EQ(limited.counters().over_client_limit, 2u);
  EXPECT_FALSE(all[2]->closed);
  EXPECT_EQ(all[3]->cause, Cause::reset);
  all[0]->to_send = get("/short.txt", "Connection: close\r\n");
  go(Duration::seconds(1));
  EXPECT_TRUE(all[0]->closed);
  ClientConnection& next = caller.open(joined.client, get("/short.txt"));
  go(Duration::seconds(1));
  EXPECT_EQ(response_in(next.received).body, "hello");
  auto const state = limited.snapshot();
  EXPECT_TRUE(limited.restore(state));
  caller.open(joined.client, "");
  go(Duration::milliseconds(1));
  EXPECT_EQ(limited.counters().over_client_limit, 3u);
}

}  // namespace
}  // namespace lockstep::http::testing
