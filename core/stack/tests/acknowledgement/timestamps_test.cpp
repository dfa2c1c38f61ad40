// RFC 7323 sections 3 and 4: negotiation, sending and echoing of timestamps, and RTT measurement.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

Config stamping_config() {
  Config config = flow_config();
  config.tcp.timestamps = true;
  return config;
}

// ESTABLISHED, with the peer's clock at 100.
void open_stamped(Kit& kit, std::uint16_t mss = 1000) {
  kit.stamp = 100;
  kit.listen();
  kit.deliver({.flags = flag::syn, .mss = mss});
  ASSERT_EQ(kit.sent(), "SA 0(0) ack 1");
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  ASSERT_EQ(kit.state(), State::established);
}

// The ACK of a segment was lost: the ACK of its copy echoes the copy's timestamp, so the peer does
// not measure its own timeout. Nothing is taken of older data, or of an ACK of what was never sent.
//= rfc7323#4.3
//= type=test
//# 7323:TS-15 SEG.SEQ is at or before Last.ACK.sent
TEST(Timestamps, ACopyOfTheLastSegmentIsEchoed) {
  Flow flow(bare_config(), {.mss = 1460, .sack = true, .stamp = 100});
  flow.stamp = 101;
  flow.data(1, 1000);
  flow.advance(Duration::milliseconds(500));
  EXPECT_EQ(flow.take().at(0).options.timestamp_echo, 101u);
  flow.stamp = 301;
  flow.data(1, 1000);
  Out const again = flow.take().at(0);
  EXPECT_EQ(line(again), "A 1(0) ack 1001");
  EXPECT_EQ(again.sack, "1-1001");
  EXPECT_EQ(again.options.timestamp_echo, 301u);
  flow.stamp = 401;
  flow.data(1, 999);
  EXPECT_EQ(flow.take().at(0).options.timestamp_echo, 301u);
  flow.acked = 50'000;
  flow.data(1, 1000);
  EXPECT_EQ(flow.take().at(0).options.timestamp_echo, 301u);
}

//= rfc7323#5.4
//= type=test
//# 7323:TS-20 a tick of 1 ms to 1 s, and no other
TEST(Timestamps, TicksHaveLimits) {
  for (auto const& [tick, fault] : {std::pair{Duration::milliseconds(1), ""},
                                    {Duration::seconds(1), ""},
                                    {Duration::milliseconds(1) - Duration{1}, "timestamp_tick"},
                                    {Duration::seconds(1) + Duration{1}, "timestamp_tick"}}) {
    Config config = stamping_config();
    config.tcp.timestamp_tick = tick;
    EXPECT_EQ(fault_of(config), fault);
  }
}

//= rfc7323#3.2
//= type=test
//# 7323:TS-9 every segment has it once both SYNs had
//# 7323:TS-28 TSecr is zero without ACK
//# 7323:TS-39 a SYN-ACK has it if the SYN had it
TEST(Timestamps, AreOnEverySegmentOnceAgreedOn) {
  Kit active(stamping_config());
  active.connect();
  Out const syn = active.take().at(0);
  EXPECT_TRUE(syn.options.has_timestamps);
  EXPECT_EQ(syn.options.timestamp_echo, 0u);
  active.stamp = 7;
  active.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1000});
  active.write("data");
  ASSERT_EQ(active.stack.finish(active.id), Refusal::none);
  active.turn();
  active.stack.abort(active.id);
  active.turn();
  auto const rest = active.take();
  ASSERT_EQ(rest.size(), 4u);  // ACK, data, FIN, RST
  for (Out const& out : rest) {
    EXPECT_TRUE(out.options.has_timestamps) << line(out);
  }
  EXPECT_EQ(rest[0].options.timestamp_echo, 7u);
}

//= rfc7323#3.2
//= type=test
//# 7323:TS-12 if not agreed on, the option is ignored and the segment processed
TEST(Timestamps, AreOffUnlessBothSynsHaveThem) {
  Kit plain(flow_config());
  plain.stamp = 100;
  plain.listen();
  plain.deliver({.flags = flag::syn, .mss = 1000});
  EXPECT_FALSE(plain.take().at(0).options.has_timestamps);
  plain.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  plain.stamp = 1;  // older: ignored
  plain.deliver({.flags = flag::ack | flag::psh, .seq = 1, .ack = 1, .data = "data"});
  EXPECT_EQ(plain.received, "data");
  Kit alone(stamping_config());
  alone.connect();
  alone.sent();
  alone.deliver({.flags = flag::syn | flag::ack, .ack = 1, .mss = 1000});
  EXPECT_FALSE(alone.take().at(0).options.has_timestamps);
  EXPECT_FALSE(alone.info().options.timestamps);
}

//= rfc9293#3.7.1
//= type=test
//# 9293:P-MSS-OPTSHRINK twelve octets of options leave twelve octets less for data
TEST(Timestamps, ReduceTheDataOfASegment) {
  Kit kit(stamping_config());
  open_stamped(kit);
  EXPECT_EQ(kit.info().send.mss.count, 988u);
  kit.write(std::string(3000, 'x'));
  EXPECT_EQ(kit.take().at(0).data.size(), 988u);
}

//= rfc7323#4.1
//= type=test
//# 7323:TS-13 the clock advances with time
//= rfc7323#5.4
//= type=test
//# 7323:TS-20, 7323:TS-50 by one per millisecond, or as configured
TEST(Timestamps, TickWithTheClock) {
  for (auto const& [tick, ticks] :
       {std::pair{Duration::milliseconds(1), 5000u}, std::pair{Duration::seconds(1), 5u}}) {
    Config config = stamping_config();
    config.tcp.timestamp_tick = tick;
    Kit kit(config);
    open_stamped(kit);
    std::uint32_t const before = kit.device_stamp;
    kit.advance(Duration::seconds(5));
    kit.write("data");
    EXPECT_EQ(kit.device_stamp - before, ticks);
  }
}

//= rfc7323#7.1
//= type=test
//# 7323:TS-23 each four-tuple has its own offset, derived from a key
TEST(Timestamps, HaveAKeyedOffset) {
  auto first_stamp = [](const Config& config, std::uint16_t port) {
    Kit kit(config);
    Open open;
    open.local = {kit.device, {port}};
    open.remote = {kit.peer, {Kit::peer_port}};
    EXPECT_EQ(kit.stack.connect(open, kit.id), Refusal::none);
    kit.turn();
    return kit.device_stamp;
  };
  Config const config = stamping_config();
  Config other = config;
  other.tcp.timestamp_key.first ^= 1;
  EXPECT_EQ(first_stamp(config, 80), first_stamp(config, 80));
  EXPECT_NE(first_stamp(config, 80), first_stamp(config, 81));
  EXPECT_NE(first_stamp(config, 80), first_stamp(other, 80));
}

//= rfc7323#4.3
//= type=test
//# 7323:TS-15 segments at or before Last.ACK.sent update TS.Recent, which is echoed
//# 7323:TS-30 the earliest unacknowledged one
// The first example of section 4.3: A and B arrive in order, and one ACK answers both.
TEST(Timestamps, DelayedAcksEchoTheEarliest) {
  Kit kit(stamping_config());
  open_stamped(kit);
  kit.stamp = 101;
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = std::string(10, 'x')});
  kit.stamp = 102;
  kit.deliver({.flags = flag::ack, .seq = 11, .ack = 1, .data = std::string(10, 'x')});
  EXPECT_EQ(kit.info().options.ts_recent, 101u);
  auto const acks = kit.take();
  ASSERT_EQ(acks.size(), 1u);
  EXPECT_EQ(acks[0].ack, 21u);
  EXPECT_EQ(acks[0].options.timestamp_echo, 101u);
  // After that the next one that arrives.
  kit.stamp = 103;
  kit.deliver({.flags = flag::ack, .seq = 21, .ack = 1, .data = std::string(10, 'x')});
  EXPECT_EQ(kit.info().options.ts_recent, 103u);
}

//= rfc7323#4.3
//= type=test
//# 7323:TS-16 with data above a gap the last segment that advanced RCV.NXT is echoed
//# 7323:TS-31 and from then on the segment that fills the gap
// The second example of section 4.3.
TEST(Timestamps, AboveAGapTheLastInOrderIsEchoed) {
  Config config = stamping_config();
  config.tcp.delayed_acks = false;
  Kit kit(config);
  open_stamped(kit);
  struct Arrives {
    std::uint32_t seq, stamp, echoed;
  };
  // A, C, B, E, D.
  for (Arrives const& each : {Arrives{1, 201, 201}, Arrives{21, 203, 201}, Arrives{11, 202, 202},
                              Arrives{41, 205, 202}, Arrives{31, 204, 204}}) {
    kit.stamp = each.stamp;
    kit.deliver({.flags = flag::ack, .seq = each.seq, .ack = 1, .data = std::string(10, 'x')});
    auto const acks = kit.take();
    ASSERT_EQ(acks.size(), 1u) << each.seq;
    EXPECT_EQ(acks[0].options.timestamp_echo, each.echoed) << each.seq;
  }
}

//= rfc7323#3.2
//= type=test
//# 7323:TS-11 the peer's timestamp is echoed
//# 7323:TS-29 the TSecr of a segment without ACK is ignored
TEST(Timestamps, OfASegmentWithoutAckHaveNoEcho) {
  Kit kit(stamping_config());
  kit.stamp = 100;
  kit.device_stamp = 77;
  kit.listen();
  In syn{.flags = flag::syn, .mss = 1000};
  kit.deliver(syn);
  Out const answer = kit.take().at(0);
  EXPECT_EQ(answer.options.timestamp_echo, 100u);
  EXPECT_EQ(kit.info().srtt.ns, 0u);
}

//= rfc7323#4.1
//= type=test
//# 7323:TS-14 an ACK that advances SND.UNA gives a sample, another one does not
//= rfc6298#3
//= type=test
//# 6298:RTO-23 with timestamps a retransmitted segment gives one, too
TEST(Timestamps, TimeARetransmission) {
  for (bool stamps : {true, false}) {
    Config config = stamping_config();
    config.tcp.timestamps = stamps;
    Kit kit(config);
    open_stamped(kit);
    Duration const before = kit.info().rto;
    kit.write("lost");
    kit.advance(kit.info().retransmit_due.since(kit.now));
    EXPECT_EQ(kit.info().rto, before * 2);
    kit.advance(Duration::milliseconds(300));
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});  // does not advance SND.UNA
    EXPECT_EQ(kit.info().rto, before * 2);
    Duration const srtt = kit.info().srtt;
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 5});
    if (stamps) {
      EXPECT_EQ(kit.info().srtt.ns, (srtt.ns * 7 + Duration::milliseconds(300).ns) / 8);
    } else {
      EXPECT_EQ(kit.info().srtt, srtt);
      EXPECT_EQ(kit.info().rto, before * 2);
    }
  }
}

// Invalid echoes: of the future, of a time before the data that is acknowledged, and zero, which
// broken peers send.
TEST(Timestamps, InvalidEchoesGiveNoSample) {
  for (std::uint32_t echo : {0u, 1u, 2u}) {
    Kit kit(stamping_config());
    open_stamped(kit);
    kit.write("lost");
    kit.advance(kit.info().retransmit_due.since(kit.now));
    Duration const rto = kit.info().rto;
    kit.device_stamp = echo == 0 ? 0 : kit.device_stamp + (echo == 1 ? 100'000 : -100'000u);
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 5});
    EXPECT_EQ(kit.info().rto, rto);
  }
}

//= rfc7323#4.2
//= type=test
//# 7323:TS-40 all samples of a round trip together have the weight of one
TEST(Timestamps, ShareTheWeightOfOneSamplePerRoundTrip) {
  Config config = stamping_config();
  config.tcp.initial_window = tcp::InitialWindow::rfc6928;
  Kit kit(config);
  open_stamped(kit, 1012);
  kit.write(std::string(1000, 'x'));
  kit.advance(Duration::milliseconds(100));
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1001});
  std::uint64_t const srtt = kit.info().srtt.ns;
  kit.write(std::string(10'000, 'x'));
  ASSERT_EQ(kit.info().send.nxt.since(kit.info().send.una).count, 10'000u);
  kit.advance(Duration::milliseconds(300));
  // Ten segments are in flight: five samples are expected, so this one has a fifth of the weight
  // 1/8.
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 3001});
  std::uint64_t const r = Duration::milliseconds(300).ns;
  EXPECT_EQ(kit.info().srtt.ns, (srtt * 8 + (r - srtt) / 5) / 8);
}

//= rfc7323#5.2
//= type=test
//# 7323:TS-19 the reset for a segment with a timestamp echoes it, with a TSval of zero
//# 7323:TS-43 the application's reset has ours
//= rfc7323#3.2
//= type=test
//# 7323:TS-26 all of them have one
//# 7323:TS-28 without ACK TSecr is zero
TEST(Timestamps, AreOnResets) {
  Kit closed(stamping_config());
  closed.stamp = 123;
  closed.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  Out const reset = closed.take().at(0);
  EXPECT_TRUE(reset.flags.rst());
  EXPECT_TRUE(reset.options.has_timestamps);
  EXPECT_EQ(reset.options.timestamp_value, 0u);
  EXPECT_EQ(reset.options.timestamp_echo, 123u);
  Kit kit(stamping_config());
  open_stamped(kit);
  std::uint32_t const ours = kit.device_stamp;
  kit.stack.abort(kit.id);
  kit.turn();
  Out const aborted = kit.take().at(0);
  EXPECT_TRUE(aborted.flags.rst());
  EXPECT_EQ(aborted.options.timestamp_value, ours);
  EXPECT_EQ(aborted.options.timestamp_echo, 0u);
  // If timestamps are off a reset has none, whatever caused it.
  Kit plain(flow_config());
  plain.stamp = 123;
  plain.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_FALSE(plain.take().at(0).options.has_timestamps);
}

}  // namespace
}  // namespace lockstep::testing
