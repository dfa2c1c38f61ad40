// RFC 9293 3.8.6.2 and 3.7.4: silly window avoidance on both sides, and Nagle.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr Duration ms(std::uint64_t count) { return Duration::milliseconds(count); }

//= rfc9293#3.7.4
//= type=test
//# 9293:P-NAGLE, 9293:SHLD-7 a small segment waits for ACKs, with or without PSH
//= rfc9293#3.9.1.2
//= type=test
//# 9293:SHLD-27 data pushed twice is sent in one segment with one PSH
TEST(Nagle, SmallDataWaits) {
  Flow flow;
  flow.write_octets(10);
  EXPECT_EQ(flow.segments(), "1+10");
  flow.write_octets(10);
  flow.write_octets(20);
  EXPECT_EQ(flow.segments(), "");
  flow.ack(11);
  EXPECT_EQ(flow.sent(), "PA 11(30) ack 1");
  flow.write_octets(1500);
  EXPECT_EQ(flow.segments(), "41+1000");
  flow.ack(41);
  EXPECT_EQ(flow.segments(), "");
  flow.ack(1041);
  EXPECT_EQ(flow.segments(), "1041+500");
}

// Profiles default and linux: a small segment waits only for another small one.
//= rfc9293#3.7.4
//= type=test
//# 9293:P-NAGLE the modification of appendix A.3
TEST(Nagle, TheEndOfAResponseDoesNotWait) {
  EXPECT_TRUE(Config{}.tcp.nagle_minshall);
  EXPECT_TRUE(profile_linux().tcp.nagle_minshall);
  EXPECT_FALSE(profile_freebsd().tcp.nagle_minshall);
  Config config = flow_config();
  EXPECT_FALSE(config.tcp.nagle_minshall);
  config.tcp.nagle_minshall = true;
  Flow flow(config);
  flow.write_octets(1500);
  EXPECT_EQ(flow.segments(), "1+1000 1001+500");
  flow.write_octets(300);
  EXPECT_EQ(flow.segments(), "");
  flow.write_octets(900);
  EXPECT_EQ(flow.segments(), "1501+1000");
  flow.ack(1001);
  EXPECT_EQ(flow.segments(), "");
  flow.ack(1501);
  EXPECT_EQ(flow.segments(), "2501+200");
  flow.write_octets(10);
  EXPECT_EQ(flow.segments(), "");
  flow.ack(2701);
  EXPECT_EQ(flow.segments(), "2701+10");
}

// After `finish` no data can be added to the last segment, so it leaves at once, with the FIN. The
// peer's window and cwnd apply to it as to any other.
//= rfc9293#3.10.4
//= type=test
//# 9293:P-CLOSE-PUSH, 9293:P-CLOSE-QUEUED the close pushes what Nagle would hold
TEST(Nagle, TheLastDataBeforeAFinDoesNotWait) {
  Flow flow;
  flow.write_octets(1500);
  EXPECT_EQ(flow.segments(), "1+1000");
  EXPECT_EQ(flow.stack.finish(flow.id), Refusal::none);
  flow.turn();
  EXPECT_EQ(flow.segments(), "1001+500F");

  Flow narrow(flow_config(), {.window = 1500});
  narrow.write_octets(1500);
  EXPECT_EQ(narrow.segments(), "1+1000");
  EXPECT_EQ(narrow.stack.finish(narrow.id), Refusal::none);
  narrow.turn();
  EXPECT_EQ(narrow.segments(), "1001+500");
  narrow.ack(1501);
  EXPECT_EQ(narrow.segments(), "1501+0F");

  Flow slow;
  slow.write_octets(1000);
  slow.time_out();
  EXPECT_EQ(slow.segments(), "1+1000 1+1000");
  slow.write_octets(10);
  EXPECT_EQ(slow.stack.finish(slow.id), Refusal::none);
  slow.turn();
  EXPECT_EQ(slow.segments(), "");
}

//= rfc9293#3.7.4
//= type=test
//# 9293:MUST-17 it can be switched off during a connection
TEST(Nagle, CanBeSwitchedOff) {
  Flow flow;
  flow.write_octets(10);
  flow.write_octets(10);
  EXPECT_EQ(flow.segments(), "1+10");
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::nagle, 0}), Refusal::none);
  flow.turn();
  EXPECT_EQ(flow.segments(), "11+10");
  flow.write_octets(5);
  EXPECT_EQ(flow.segments(), "21+5");
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::nagle, 1}), Refusal::none);
  flow.write_octets(5);
  EXPECT_EQ(flow.segments(), "");
}

//= rfc9293#3.7.4
//= type=test
//# 9293:P-NAGLE-CWND cwnd applies with Nagle off, too
TEST(Nagle, CongestionWindowComesFirst) {
  Flow flow;
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::nagle, 0}), Refusal::none);
  flow.write_octets(1000);
  flow.time_out();
  EXPECT_EQ(flow.segments(), "1+1000 1+1000");
  EXPECT_EQ(flow.cwnd(), 1000u);
  flow.write_octets(10);
  EXPECT_EQ(flow.segments(), "");
}

//= rfc9293#3.7
//= type=test
//# 9293:P-NO-BOUNDARY writes and segments are independent
TEST(Segmentation, NoBoundaries) {
  Flow flow;
  flow.write_octets(10);
  flow.write_octets(300);
  flow.write_octets(300);
  flow.write_octets(300);
  EXPECT_EQ(flow.segments(), "1+10");
  flow.ack(11);
  EXPECT_EQ(flow.segments(), "11+900");
  flow.ack(911);
  flow.write_octets(3000);
  EXPECT_EQ(flow.segments(), "911+1000 1911+1000 2911+1000");
}

//= rfc9293#3.8.6.2.1
//= type=test
//# 9293:MUST-38, 9293:P-SWS-USABLE a window that opens by a little is ignored
//# 9293:P-SWS-SEND-FULL until a full-sized segment fits
TEST(SendSws, WaitsForAFullSegment) {
  Flow flow;
  flow.write_octets(1000);
  flow.ack_with_window(1001, 0);
  flow.segments();
  flow.write_octets(3000);
  for (std::uint32_t opened = 100; opened < 1000; opened += 100) {
    flow.ack_with_window(1001, static_cast<std::uint16_t>(opened));
    EXPECT_EQ(flow.segments(), "") << opened;
  }
  flow.ack_with_window(1001, 1000);
  EXPECT_EQ(flow.segments(), "1001+1000");
}

//= rfc9293#3.8.6.2.1
//= type=test
//# 9293:P-SWS-SEND-PUSH all of it fits, is pushed, and nothing is in flight
TEST(SendSws, AllThatIsQueued) {
  Flow flow;
  flow.ack_with_window(1, 60);
  flow.write_octets(50);
  EXPECT_EQ(flow.segments(), "1+50");
  flow.write_octets(5);
  EXPECT_EQ(flow.segments(), "");
  Flow held;
  held.write_octets(50, More::yes);
  EXPECT_EQ(held.segments(), "");
  held.write_octets(50, More::no);
  EXPECT_EQ(held.segments(), "1+100");
}

//= rfc9293#3.8.6.2.1
//= type=test
//# 9293:P-SWS-SEND-FRAC half of the largest window ever advertised
//= rfc9293#3.8.6
//= type=test
//# 9293:P-WND-FIT a segment is cut to the window
TEST(SendSws, HalfOfTheLargestWindow) {
  Flow flow(flow_config(), {.window = 600});
  flow.write_octets(3000);
  EXPECT_EQ(flow.segments(), "1+600");
  flow.ack_with_window(601, 299);
  EXPECT_EQ(flow.segments(), "");
  flow.ack_with_window(601, 300);
  EXPECT_EQ(flow.segments(), "601+300");
}

// An empty write pushes held data, and has no effect without any.
TEST(SendSws, AnEmptyWritePushes) {
  Flow flow;
  flow.write_octets(50, More::yes);
  flow.write_octets(0, More::yes);
  EXPECT_EQ(flow.segments(), "");
  flow.write_octets(0);
  EXPECT_EQ(flow.segments(), "1+50");
  flow.ack(51);
  flow.write_octets(0);
  EXPECT_EQ(flow.segments(), "");
  EXPECT_EQ(flow.stack.pools().active, 0u);
}

// Rule 3 does not need PUSH: data that was not pushed is sent once it fills half a window.
TEST(SendSws, HalfAWindowNeedsNoPush) {
  Flow flow(flow_config(), {.window = 600});
  flow.write_octets(299, More::yes);
  EXPECT_EQ(flow.segments(), "");
  flow.write_octets(1, More::yes);
  EXPECT_EQ(flow.segments(), "1+300");
}

//= rfc9293#3.8.6.2.1
//= type=test
//# 9293:P-SWS-SEND-OVERRIDE exactly after the override timeout
//= rfc9293#3.9.1.2
//= type=test
//# 9293:MUST-60 nothing is held forever
TEST(SendSws, OverrideTimeout) {
  Flow flow;
  flow.ack_with_window(1, 400);
  flow.write_octets(3000);
  EXPECT_EQ(flow.segments(), "");
  flow.advance(ms(200) - Duration{1});
  EXPECT_EQ(flow.segments(), "");
  flow.advance(Duration{1});
  EXPECT_EQ(flow.segments(), "1+400");

  Flow held;
  held.write_octets(10, More::yes);
  held.advance(ms(200) - Duration{1});
  EXPECT_EQ(held.segments(), "");
  held.advance(Duration{1});
  EXPECT_EQ(held.segments(), "1+10");
}

// Small updates of a small window do not postpone the override forever.
TEST(SendSws, UpdatesDoNotPostponeTheOverride) {
  Flow flow;
  flow.ack_with_window(1, 400);
  flow.write_octets(3000);
  flow.advance(ms(150));
  flow.ack_with_window(1, 401);
  flow.advance(ms(50));
  EXPECT_EQ(flow.segments(), "1+401");
}

//= rfc9293#3.9.1.2
//= type=test
//# 9293:MUST-61, 9293:P-SEND-PUSHBIT PSH on the last segment of a write, and on no other
TEST(Segmentation, PushOnTheLastSegment) {
  Flow flow;
  flow.write_octets(2500);
  flow.ack(1001);
  flow.ack(2001);
  std::string flags;
  for (Out const& out : flow.take()) {
    flags += letters(out.flags) + std::to_string(out.data.size()) + " ";
  }
  EXPECT_EQ(flags, "A1000 A1000 PA500 ");
}

// --- our window ---

Config small_buffer(std::uint32_t bytes) {
  Config config = flow_config();
  config.tcp.receive_buffer = Bytes{bytes};
  return config;
}

// Fills the buffer, then reads octet by octet; returns how much was read before the edge moved.
std::uint32_t read_before_update(std::uint32_t buffer, std::uint16_t mss) {
  Flow flow(small_buffer(buffer), {.mss = mss});
  flow.auto_consume = false;
  for (std::uint32_t at = 1; at <= buffer; at += 500) {
    flow.data(at, std::min(500u, buffer + 1 - at));
  }
  flow.advance(ms(500));
  EXPECT_EQ(flow.take().back().window, 0);
  for (std::uint32_t done = 1; done <= buffer; ++done) {
    flow.stack.consume(flow.id, Bytes{1});
    flow.turn();
    auto const out = flow.take();
    if (!out.empty()) {
      EXPECT_EQ(out[0].window, done);
      return done;
    }
  }
  return 0;
}

//= rfc9293#3.8.6.2.2
//= type=test
//# 9293:MUST-39, 9293:P-SWS-RCV the edge stays until half the buffer or a segment is free
TEST(ReceiveSws, EdgeMovesByWorthwhileSteps) {
  EXPECT_EQ(read_before_update(8000, 1000), 1000u);
  EXPECT_EQ(read_before_update(1200, 1000), 600u);
}

// The same for ACKs sent anyway: their window moves only in such steps.
TEST(ReceiveSws, AcksMoveTheEdgeInWorthwhileSteps) {
  Flow flow(small_buffer(8000));
  flow.auto_consume = false;
  std::uint32_t edge = 8001;
  for (std::uint32_t i = 0; i < 30; ++i) {
    flow.data(1 + 200 * i, 200);
    flow.stack.consume(flow.id, Bytes{170});
    flow.turn();
    for (Out const& out : flow.take()) {
      std::uint32_t const offered = out.ack + out.window;
      EXPECT_TRUE(offered == edge || offered >= edge + 1000) << offered - edge;
      edge = offered;
    }
  }
  EXPECT_GT(edge, 8001u);
}

// A burst fills the window and ends with an old segment: its duplicate ACK repeats the old edge,
// and the space freed by reading is still advertised.
TEST(ReceiveSws, UpdateFollowsDuplicates) {
  Flow flow(small_buffer(2000));
  flow.send({.flags = flag::ack, .seq = 1, .ack = 1, .data = octets(1, 1000)});
  flow.send({.flags = flag::ack, .seq = 1001, .ack = 1, .data = octets(1001, 1000)});
  flow.send({.flags = flag::ack, .seq = 1, .ack = 1, .data = octets(1, 1000)});
  flow.turn();
  std::vector<std::uint32_t> windows;
  for (Out const& out : flow.take()) {
    EXPECT_EQ(out.ack, 2001u);
    windows.push_back(out.window);
  }
  EXPECT_EQ(windows, (std::vector<std::uint32_t>{0, 0, 2000}));
}

}  // namespace
}  // namespace lockstep::testing
