// Tests of branches that tools/mutations takes out, where those beside them look elsewhere.
#include <gtest/gtest.h>

#include "core/seam/test_kit.hpp"

namespace lockstep::testing {
namespace {

//= rfc9293#3.8.5
//= type=test
//# 9293:MUST-31 the urgent data may be longer than the segment that announces it
TEST(Sampled, UrgentDataGoesBeyondItsSegment) {
  Kit kit;
  kit.auto_consume = false;
  kit.socket_in(State::established);
  kit.deliver({.flags = flag::ack | flag::urg, .seq = 1, .ack = 1, .text = "abc", .urgent = 4000});
  ASSERT_TRUE(kit.told(EventKind::urgent));
  EXPECT_EQ(kit.events.back().kind, EventKind::urgent);
  EXPECT_EQ(kit.events.back().bytes.count, 4000u);
  EXPECT_EQ(kit.info().receive.up, kit.peer_iss + Bytes{4001});
}

}  // namespace
}  // namespace lockstep::testing
