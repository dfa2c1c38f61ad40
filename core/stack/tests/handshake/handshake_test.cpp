// Opening, transfer and closing, each on one screen.
#include <gtest/gtest.h>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

//= rfc9293#3.5
//= type=test
//# 9293:P-3WHS figure 6, both roles
TEST(Handshake, Passive) {
  Kit kit;
  kit.listen();
  kit.deliver({.flags = flag::syn, .mss = 1460});
  EXPECT_EQ(kit.state(), State::syn_received);
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(line(out[0]), "SA 0(0) ack 1");
  EXPECT_EQ(out[0].mss, 1460);
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_TRUE(kit.notified(EventKind::accepted));
  EXPECT_EQ(kit.sent(), "");
}

TEST(Handshake, Active) {
  Kit kit;
  kit.connect();
  EXPECT_EQ(kit.state(), State::syn_sent);
  EXPECT_EQ(kit.sent(), "S 0(0)");
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_TRUE(kit.notified(EventKind::connected));
  EXPECT_EQ(kit.sent(), "A 1(0) ack 1");
}

//= rfc9293#3.5
//= type=test
//# 9293:MUST-10, 9293:P-SIMOPEN-SEQ figure 7: four segments and no more
TEST(Handshake, Simultaneous) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  kit.deliver({.flags = flag::syn, .mss = 1460});
  EXPECT_EQ(kit.state(), State::syn_received);
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1460});
  EXPECT_EQ(kit.state(), State::established);
  EXPECT_TRUE(kit.notified(EventKind::connected));
  EXPECT_EQ(kit.sent(), "");
}

TEST(Handshake, EveryStateCanBeReached) {
  for (State state :
       {State::syn_sent, State::syn_received, State::established, State::fin_wait_1,
        State::fin_wait_2, State::close_wait, State::closing, State::last_ack, State::time_wait}) {
    Kit kit;
    kit.socket_in(state);
    EXPECT_EQ(kit.state(), state);
  }
}

TEST(Transfer, DataCarriesTheAck) {
  Kit kit;
  kit.socket_in(State::established);
  kit.send({.flags = flag::ack | flag::psh, .seq = 1, .ack = 1, .data = "hello"});
  kit.write("world");
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(line(out[0]), "PA 1(5) ack 6");
  EXPECT_EQ(kit.received, "hello");
}

TEST(Transfer, OutOfOrderIsKeptAndOverlapTrimmed) {
  Kit kit;
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::ack, .seq = 6, .ack = 1, .data = "world"});
  EXPECT_EQ(kit.sent(), "A 1(0) ack 1");
  EXPECT_EQ(kit.received, "");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "helloWOR"});
  EXPECT_EQ(kit.sent(), "A 1(0) ack 11");
  EXPECT_EQ(kit.received, "helloworld");
}

//= rfc9293#3.6
//= type=test
//# 9293:P-NORMCLOSE figure 12, passive side
TEST(Close, Passive) {
  Kit kit;
  kit.socket_in(State::last_ack);
  kit.deliver({.flags = flag::ack, .seq = 2, .ack = 2});
  EXPECT_EQ(kit.state(), State::closed);
  EXPECT_TRUE(kit.notified(EventKind::peer_finished));
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::finished));
}

//= rfc9293#3.6.1
//= type=test
//# 9293:MUST-13 TIME-WAIT lasts twice the MSL of two minutes
TEST(Close, TimeWaitLastsFourMinutes) {
  Kit kit;
  kit.socket_in(State::time_wait);
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::finished));
  kit.advance(Duration::milliseconds(239'999));
  EXPECT_EQ(kit.state(), State::time_wait);
  kit.advance(Duration::milliseconds(1));
  EXPECT_EQ(kit.state(), State::closed);
}

// With Config's syn_after_bad_ack a bad ACK hastens the SYN once, and never postpones it.
TEST(Handshake, BadAcksDoNotHoldTheSynBack) {
  Config config = kit_config();
  config.tcp.syn_after_bad_ack = Duration::milliseconds(2);
  Kit kit(config);
  kit.socket_in(State::syn_sent);
  kit.take();
  Instant const begin = kit.now;
  std::size_t syns = 0;
  for (int i = 0; i != 400; ++i) {
    kit.advance(Duration::microseconds(1500));
    kit.deliver({.flags = flag::ack, .seq = 5, .ack = 100});
    for (Out const& out : kit.take()) {
      syns += out.flags == flag::syn ? 1 : 0;
      EXPECT_TRUE(out.flags != flag::syn || out.at.since(begin) <= Duration::milliseconds(4));
    }
  }
  EXPECT_EQ(syns, 1u);
}

}  // namespace
}  // namespace lockstep::testing
