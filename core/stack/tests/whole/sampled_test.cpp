// Tests of branches that tools/mutants --listed removes and that other tests do not cover.
#include <gtest/gtest.h>

#include "core/stack/testing/test_kit.hpp"

namespace lockstep::testing {
namespace {

//= rfc9293#3.8.5
//= type=test
//# 9293:MUST-31 the urgent data may be longer than the segment that announces it
TEST(Sampled, UrgentDataGoesBeyondItsSegment) {
  Kit kit;
  kit.auto_consume = false;
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::ack | flag::urg, .seq = 1, .ack = 1, .data = "abc", .urgent = 4000});
  ASSERT_TRUE(kit.notified(EventKind::urgent));
  EXPECT_EQ(kit.events.back().kind, EventKind::urgent);
  EXPECT_EQ(kit.events.back().bytes.count, 4000u);
  EXPECT_EQ(kit.info().receive.up, kit.peer_iss + Bytes{4001});
}

//= rfc9293#3.4
//= type=test
//# 9293:P-CTL-ONCE the first FIN determines the end of the stream, and a later one has no effect
TEST(Sampled, TheFirstFinEndsTheStream) {
  Kit kit;
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::ack | flag::fin, .seq = 4, .ack = 1});
  kit.deliver({.flags = flag::ack | flag::fin, .seq = 4, .ack = 1, .data = "beyond"});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "abc"});
  EXPECT_EQ(kit.received, "abc");
  EXPECT_EQ(kit.state(), State::close_wait);
  EXPECT_EQ(kit.info().receive.nxt, kit.peer_iss + Bytes{5});
}

//= rfc9293#3.8.6.1
//= type=test
//# 9293:P-ZWP-REPLY a probe with the last octet again is answered: RCV.NXT and window 0
TEST(Sampled, AnOldOctetAtAZeroWindow) {
  Config config = kit_config();
  config.tcp.receive_buffer = Bytes{1000};
  Kit kit(config);
  kit.auto_consume = false;
  kit.accept_connection();
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = std::string(1000, 'x')});
  kit.advance(Duration::seconds(1));
  static_cast<void>(kit.take());
  kit.deliver({.flags = flag::ack, .seq = 1000, .ack = 1, .data = "x"});
  auto const out = kit.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(line(out[0]), "A 1(0) ack 1001");
  EXPECT_EQ(out[0].window, 0);
}

}  // namespace
}  // namespace lockstep::testing
