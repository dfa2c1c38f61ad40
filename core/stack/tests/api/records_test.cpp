// All records of a stack by number: connections, TIME-WAIT, half-open, listeners.
#include <map>
#include <vector>

#include "core/stack/testing/flow_kit.hpp"
#include "core/stack/testing/syn_cache_kit.hpp"

namespace lockstep::testing {
namespace {

std::map<tcp::State, std::vector<ConnectionInfo>> records_of(const Stack& stack) {
  std::map<tcp::State, std::vector<ConnectionInfo>> out;
  for (std::uint32_t i = 0; i < stack.records().value; ++i) {
    if (ConnectionInfo const info = stack.inspect_record({i}); info.exists) {
      out[info.state].push_back(info);
    }
  }
  return out;
}

Config with_accounts(Config config) {
  config.tcp.accounts = true;
  return config;
}

TEST(Records, EachKindIsListedOnce) {
  Kit kit(with_accounts(cache_config(8)));
  ListenerId const listener = listen(kit, 5);
  ASSERT_NE(listener.slot, 0xffff'ffffu);
  flood(kit, 1, 3);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  kit.deliver(third);
  auto found = records_of(kit.stack);
  ASSERT_EQ(found[State::listen].size(), 1u);
  EXPECT_EQ(found[State::listen][0].tuple.local.port.value, Kit::device_port);
  EXPECT_EQ(found[State::listen][0].send.queued, Bytes{5});
  ASSERT_EQ(found[State::syn_received].size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ConnectionInfo const& half_open = found[State::syn_received][i];
    EXPECT_EQ(half_open.tuple.remote.address, stranger(i + 1));
    EXPECT_TRUE(half_open.passive);
    EXPECT_GT(half_open.retransmit_due, kit.now);
    EXPECT_EQ(half_open.retransmissions, 0u);
  }
  ASSERT_EQ(found[State::established].size(), 1u);
  EXPECT_EQ(found[State::established][0].tuple, kit.tuple());
}

TEST(Records, TheTimerOfTimeWaitIsShown) {
  Kit kit;
  kit.socket_in(State::time_wait);
  auto found = records_of(kit.stack);
  ASSERT_EQ(found[State::time_wait].size(), 1u);
  EXPECT_EQ(found[State::time_wait][0].tuple, kit.tuple());
  Instant const due = found[State::time_wait][0].time_wait_due;
  EXPECT_GT(due, kit.now);
  kit.advance(due.since(kit.now));
  EXPECT_TRUE(records_of(kit.stack)[State::time_wait].empty());
}

TEST(Records, WhatTheSynCacheRetransmitsIsCounted) {
  Kit kit(cache_config(8));
  ASSERT_NE(listen(kit, 5).slot, 0xffff'ffffu);
  flood(kit, 1, 1);
  kit.advance(Duration::milliseconds(1500));
  auto const found = records_of(kit.stack)[State::syn_received];
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].retransmissions, 1u);
  EXPECT_EQ(found[0].retries, 1u);
}

}  // namespace
}  // namespace lockstep::testing
