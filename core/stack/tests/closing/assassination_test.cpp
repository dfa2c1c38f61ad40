// RFC 1337: the effect of old duplicates on TIME-WAIT, and what ending it early would permit.
#include <gtest/gtest.h>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

// A bare Config ignores resets in TIME-WAIT; `careless` accepts them, as RFC 9293 does.
Config config_with(bool careless) {
  Config config = kit_config();
  config.tcp.time_wait_ignores_reset = !careless;
  return config;
}

// Figure 1 of section 2: old data causes an ACK, and the ACK a reset from the peer, which no longer
// has the connection.
void play_figure_1(Kit& kit) {
  kit.socket_in(State::time_wait);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "o"});
  EXPECT_EQ(kit.sent(), "A 2(0) ack 2");
  kit.deliver({.flags = flag::rst, .seq = 2});
}

//= rfc1337#3
//= type=test
//# 1337:TW-5 the reset is ignored
//# 1337:TW-8 the old duplicate causes an ACK, and the reset that answers it has no effect
TEST(Assassination, OfTimeWaitFails) {
  Kit kit(config_with(false));
  play_figure_1(kit);
  EXPECT_EQ(kit.state(), State::time_wait);
  EXPECT_EQ(kit.drops(Drop::tcp_reset_time_wait), 1u);
  Kit careless(config_with(true));
  play_figure_1(careless);
  EXPECT_EQ(careless.state(), State::closed);
}

// The peer opens the same sockets again, below the old numbers.
void open_anew(Kit& kit) {
  kit.deliver({.flags = flag::syn, .seq = 0xffff'ff00, .mss = 1460});
  if (kit.state() == State::syn_received) {
    kit.deliver({.flags = flag::ack, .seq = 0xffff'ff01, .ack = 1});
  }
  kit.sent();
}

//= rfc1337#2
//= type=test
//# 1337:TW-9 H1: old data becomes part of the new connection if TIME-WAIT ended early
//# 1337:TW-9 H2: an old ACK and the new connection's ACK would answer each other
//# 1337:TW-9 H3: an old reset or FIN would end the new connection
// During TIME-WAIT there is no new connection that they could affect.
TEST(Assassination, LetsOldDuplicatesIn) {
  Kit careless(config_with(true));
  play_figure_1(careless);
  open_anew(careless);
  ASSERT_EQ(careless.state(), State::established);
  careless.received.clear();
  careless.deliver({.flags = flag::ack, .seq = 0xffff'ff01, .ack = 1, .data = "old data"});
  EXPECT_EQ(careless.received, "old data");

  Kit kit(config_with(false));
  play_figure_1(kit);
  open_anew(kit);
  EXPECT_EQ(kit.state(), State::time_wait);
  kit.received.clear();
  for (In const& old : {In{.flags = flag::ack, .seq = 0xffff'ff01, .ack = 1, .data = "old data"},
                        In{.flags = flag::ack, .seq = 1, .ack = 1},
                        In{.flags = flag::fin | flag::ack, .seq = 0xffff'ff01, .ack = 1},
                        In{.flags = flag::rst, .seq = 0xffff'ff01}}) {
    kit.deliver(old);
    EXPECT_LE(kit.take().size(), 1u);  // no endless exchange: at most one answer
    EXPECT_EQ(kit.state(), State::time_wait);
  }
  EXPECT_EQ(kit.received, "");
}

}  // namespace
}  // namespace lockstep::testing
