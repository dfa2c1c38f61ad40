// RFC 6298 and RFC 9293 3.8.1 to 3.8.3 on the wire: when the timer fires and what is sent.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr Duration ms(std::uint64_t count) { return Duration::milliseconds(count); }

Config no_floor() {
  Config config = flow_config();
  config.tcp.rto_min = ms(1);
  return config;
}

// Everything sent until `until`, as "milliseconds:flags number" from now on.
std::string departures(Kit& kit, Duration until) {
  Instant const start = kit.now;
  kit.take();
  kit.advance(until);
  std::string out;
  for (Out const& segment : kit.take()) {
    out += (out.empty() ? "" : " ") + std::to_string(segment.at.since(start).ns / 1'000'000) + ":" +
           letters(segment.flags) + std::to_string(segment.seq);
  }
  return out;
}

//= rfc6298#2.1
//= type=test
//# 6298:RTO-1, 6298:RTO-20 one second at first, doubled each time without a sample
//= rfc6298#5.5
//= type=test
//# 6298:RTO-14, 6298:RTO-15 1, 2, 4, ... up to the maximum
TEST(Retransmission, SynBacksOff) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  EXPECT_EQ(departures(kit, Duration::seconds(179)),
            "1000:S0 3000:S0 7000:S0 15000:S0 31000:S0 63000:S0 127000:S0");
}

//= rfc6298#2.5
//= type=test
//# 6298:RTO-5 no RTO is above the maximum
TEST(Retransmission, BackOffIsBounded) {
  Config config = flow_config();
  config.tcp.rto_max = Duration::seconds(60);
  config.tcp.user_timeout = Duration{};
  Flow flow(config);
  flow.write_octets(10);
  EXPECT_EQ(departures(flow, Duration::seconds(250)),
            "1000:PA1 3000:PA1 7000:PA1 15000:PA1 31000:PA1 63000:PA1 123000:PA1 183000:PA1 "
            "243000:PA1");
}

//= rfc9293#3.10.8
//= type=test
//# 9293:P-RTO retransmits the front of the queue and restarts the timer
//= rfc6298#5.4
//= type=test
//# 6298:RTO-13 the earliest unacknowledged octets
//= rfc6298#5
//= type=test
//# 6298:RTO-9 not a nanosecond before the timeout
TEST(Retransmission, FrontOfTheQueueExactlyAfterTheTimeout) {
  Flow flow;
  flow.write_octets(3000);
  EXPECT_EQ(flow.segments(), "1+1000 1001+1000 2001+1000");
  Instant const due = flow.info().retransmit_due;
  EXPECT_EQ(due, flow.now + flow.info().rto);
  flow.advance(flow.info().rto - Duration{1});
  EXPECT_EQ(flow.segments(), "");
  flow.advance(Duration{1});
  EXPECT_EQ(flow.segments(), "1+1000");
  EXPECT_EQ(flow.info().retransmit_due, flow.now + Duration::seconds(2));
}

//= rfc6298#5.1
//= type=test
//# 6298:RTO-10 later segments do not postpone the timer
TEST(Retransmission, LaterSegmentsLeaveTheTimerAlone) {
  Flow flow;
  flow.write_octets(1000);
  Instant const due = flow.info().retransmit_due;
  flow.advance(ms(400));
  flow.write_octets(1000);
  EXPECT_EQ(flow.info().retransmit_due, due);
}

//= rfc6298#5.3
//= type=test
//# 6298:RTO-12 an ACK of new data restarts the timer
//= rfc6298#5.2
//= type=test
//# 6298:RTO-11 and an ACK of all data stops it
//= rfc6298#5
//= type=test
//# 6298:RTO-9 so later data is not retransmitted before a whole RTO
//= rfc6298#1
//= type=test
//# 6298:RTO-24 nothing is sent earlier than these rules permit
TEST(Retransmission, AckRestartsTheTimer) {
  Flow flow;
  flow.write_octets(2000);
  flow.advance(ms(600));
  flow.ack(1001);
  EXPECT_EQ(flow.info().retransmit_due, flow.now + flow.info().rto);
  flow.segments();
  flow.advance(flow.info().rto - Duration{1});
  EXPECT_EQ(flow.segments(), "");
  flow.ack(2001);
  EXPECT_TRUE(flow.info().retransmit_due.is_never());
  flow.advance(Duration::seconds(600));
  EXPECT_EQ(flow.segments(), "");
}

// Only an ACK of new data restarts the timer: an old ACK must not postpone it.
TEST(Retransmission, OldAcksDoNotPostponeTheTimer) {
  Flow flow;
  flow.write_octets(1000);
  flow.advance(ms(900));
  flow.segments();
  flow.ack(1);
  flow.advance(ms(100));
  EXPECT_EQ(flow.segments(), "1+1000");
}

//= rfc6298#3
//= type=test
//# 6298:RTO-6 retransmitted data gives no sample
//= rfc9293#3.8.1
//= type=test
//# 9293:MUST-18 Karn's rule
//= rfc9293#3.8.2
//= type=test
//# 9293:P-RTO-KEEP the doubled RTO is kept until a segment sent once is acknowledged
//= rfc6298#5
//= type=test
//# 6298:RTO-21 which recomputes it
TEST(Retransmission, KarnKeepsTheBackOff) {
  Flow flow(no_floor(), {.round_trip = ms(100)});
  flow.write_octets(1000);
  flow.advance(ms(100));
  flow.ack(1001);
  Duration const rto = flow.info().rto;
  Duration const srtt = flow.info().srtt;
  flow.write_octets(1000);
  flow.time_out();
  EXPECT_EQ(flow.info().rto, rto * 2);
  flow.advance(ms(50));
  flow.ack(2001);
  EXPECT_EQ(flow.info().rto, rto * 2);
  EXPECT_EQ(flow.info().srtt, srtt);
  flow.write_octets(1000);
  flow.advance(ms(140));
  flow.ack(3001);
  EXPECT_LT(flow.info().rto, rto * 2);
  EXPECT_NE(flow.info().srtt, srtt);
}

// The same for a fast retransmission.
TEST(Retransmission, KarnAfterFastRetransmit) {
  Flow flow(no_floor(), {.round_trip = ms(100)});
  flow.write_octets(1000);
  flow.advance(ms(100));
  flow.ack(1001);
  Duration const srtt = flow.info().srtt;
  flow.write_octets(4000);
  flow.advance(ms(20));
  flow.duplicates(3);
  flow.advance(ms(20));
  flow.ack(5001);
  EXPECT_EQ(flow.info().srtt, srtt);
}

//= rfc6298#3
//= type=test
//# 6298:RTO-7 one sample per round trip
TEST(Retransmission, OneSampleARoundTrip) {
  Flow flow(no_floor(), {.round_trip = ms(100)});
  Duration last = flow.info().srtt;
  flow.write_octets(200'000);
  for (std::uint64_t round = 1; round <= 6; ++round) {
    flow.advance(ms(100 + 10 * round));
    flow.ack(flow.info().send.nxt.value - flow.device_iss.value);
    EXPECT_NE(flow.info().srtt, last) << round;
    last = flow.info().srtt;
  }
}

//= rfc6298#2.2
//= type=test
//# 6298:RTO-2 the handshake gives the first sample: R, R/2, R + 4 * R/2
//= rfc6298#2.4
//= type=test
//# 6298:RTO-4 raised to the minimum in profile rfc
TEST(Retransmission, FirstSampleFromTheHandshake) {
  for (bool floor : {true, false}) {
    Kit kit(floor ? flow_config() : no_floor());
    kit.listen();
    kit.deliver({.flags = flag::syn, .mss = 1460});
    kit.advance(ms(100));
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
    EXPECT_EQ(kit.info().srtt, ms(100));
    EXPECT_EQ(kit.info().rttvar, ms(50));
    EXPECT_EQ(kit.info().rto, floor ? Duration::seconds(1) : ms(300));
  }
}

//= rfc6298#5.7
//= type=test
//# 6298:RTO-16 after a SYN timeout: three seconds for the first data
TEST(Retransmission, ThreeSecondsAfterALostSyn) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  kit.advance(Duration::seconds(1));
  EXPECT_EQ(kit.sent(), "S 0(0)");
  kit.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1000});
  EXPECT_EQ(kit.info().rto, Duration::seconds(3));
  kit.write("hello");
  EXPECT_EQ(departures(kit, Duration::seconds(8)), "3000:PA1");
}

// The same for a lost SYN-ACK; data queued before is sent in one segment.
TEST(Retransmission, ThreeSecondsAfterALostSynAck) {
  Kit kit;
  kit.socket_in(State::syn_received);
  kit.advance(Duration::seconds(1));
  EXPECT_EQ(kit.sent(), "SA 0(0) ack 1");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(kit.info().rto, Duration::seconds(3));
}

//= rfc9293#3.8.2
//= type=test
//# 9293:MUST-19 slow start, congestion avoidance and the doubled RTO
//= rfc6298#5.1
//= type=test
//# 6298:RTO-22 the timer fired, and the retransmission restarts it
TEST(Retransmission, TimeoutDoublesAndSlowStarts) {
  Flow flow;
  flow.write_octets(20'000);
  EXPECT_EQ(flow.segments(), "1+1000 1001+1000 2001+1000 3001+1000");
  flow.time_out();
  EXPECT_EQ(flow.segments(), "1+1000");
  EXPECT_EQ(flow.cwnd(), 1000u);
  EXPECT_EQ(flow.info().rto, Duration::seconds(2));
  flow.time_out();
  EXPECT_EQ(flow.segments(), "1+1000");
  EXPECT_EQ(flow.info().rto, Duration::seconds(4));
  flow.ack(1001);
  EXPECT_EQ(flow.segments(), "1001+1000 2001+1000");
  flow.ack(4001);
  EXPECT_EQ(flow.segments(), "4001+1000 5001+1000 6001+1000");
}

//= rfc9293#3.8.3
//= type=test
//# 9293:MUST-20 at R1 the application is notified, once; at R2 the connection is closed
//# 9293:SHLD-11 after three hundred seconds by default
//= rfc9293#3.10.8
//= type=test
//# 9293:P-USER-TIMEOUT with its queues
TEST(Retransmission, SilentPeerTimesOut) {
  Flow flow;
  flow.write_octets(1000);
  flow.advance(ms(6999));
  EXPECT_FALSE(flow.notified(EventKind::soft_error));
  flow.advance(ms(1));
  EXPECT_TRUE(flow.notified(EventKind::soft_error, Cause::retransmitting));
  flow.events.clear();
  flow.advance(Duration::seconds(293) - Duration{1});
  EXPECT_FALSE(flow.notified(EventKind::soft_error));
  EXPECT_EQ(flow.state(), State::established);
  flow.advance(Duration{1});
  EXPECT_EQ(flow.state(), State::closed);
  EXPECT_TRUE(flow.notified(EventKind::closed, Cause::timed_out));
}

// The clock moves by more than R2 in one turn, as in a virtual machine that was paused.
//= rfc9293#3.8.3
//= type=test
//# 9293:MUST-20 R2 follows retransmissions: none has been sent yet, so one leaves first
TEST(Retransmission, DriverThatStalledRetransmitsBeforeItGivesUp) {
  for (bool const answered : {true, false}) {
    Flow flow;
    flow.write_octets(1000);
    EXPECT_EQ(flow.segments(), "1+1000");
    flow.now = flow.now + Duration::seconds(4000);
    flow.turn();
    EXPECT_EQ(flow.segments(), "1+1000");
    EXPECT_EQ(flow.state(), State::established);
    if (answered) {
      flow.ack(1001);
    }
    flow.advance(Duration::seconds(2));
    EXPECT_EQ(flow.state(), answered ? State::established : State::closed);
  }
}

//= rfc9293#3.8.6.1
//= type=test
//# 9293:MUST-37 one unanswered probe of a closed window is no silence of 300 seconds
TEST(Retransmission, DriverThatStalledProbesBeforeItGivesUp) {
  Flow flow;
  flow.ack_with_window(1, 0);
  flow.write_octets(1000);
  flow.advance(Duration::seconds(1));
  EXPECT_EQ(flow.segments(), "1+1");
  flow.now = flow.now + Duration::seconds(4000);
  flow.turn();
  EXPECT_EQ(flow.segments(), "1+1");
  flow.ack(1);
  flow.advance(Duration::seconds(200));
  EXPECT_EQ(flow.state(), State::established);
}

//= rfc9293#3.8.3
//= type=test
//# 9293:MUST-21 the application sets R2, infinity included
TEST(Retransmission, UserTimeoutCanBeSet) {
  Flow short_lived;
  short_lived.write_octets(10);
  EXPECT_EQ(short_lived.stack.set(short_lived.id, {SettingKind::user_timeout_ms, 3000}),
            Refusal::none);
  short_lived.advance(Duration::seconds(3));
  EXPECT_TRUE(short_lived.notified(EventKind::closed, Cause::timed_out));

  Flow patient;
  EXPECT_EQ(patient.stack.set(patient.id, {SettingKind::user_timeout_ms, 0}), Refusal::none);
  patient.write_octets(10);
  patient.advance(Duration::seconds(86'400));
  EXPECT_EQ(patient.state(), State::established);
  patient.ack(11);
  EXPECT_TRUE(patient.notified(EventKind::acknowledged));
}

// Every ACK of new data restarts R2.
TEST(Retransmission, ProgressRestartsTheUserTimeout) {
  Flow flow;
  EXPECT_EQ(flow.stack.set(flow.id, {SettingKind::user_timeout_ms, 10'000}), Refusal::none);
  flow.write_octets(4000);
  for (std::uint32_t i = 1; i <= 3; ++i) {
    flow.advance(Duration::seconds(9));
    flow.ack(1 + 1000 * i);
    ASSERT_EQ(flow.state(), State::established);
  }
  flow.advance(Duration::seconds(10) - Duration{1});
  EXPECT_EQ(flow.state(), State::established);
  flow.advance(Duration{1});
  EXPECT_EQ(flow.state(), State::closed);
}

//= rfc9293#3.8.3
//= type=test
//# 9293:MUST-22, 9293:MUST-23 a SYN has R1 and R2 too, and is retransmitted for three minutes
TEST(Retransmission, SynIsRepeatedForThreeMinutes) {
  Kit kit;
  kit.socket_in(State::syn_sent);
  kit.advance(ms(7000));
  EXPECT_TRUE(kit.notified(EventKind::soft_error, Cause::retransmitting));
  kit.advance(Duration::seconds(173) - Duration{1});
  EXPECT_EQ(kit.state(), State::syn_sent);
  kit.advance(Duration{1});
  EXPECT_EQ(kit.state(), State::closed);
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::timed_out));
}

//= rfc9293#3.8.3
//= type=test
//# 9293:P-SYN-R1R2 R2 of a SYN and of data are separate, and an open can be aborted at any time
TEST(Retransmission, SynHasItsOwnLimit) {
  Config config = flow_config();
  config.tcp.syn_timeout = Duration::seconds(20);
  config.tcp.user_timeout = Duration::seconds(50);
  Kit opening(config);
  opening.socket_in(State::syn_sent);
  opening.advance(Duration::seconds(20) - Duration{1});
  EXPECT_EQ(opening.state(), State::syn_sent);
  opening.advance(Duration{1});
  EXPECT_EQ(opening.state(), State::closed);

  Flow sending(config);
  sending.write_octets(10);
  sending.advance(Duration::seconds(50) - Duration{1});
  EXPECT_EQ(sending.state(), State::established);
  sending.advance(Duration{1});
  EXPECT_EQ(sending.state(), State::closed);

  Kit aborted(config);
  aborted.socket_in(State::syn_sent);
  aborted.advance(Duration::seconds(5));
  aborted.stack.abort(aborted.id);
  aborted.turn();
  EXPECT_TRUE(aborted.notified(EventKind::closed, Cause::aborted));
}

//= rfc9293#3.8.3
//= type=test
//# 9293:P-SYN-FAIL an open fails by a reset, by timeout, or by ICMP port unreachable
TEST(Retransmission, AnOpenFailsByResetOrExhaustion) {
  Kit refused;
  refused.socket_in(State::syn_sent);
  refused.deliver({.flags = flag::rst | flag::ack, .ack = 1});
  EXPECT_TRUE(refused.notified(EventKind::closed, Cause::refused));
  Kit silent;
  silent.socket_in(State::syn_sent);
  silent.advance(Duration::seconds(180));
  EXPECT_TRUE(silent.notified(EventKind::closed, Cause::timed_out));
}

//= rfc9293#3.4
//= type=test
//# 9293:P-RTXQ-FULLACK, 9293:P-ACK-CUMUL an ACK inside a segment leaves the rest of it queued
TEST(Retransmission, PartOfASegmentIsAcknowledged) {
  Flow flow;
  flow.write_octets(2000);
  flow.segments();
  flow.ack(301);
  EXPECT_EQ(flow.info().send.queued.count, 1700u);
  flow.time_out();
  EXPECT_EQ(flow.segments(), "301+1000");
}

//= rfc9293#3.4
//= type=test
//# 9293:P-ACK-ACCEPTABLE only SND.UNA < SEG.ACK =< SND.NXT acknowledges
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-ACK-EST, 9293:P-ACK-USEROK the application is notified of exactly these octets
//# 9293:P-ACK-DUP-OLD an old ACK is ignored
TEST(Retransmission, AcceptableAcks) {
  struct Case {
    std::uint32_t ack;
    std::uint32_t reported;
    std::uint32_t una;
  };
  for (Case c : {Case{0, 0, 1},
                 {1, 0, 1},
                 {2, 1, 2},
                 {2000, 1999, 2000},
                 {2001, 2000, 2001},
                 {2002, 0, 1}}) {
    Flow flow;
    flow.write_octets(2000);
    flow.events.clear();
    flow.ack(c.ack);
    std::uint32_t reported = 0;
    for (Event const& event : flow.events) {
      reported += event.kind == EventKind::acknowledged ? event.bytes.count : 0;
    }
    EXPECT_EQ(reported, c.reported) << c.ack;
    EXPECT_EQ(flow.info().send.una.value - flow.device_iss.value, c.una) << c.ack;
  }
}

// Data and FIN are lost: both are retransmitted with their numbers.
//= rfc9293#3.6
//= type=test
//# 9293:P-CLOSE-DELIVER data queued before the close is delivered, and the FIN
//= rfc9293#3.4
//= type=test
//# 9293:P-CTL-ONCE SYN and FIN are retransmitted with their numbers
TEST(Retransmission, LostTailAndFin) {
  Flow flow;
  flow.write_octets(1500);
  EXPECT_EQ(flow.segments(), "1+1000");
  EXPECT_EQ(flow.stack.finish(flow.id), Refusal::none);
  flow.turn();
  EXPECT_EQ(flow.segments(), "1001+500F");
  flow.ack(1001);
  flow.time_out();
  EXPECT_EQ(flow.segments(), "1001+500F");
  flow.ack(1501);
  flow.time_out();
  EXPECT_EQ(flow.segments(), "1501+0F");
  flow.ack(1502);
  EXPECT_EQ(flow.state(), State::fin_wait_2);
}

//= rfc9293#3.8
//= type=test
//# 9293:P-CLOSE-PUSH a close pushes the queued data
TEST(Retransmission, ClosePushesWhatIsQueued) {
  Flow flow;
  flow.write_octets(10, More::yes);
  EXPECT_EQ(flow.segments(), "");
  EXPECT_EQ(flow.stack.finish(flow.id), Refusal::none);
  flow.turn();
  auto const out = flow.take();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(line(out[0]), "FPA 1(10) ack 1");
}

//= rfc9293#3.8
//= type=test
//# 9293:P-VARS-ADVANCE SND.NXT advances with what is sent, SND.UNA with what is acknowledged
//# 9293:P-ACK-ALWAYS every segment carries the ACK
//= rfc5681#2
//= type=test
//# 5681:CC-45 FlightSize is what was sent and not acknowledged
TEST(Retransmission, VariablesAdvance) {
  Flow flow;
  auto const relative = [&](Sequence s) { return s.value - flow.device_iss.value; };
  EXPECT_EQ(relative(flow.info().send.una), 1u);
  EXPECT_EQ(flow.info().send.una, flow.info().send.nxt);
  flow.write_octets(1500);
  EXPECT_EQ(relative(flow.info().send.nxt), 1001u);
  EXPECT_EQ(flow.flight(), 1000u);
  flow.ack(1001);
  EXPECT_EQ(relative(flow.info().send.una), 1001u);
  EXPECT_EQ(relative(flow.info().send.nxt), 1501u);
  EXPECT_EQ(flow.flight(), 500u);
  EXPECT_EQ(flow.stack.finish(flow.id), Refusal::none);
  flow.turn();
  EXPECT_EQ(relative(flow.info().send.nxt), 1502u);
  flow.ack(1502);
  EXPECT_EQ(flow.info().send.una, flow.info().send.nxt);
  for (Out const& out : flow.take()) {
    EXPECT_TRUE(out.flags.ack());
    EXPECT_EQ(out.ack, 1u);
  }
}

}  // namespace
}  // namespace lockstep::testing
