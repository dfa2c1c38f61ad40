// RFC 9293 3.8.6: the peer's window opens, closes, shrinks, and is probed.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr Duration ms(std::uint64_t count) { return Duration::milliseconds(count); }

//= rfc9293#3.8.6.1
//= type=test
//# 9293:P-ZWP-SEND, 9293:MUST-36 one octet beyond a zero window, to learn when it opens
//# 9293:SHLD-29, 9293:SHLD-30 first after one RTO, then twice as long each time
TEST(Persist, ProbesAZeroWindow) {
  Flow flow;
  flow.ack_with_window(1, 0);
  flow.write_octets(3000);
  EXPECT_EQ(flow.segments(), "");
  EXPECT_EQ(flow.info().persist_due, flow.now + Duration::seconds(1));
  flow.advance(Duration::seconds(1) - Duration{1});
  EXPECT_EQ(flow.segments(), "");
  flow.advance(Duration{1});
  EXPECT_EQ(flow.segments(), "1+1");
  Instant const start = flow.now;
  flow.advance(Duration::seconds(100));
  std::string times;
  for (Out const& out : flow.take()) {
    EXPECT_EQ(line(out), "A 1(1) ack 1");
    times += std::to_string(out.at.since(start).ns / 1'000'000'000) + " ";
  }
  EXPECT_EQ(times, "2 6 14 30 62 ");
}

// The first octet beyond the window never advanced: it is retransmitted with the data after it.
//= rfc9293#3.8.6
//= type=test
//# 9293:P-WND-FIT repackaged on retransmission
TEST(Persist, OpeningEndsProbing) {
  Flow flow;
  flow.ack_with_window(1, 0);
  flow.write_octets(3000);
  flow.advance(Duration::seconds(4));
  EXPECT_EQ(flow.segments(), "1+1 1+1");
  flow.ack_with_window(1, 5000);
  EXPECT_EQ(flow.segments(), "1+1000 1001+1000 2001+1000");
  EXPECT_TRUE(flow.info().persist_due.is_never());
  EXPECT_FALSE(flow.info().retransmit_due.is_never());
}

// The octet of the probe was accepted.
TEST(Persist, ProbeIsAcknowledged) {
  Flow flow;
  flow.ack_with_window(1, 0);
  flow.write_octets(3000);
  flow.advance(Duration::seconds(1));
  flow.segments();
  flow.ack(2);
  EXPECT_EQ(flow.segments(), "");
  EXPECT_FALSE(flow.info().persist_due.is_never());
  flow.ack_with_window(2, 5000);
  EXPECT_EQ(flow.segments(), "2+1000 1002+1000");
}

//= rfc9293#3.8.6.1
//= type=test
//# 9293:MUST-37 answered probes keep the connection open indefinitely
TEST(Persist, AnsweredProbesKeepTheConnection) {
  Flow flow;
  flow.ack_with_window(1, 0);
  flow.write_octets(3000);
  Instant const end = flow.now + Duration::seconds(86'400);
  while (flow.now < end) {
    flow.advance(flow.stack.deadline().since(flow.now));
    if (flow.segments() == "1+1") {
      flow.advance(ms(10));
      flow.ack(1);
    }
    ASSERT_EQ(flow.state(), State::established);
  }
}

// Even if the interval between probes is longer than R2.
//= rfc9293#3.8.6.1
//= type=test
//# 9293:MUST-37 R2 starts at the first unanswered probe
TEST(Persist, RareProbesAndAShortUserTimeout) {
  Flow flow;
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::user_timeout_ms, 5000}), Refusal::none);
  flow.ack_with_window(1, 0);
  flow.write_octets(3000);
  for (int probe = 0; probe < 10; ++probe) {
    flow.advance(flow.info().persist_due.since(flow.now));
    ASSERT_EQ(flow.segments(), "1+1");
    flow.ack(1);
  }
  EXPECT_EQ(flow.state(), State::established);
  flow.advance(flow.info().persist_due.since(flow.now));
  flow.advance(Duration::seconds(5) - Duration{1});
  EXPECT_EQ(flow.state(), State::established);
  flow.advance(Duration{1});
  EXPECT_TRUE(flow.notified(EventKind::closed, Cause::timed_out));
}

// An unanswered probe is repeated before R2: one lost packet ends no connection.
//= rfc9293#3.8.6.1
//= type=test
//# 9293:MUST-37 as long as the peer answers probes
//# 9293:SHLD-30 the interval continues to grow after an answer
TEST(Persist, OneLostProbeDoesNotEndTheConnection) {
  for (std::uint64_t const timeout : {5'000u, 20'000u, 100'000u}) {
    Flow flow;
    EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::user_timeout_ms, timeout}), Refusal::none);
    flow.ack_with_window(1, 0);
    flow.write_octets(3000);
    for (int probe = 0; probe < 12; ++probe) {
      flow.advance(flow.info().persist_due.since(flow.now));
      ASSERT_EQ(flow.segments(), "1+1");
      Instant const sent = flow.now;
      if (probe % 2 == 1) {
        flow.advance(flow.info().persist_due.since(flow.now));
        ASSERT_EQ(flow.segments(), "1+1") << timeout << " " << probe;
        EXPECT_LE(flow.now.since(sent), ms(timeout / 2));
      }
      Instant const again = flow.now;
      flow.advance(ms(10));
      flow.ack(1);
      ASSERT_EQ(flow.state(), State::established) << timeout << " " << probe;
      if (probe > 6) {
        EXPECT_EQ(flow.info().persist_due, again + Duration::seconds(60));
      }
    }
  }
}

//= rfc9293#3.8.6
//= type=test
//# 9293:MUST-34 a window that shrinks below the flight: no new data, and it recovers
//# 9293:SHLD-15, 9293:SHLD-16 nothing beyond the new edge is sent or retransmitted
TEST(Persist, ShrunkWindow) {
  Flow flow;
  flow.write_octets(20'000);
  EXPECT_EQ(flow.segments(), "1+1000 1001+1000 2001+1000 3001+1000");
  flow.ack_with_window(1001, 1500);
  EXPECT_EQ(flow.segments(), "");
  flow.time_out();
  EXPECT_EQ(flow.segments(), "1001+1000");
  flow.ack_with_window(2001, 500);
  for (Out const& out : flow.take()) {
    EXPECT_LE(out.seq + out.data.size(), 2501u);
  }
  flow.ack_with_window(4001, 60'000);
  EXPECT_EQ(flow.segments(), "4001+1000 5001+1000 6001+1000");
}

//= rfc9293#3.8.6
//= type=test
//# 9293:SHLD-17 data beyond a shrunk edge may stay unacknowledged while the peer answers
TEST(Persist, DataBeyondAShrunkEdgeDoesNotTimeOut) {
  for (bool const answered : {true, false}) {
    Flow flow;
    flow.write_octets(3000);
    EXPECT_EQ(flow.segments(), "1+1000 1001+1000 2001+1000");
    flow.ack_with_window(1001, 500);
    flow.ack_with_window(1501, 0);
    flow.segments();
    Instant const end = flow.now + Duration::seconds(3600);
    while (flow.now < end && flow.state() == State::established) {
      flow.advance(flow.stack.deadline().since(flow.now));
      bool const probed = !flow.segments().empty();
      if (probed && answered) {
        flow.advance(ms(10));
        flow.ack(1501);
      }
    }
    EXPECT_EQ(flow.state(), answered ? State::established : State::closed);
    EXPECT_EQ(flow.notified(EventKind::closed, Cause::timed_out), !answered);
  }
}

//= rfc9293#3.8.6
//= type=test
//# 9293:MUST-35 a window shrunk to zero is probed
TEST(Persist, ShrunkToZero) {
  Flow flow;
  flow.write_octets(3000);
  EXPECT_EQ(flow.segments(), "1+1000 1001+1000 2001+1000");
  flow.ack_with_window(1001, 0);
  flow.time_out();
  EXPECT_EQ(flow.segments(), "1001+1");
  EXPECT_FALSE(flow.info().persist_due.is_never());
  flow.ack_with_window(1001, 5000);
  EXPECT_EQ(flow.segments(), "1001+1000 2001+1000");
}

// Nothing in flight, all acknowledged, then closed.
//= rfc9293#3.8.6
//= type=test
//# 9293:MUST-35 with nothing in flight the probe is sent after one RTO
TEST(Persist, ClosedWhileIdle) {
  Flow flow;
  flow.write_octets(1000);
  flow.ack_with_window(1001, 0);
  flow.segments();
  flow.write_octets(1000);
  flow.advance(flow.info().rto);
  EXPECT_EQ(flow.segments(), "1001+1");
}

// A FIN without data is its own probe.
TEST(Persist, FinIsTheProbe) {
  Flow flow;
  flow.ack_with_window(1, 0);
  EXPECT_EQ(flow.stack.finish(flow.id), Refusal::none);
  flow.turn();
  EXPECT_EQ(flow.segments(), "");
  flow.advance(Duration::seconds(1));
  EXPECT_EQ(flow.segments(), "1+0F");
  flow.ack(2);
  EXPECT_EQ(flow.state(), State::fin_wait_2);
}

//= rfc9293#3.8.6
//= type=test
//# 9293:P-WND-HIGHACK a segment with an older ACK does not change the window
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-WND-UPDATE newer by SEQ, or equal SEQ and ACK not older; never with an ACK below SND.UNA
TEST(Persist, OnlyNewerSegmentsMoveTheWindow) {
  Flow flow;
  flow.write_octets(3000);
  flow.ack_with_window(2001, 9000);
  EXPECT_EQ(flow.info().send.wnd.count, 9000u);
  flow.deliver({.flags = flag::ack, .seq = 1, .ack = 1001, .window = 100});
  EXPECT_EQ(flow.info().send.wnd.count, 9000u);
  flow.deliver({.flags = flag::ack, .seq = 1, .ack = 2001, .window = 8000});
  EXPECT_EQ(flow.info().send.wnd.count, 8000u);
  flow.deliver({.flags = flag::ack, .seq = 1, .ack = 1001, .data = "abc", .window = 7000});
  EXPECT_EQ(flow.info().send.wnd.count, 8000u);
  // A delayed segment from before an early ACK: its window began 1000 octets further left.
  flow.deliver({.flags = flag::ack, .seq = 4, .ack = 1001, .data = "def", .window = 9000});
  EXPECT_EQ(flow.info().send.wnd.count, 8000u);
  flow.deliver({.flags = flag::ack, .seq = 7, .ack = 2001, .data = "ghi", .window = 6000});
  EXPECT_EQ(flow.info().send.wnd.count, 6000u);
}

// A forged segment inside the window, with the highest SEG.SEQ and a window of zero. The peer only
// acknowledges, so its SEG.SEQ stays below; an ACK that advances SND.UNA is newer all the same.
TEST(Persist, AForgedClosedWindowDoesNotLast) {
  Flow flow(bare_config(), {.mss = 1460, .sack = true, .stamp = 1});
  flow.write_octets(60'000);
  std::uint32_t const sent = flow.flight();
  flow.segments();
  flow.deliver({.flags = flag::ack, .seq = 5000, .ack = 1, .window = 0});
  EXPECT_EQ(flow.info().send.wnd.count, 0u);
  flow.ack(sent + 1);
  EXPECT_EQ(flow.info().send.wnd.count, 65'535u);
  EXPECT_GE(flow.flight(), sent);
  // From then on windows of equal ACKs count again.
  flow.ack_with_window(sent + 1, 50'000);
  EXPECT_EQ(flow.info().send.wnd.count, 50'000u);
}

//= rfc9293#3.1
//= type=test
//# 9293:MUST-1 the field is unsigned
TEST(Persist, WindowsWithTheTopBit) {
  Flow flow;
  for (std::uint16_t offered : {std::uint16_t{0x8000}, std::uint16_t{0xffff}}) {
    flow.ack_with_window(1, offered);
    EXPECT_EQ(flow.info().send.wnd.count, offered);
  }
}

// --- our own window, closed ---

Config small_buffer(std::uint32_t bytes) {
  Config config = flow_config();
  config.tcp.receive_buffer = Bytes{bytes};
  return config;
}

//= rfc9293#3.8.6.1
//= type=test
//# 9293:P-ZWP-REPLY a probe is answered by RCV.NXT and the zero window
//= rfc9293#3.4
//= type=test
//# 9293:MUST-66, 9293:P-ZEROWND-SEND ACKs are processed, and we continue to send
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-ZEROWND-ACCEPT although the octets are not accepted
TEST(Persist, OwnWindowClosed) {
  Flow flow(small_buffer(2000));
  flow.auto_consume = false;
  flow.data(1, 1000);
  flow.data(1001, 1000);
  auto out = flow.take();
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(line(out.back()), "A 1(0) ack 2001");
  EXPECT_EQ(out.back().window, 0);
  flow.data(2001, 1);
  out = flow.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(line(out[0]), "A 1(0) ack 2001");
  EXPECT_EQ(out[0].window, 0);
  flow.peer_next = 2001;
  flow.write_octets(1500);
  EXPECT_EQ(flow.segments(), "1+1000");
  flow.deliver({.flags = flag::ack, .seq = 2001, .ack = 1001, .data = octets(2001, 1)});
  EXPECT_EQ(flow.info().send.una.value - flow.device_iss.value, 1001u);
  EXPECT_EQ(flow.info().receive.unread.count, 2000u);
}

//= rfc9293#3.8.6
//= type=test
//# 9293:P-WND-OVERRUN data beyond the window is trimmed
//= rfc9293#3.1
//= type=test
//# 9293:P-WIN-FIELD up to ACK + window, and not one octet more
TEST(Persist, BeyondTheOwnWindow) {
  Flow flow(small_buffer(2000));
  flow.auto_consume = false;
  flow.data(1, 1400);
  flow.data(1401, 700);
  EXPECT_EQ(flow.info().receive.unread.count, 2000u);
  EXPECT_EQ(flow.info().receive.nxt.value - flow.peer_iss.value, 2001u);
  flow.data(2001, 100);
  EXPECT_EQ(flow.info().receive.unread.count, 2000u);
  EXPECT_GE(flow.drops(Drop::tcp_data_beyond_window), 1u);
  EXPECT_EQ(flow.read(flow.id), octets(1, 2000));
}

// Another connection, with 2000 octets of data in two blocks of the store.
void unread_data_of_another(Flow& flow) {
  wire::Segment s;
  s.source = {6000};
  s.destination = {Kit::device_port};
  s.sequence = {1999};
  s.flags = flag::syn;
  s.window = {65535};
  flow.send_segment(s, "");
  flow.turn();
  s.sequence = {2000};
  s.acknowledgment = flow.take().back().absolute.next();
  s.flags = flag::ack;
  flow.send_segment(s, octets(1, 2000));
  flow.turn();
  ASSERT_EQ(flow.info().receive.unread.count, 2000u);
}

// Space became free without reading (another connection released it): a probe reports it.
TEST(Persist, ProbeReportsNewSpace) {
  Config config = small_buffer(2000);
  config.tcp.blocks_max = Count{5};
  config.tcp.reserve_blocks = Count{2};
  Flow flow(config);
  flow.auto_consume = false;
  flow.data(1, 1000);
  flow.data(1001, 1000);
  ConnectionId const shut = flow.id;
  unread_data_of_another(flow);
  flow.stack.consume(shut, Bytes{1940});
  flow.turn();
  EXPECT_EQ(flow.stack.inspect(shut).receive.wnd.count, 0u);
  flow.stack.consume(flow.id, Bytes{2000});
  flow.advance(config.tcp.delayed_ack);
  flow.take();
  EXPECT_EQ(flow.stack.inspect(shut).receive.wnd.count, 0u);
  flow.data(2001, 1);
  auto const out = flow.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].ack, 2001u);
  EXPECT_EQ(out[0].window, 1940);
}

//= rfc9293#3.8.6
//= type=test
//# 9293:SHLD-14 the right edge never moves left
TEST(Persist, OwnEdgeNeverMovesBack) {
  Flow flow(small_buffer(8000));
  flow.auto_consume = false;
  std::uint32_t edge = 0;
  for (std::uint32_t i = 0; i < 60; ++i) {
    std::uint32_t const from = flow.info().receive.nxt.value - flow.peer_iss.value;
    if (!flow.info().receive.wnd.empty()) {
      flow.data(from, std::min(300u, flow.info().receive.wnd.count));
    }
    if (i == 20) {
      EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::receive_buffer, 1000}), Refusal::none);
    }
    if (i % 3 == 0) {
      flow.stack.consume(flow.id, Bytes{i * 11});
      flow.turn();
    }
    for (Out const& out : flow.take()) {
      EXPECT_GE(out.ack + out.window, edge);
      edge = out.ack + out.window;
    }
  }
}

// A larger buffer opens a closed window, and the peer is notified at once.
TEST(Persist, GrownBufferOpensTheWindow) {
  Config config = flow_config();
  config.tcp.receive_buffer = Bytes{2000};
  Flow flow(config);
  flow.auto_consume = false;
  flow.data(1, 1000);
  flow.data(1001, 1000);
  flow.take();
  EXPECT_EQ(flow.info().receive.wnd.count, 0u);
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::receive_buffer, 10'000}), Refusal::none);
  flow.turn();
  auto const updates = flow.take();
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(updates[0].ack, 2001u);
  EXPECT_EQ(updates[0].window, 8000u);
  // A smaller one retracts nothing.
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::receive_buffer, 1000}), Refusal::none);
  flow.turn();
  EXPECT_EQ(flow.info().receive.wnd.count, 8000u);
}

}  // namespace
}  // namespace lockstep::testing
