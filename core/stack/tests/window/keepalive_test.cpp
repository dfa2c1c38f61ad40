// RFC 9293 3.8.4: keep-alive probes.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

void turn_on(Flow& flow, std::uint64_t idle_ms = 60'000) {
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::keepalive_idle_ms, idle_ms}), Refusal::none);
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::keepalive, 1}), Refusal::none);
}

//= rfc9293#3.8.4
//= type=test
//# 9293:MUST-25 off by default: an idle connection sends nothing
TEST(KeepAlive, OffByDefault) {
  Flow flow;
  flow.advance(Duration::seconds(86'400));
  EXPECT_EQ(flow.sent(), "");
  EXPECT_TRUE(flow.stack.deadline().is_never());
}

//= rfc9293#3.8.4
//= type=test
//# 9293:MUST-24 on or off per connection
//# 9293:MUST-27 the interval is configurable, and exact to the nanosecond
//# 9293:P-KA-PROBE, 9293:SHLD-12 SND.NXT - 1, without data
TEST(KeepAlive, ProbesAfterTheInterval) {
  Flow flow;
  turn_on(flow);
  flow.advance(Duration::seconds(60) - Duration{1});
  EXPECT_EQ(flow.sent(), "");
  flow.advance(Duration{1});
  EXPECT_EQ(flow.sent(), "A 0(0) ack 1");
  flow.ack(1);
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::keepalive, 0}), Refusal::none);
  flow.advance(Duration::seconds(86'400));
  EXPECT_EQ(flow.sent(), "");
}

//= rfc9293#3.8.4
//= type=test
//# 9293:MUST-28 at least two hours by default
TEST(KeepAlive, TwoHoursByDefault) {
  for (Config const& config : {Config{}, profile_rfc(), profile_linux(), profile_freebsd()}) {
    EXPECT_GE(config.tcp.keepalive_idle, Duration::seconds(7200));
    EXPECT_FALSE(config.tcp.keepalive);
  }
  Flow flow;
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::keepalive, 1}), Refusal::none);
  flow.advance(Duration::seconds(7200) - Duration{1});
  EXPECT_EQ(flow.sent(), "");
  flow.advance(Duration{1});
  EXPECT_EQ(flow.sent(), "A 0(0) ack 1");
}

//= rfc9293#3.8.4
//= type=test
//# 9293:MUST-26 a received segment restarts the interval
TEST(KeepAlive, AReceivedSegmentRestartsTheInterval) {
  Flow flow;
  turn_on(flow);
  flow.advance(Duration::seconds(59));
  flow.ack(1);
  flow.advance(Duration::seconds(60) - Duration{1});
  EXPECT_EQ(flow.sent(), "");
  flow.advance(Duration{1});
  EXPECT_EQ(flow.sent(), "A 0(0) ack 1");
}

// They are below the window, with one octet or none.
//= rfc9293#3.8.4
//= type=test
//# 9293:MUST-26 the peer's probes are received packets, too
TEST(KeepAlive, ThePeersProbesRestartTheInterval) {
  for (char const* const garbage : {"", "x"}) {
    Flow flow;
    turn_on(flow, 70'000);
    for (int minute = 0; minute < 10; ++minute) {
      flow.advance(Duration::seconds(60));
      EXPECT_EQ(flow.sent(), "");
      flow.deliver({.flags = flag::ack, .seq = 0, .ack = 1, .data = garbage});
      EXPECT_EQ(flow.sent(), "A 1(0) ack 1");
    }
    // One with an ACK of data that was never sent may be forged, and older segments prove nothing.
    flow.deliver({.flags = flag::ack, .seq = 0, .ack = 100});
    flow.deliver({.flags = flag::ack, .seq = 0xffff'ffff, .ack = 1});
    Instant const heard = flow.now;
    flow.take();
    flow.advance(Duration::seconds(60));
    flow.deliver({.flags = flag::ack, .seq = 0xffff'ffff, .ack = 1});
    flow.deliver({.flags = flag::ack, .seq = 0, .ack = 100});
    flow.take();
    flow.advance(Duration::seconds(10) - Duration{1});
    EXPECT_EQ(flow.sent(), "");
    flow.advance(Duration{1});
    EXPECT_EQ(flow.sent(), "A 0(0) ack 1");
    EXPECT_EQ(flow.now, heard + Duration::seconds(70));
  }
}

//= rfc9293#3.8.4
//= type=test
//# 9293:MUST-26 while data is in flight the retransmission timer is used, and no probe is sent
TEST(KeepAlive, NotWhileDataIsInFlight) {
  Flow flow;
  turn_on(flow, 500);
  flow.write_octets(10);
  std::uint64_t turns = 0;
  Instant const end = flow.now + Duration::seconds(10);
  while (flow.stack.deadline() <= end) {
    flow.advance(flow.stack.deadline().since(flow.now));
    ASSERT_LT(++turns, 100u);
  }
  for (Out const& out : flow.take()) {
    EXPECT_EQ(out.data.size(), 10u);
  }
}

//= rfc9293#3.8.4
//= type=test
//# 9293:MUST-29 one unanswered probe has no effect; the configured number ends the connection
TEST(KeepAlive, OnlyManyUnansweredProbesEndIt) {
  Flow flow;
  turn_on(flow);
  flow.advance(Duration::seconds(60));
  for (std::uint32_t probe = 1; probe <= 9; ++probe) {
    EXPECT_EQ(flow.sent(), "A 0(0) ack 1") << probe;
    EXPECT_EQ(flow.state(), State::established);
    flow.advance(Duration::seconds(75) - Duration{1});
    EXPECT_EQ(flow.state(), State::established);
    flow.advance(Duration{1});
  }
  EXPECT_EQ(flow.state(), State::closed);
  EXPECT_TRUE(flow.notified(EventKind::closed, Cause::keepalive_timed_out));
}

// An answer resets the count.
TEST(KeepAlive, AnAnswerResetsTheCount) {
  Flow flow;
  turn_on(flow);
  for (int i = 0; i < 30; ++i) {
    flow.advance(Duration::seconds(60));
    ASSERT_EQ(flow.sent(), "A 0(0) ack 1");
    flow.advance(Duration::milliseconds(10));
    flow.ack(1);
  }
  EXPECT_EQ(flow.state(), State::established);
}

// The peer rejects a probe by its number, and with it the ACK: the delayed ACK follows in its time.
// Otherwise each octet would wait for a retransmission.
//= rfc9293#3.8.4
//= type=test
//# 9293:P-KA-PROBE a probe does not replace an ACK
TEST(KeepAlive, AProbeDoesNotReplaceADelayedAck) {
  Config config = flow_config();
  config.tcp.delayed_ack = Duration::milliseconds(499);
  Flow flow(config);
  turn_on(flow, 200);
  flow.data(1, 10);
  EXPECT_EQ(flow.sent(), "");
  flow.advance(Duration::milliseconds(200));
  EXPECT_EQ(flow.sent(), "A 0(0) ack 11");
  flow.advance(Duration::milliseconds(299) - Duration{1});
  EXPECT_EQ(flow.sent(), "");
  flow.advance(Duration{1});
  EXPECT_EQ(flow.sent(), "A 1(0) ack 11");
}

// The peer's probes are answered, with and without a garbage octet.
TEST(KeepAlive, PeersProbesAreAnswered) {
  Flow flow;
  flow.deliver({.flags = flag::ack, .seq = 0, .ack = 1});
  EXPECT_EQ(flow.sent(), "A 1(0) ack 1");
  flow.deliver({.flags = flag::ack, .seq = 0, .ack = 1, .data = "x"});
  EXPECT_EQ(flow.sent(), "A 1(0) ack 1");
}

//= rfc9293#3.8.4
//= type=test
//# 9293:MAY-6 one garbage octet if configured
TEST(KeepAlive, OctetOfGarbage) {
  Config config = flow_config();
  config.tcp.keepalive_garbage = true;
  Flow flow(config);
  turn_on(flow);
  flow.advance(Duration::seconds(60));
  EXPECT_EQ(flow.sent(), "A 0(1) ack 1");
  EXPECT_EQ(flow.info().send.una, flow.info().send.nxt);
}

// The probe was due before the data, and waits behind it for a frame: SND.NXT - 1 is then an octet
// that the peer does not have, and garbage would become part of the stream.
//= rfc9293#3.8.4
//= type=test
//# 9293:P-KA-PROBE, 9293:MUST-26 no probe once data is in flight
TEST(KeepAlive, NoGarbageAboveDataInFlight) {
  Config config = flow_config();
  config.tcp.keepalive_garbage = true;
  Flow flow(config);
  turn_on(flow);
  flow.now = flow.now + Duration::seconds(60);
  flow.stack.receive(flow.now, {});
  flow.stack.expire(flow.now);
  flow.write_octets(10);
  EXPECT_EQ(flow.segments(), "1+10");
  flow.advance(Duration::milliseconds(100));
  EXPECT_EQ(flow.sent(), "");
}

// A probe that could not be sent for lack of resources does not count as unanswered.
//= rfc9293#3.8.4
//= type=test
//# 9293:MUST-29 only probes that were sent count
TEST(KeepAlive, UnsentProbesDoNotCount) {
  Config config = kit_config();
  config.tcp.keepalive = true;
  config.tcp.active_max = Count{1};
  Kit kit(config);
  kit.auto_consume = false;
  kit.accept_connection();
  ConnectionId const idle = kit.id;
  wire::Segment other;  // its data stays unread and uses the only resources
  other.source = {6000};
  other.destination = {Kit::device_port};
  other.flags = flag::syn;
  other.window = {65535};
  kit.send_segment(other, "");
  kit.turn();
  other.sequence = {1};
  other.acknowledgment = kit.take().at(0).absolute.next();
  other.flags = flag::ack;
  kit.send_segment(other, "x");
  kit.turn();
  ASSERT_EQ(kit.stack.set(kit.id, {SettingKind::keepalive, 0}), Refusal::none);
  kit.advance(config.tcp.delayed_ack);
  EXPECT_EQ(kit.take().size(), 1u);
  kit.advance(config.tcp.keepalive_idle + config.tcp.keepalive_interval * 20);
  EXPECT_EQ(kit.sent(), "");
  EXPECT_EQ(kit.stack.inspect(idle).state, State::established);
  kit.read(kit.id);
  kit.advance(config.tcp.keepalive_interval);
  EXPECT_EQ(kit.take().size(), 1u);
}

// An interval below a millisecond is short: neither zero nor infinite.
TEST(KeepAlive, ShortestInterval) {
  Config config = kit_config();
  config.tcp.keepalive = true;
  config.tcp.keepalive_idle = Duration::nanoseconds(1);
  config.tcp.user_timeout = Duration::nanoseconds(1);
  Kit kit(config);
  kit.accept_connection();
  EXPECT_EQ(kit.info().user_timeout, Duration::milliseconds(1));
  kit.advance(Duration::nanoseconds(999'999));
  EXPECT_EQ(kit.sent(), "");
  kit.advance(Duration::nanoseconds(1));
  EXPECT_EQ(kit.sent(), "A 0(0) ack 1");
}

// Our half is closed and the application still reads: nothing of ours is in flight, and the peer
// may be dead.
TEST(KeepAlive, InFinWait2WhileTheApplicationReads) {
  Flow flow;
  turn_on(flow);
  ASSERT_EQ(flow.stack.finish(flow.id), Refusal::none);
  flow.turn();
  flow.ack(2);
  ASSERT_EQ(flow.state(), State::fin_wait_2);
  static_cast<void>(flow.take());
  flow.advance(Duration::seconds(60));
  EXPECT_EQ(flow.sent(), "A 1(0) ack 1");
  flow.ack(2);
  flow.advance(Duration::seconds(60));
  EXPECT_EQ(flow.sent(), "A 1(0) ack 1");
  flow.advance(Duration::seconds(9 * 75));
  EXPECT_TRUE(flow.notified(EventKind::closed, Cause::keepalive_timed_out));
}

// Without keep-alives RFC 9293 sets no limit here: the peer may have much to send.
TEST(KeepAlive, FinWait2HasNoBoundOfItsOwn) {
  Flow flow;
  ASSERT_EQ(flow.stack.finish(flow.id), Refusal::none);
  flow.turn();
  flow.ack(2);
  flow.advance(Duration::seconds(86'400));
  EXPECT_EQ(flow.state(), State::fin_wait_2);
  ASSERT_EQ(flow.stack.set(flow.id, {SettingKind::keepalive, 1}), Refusal::none);
  flow.advance(Duration::seconds(7200 + 9 * 75));
  EXPECT_EQ(flow.state(), State::closed);
}

}  // namespace
}  // namespace lockstep::testing
