// RFC 7323 section 5, PAWS: detection of old duplicates by timestamps, and its use in TIME-WAIT.
#include <gtest/gtest.h>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {
namespace {

Config stamping_config() {
  Config config = flow_config();
  config.tcp.timestamps = true;
  return config;
}

// ESTABLISHED, TS.Recent at 100.
void open_stamped(Kit& kit) {
  kit.stamp = 100;
  kit.listen();
  kit.deliver({.flags = flag::syn, .mss = 1000});
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  ASSERT_EQ(kit.state(), State::established);
  kit.sent();
}

//= rfc9293#3.4.3
//= type=test
//# 9293:P-PAWS-RATE distinguishes a wrapped sequence number from a new one
//= rfc7323#5.3
//= type=test
//# 7323:TS-17 older than TS.Recent: send an ACK and drop the segment
//# 7323:TS-32 whatever its sequence number
//= rfc7323#5.6
//= type=test
//# 7323:TS-51 even acceptable in-order data is first checked by its timestamp
TEST(Paws, AnOldDuplicateIsAnsweredAndDropped) {
  Kit kit(stamping_config());
  open_stamped(kit);
  kit.stamp = 99;
  // Inside the window, and far outside: the timestamp is checked first.
  for (std::uint32_t seq : {1u, 4'000'000u}) {
    EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = seq, .ack = 1, .data = "old"}),
              Drop::tcp_timestamp_old);
    EXPECT_EQ(kit.sent(), "A 1(0) ack 1");
  }
  EXPECT_EQ(kit.received, "");
  // Without timestamps the same segment is accepted as data.
  Kit plain(flow_config());
  open_stamped(plain);
  plain.stamp = 99;
  EXPECT_EQ(plain.drop_of({.flags = flag::ack, .seq = 1, .ack = 1, .data = "old"}), Drop::none);
  EXPECT_EQ(plain.received, "old");
}

//= rfc7323#5.2
//= type=test
//# 7323:TS-42 older is modulo 2^32
//# 7323:TS-41 TS.Recent never decreases
//= rfc7323#5.3
//= type=test
//# 7323:TS-46 R3: updated by segments that are not older and begin at or before Last.ACK.sent
//# 7323:TS-45 not updated by a segment outside the window, which R2 rejects
TEST(Paws, TsRecentOnlyAdvances) {
  Kit kit(stamping_config());
  open_stamped(kit);
  kit.stamp = 0x8000'0063;  // just under 2^31 above 100
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(kit.info().options.ts_recent, 0x8000'0063u);
  kit.stamp = 0x8000'0062;
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 1, .ack = 1}), Drop::tcp_timestamp_old);
  EXPECT_EQ(kit.info().options.ts_recent, 0x8000'0063u);
  kit.stamp = 5;  // later, across the wrap
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  EXPECT_EQ(kit.info().options.ts_recent, 5u);
  kit.stamp = 6;
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 4'000'000, .ack = 1}), Drop::tcp_out_of_window);
  EXPECT_EQ(kit.info().options.ts_recent, 5u);
  // A segment above a gap does not change it either.
  kit.deliver({.flags = flag::ack, .seq = 11, .ack = 1, .data = "above"});
  EXPECT_EQ(kit.info().options.ts_recent, 5u);
}

//= rfc7323#5.3
//= type=test
//# 7323:TS-47 R4, R5: in-order segments are accepted, segments above a gap are queued
//# 7323:TS-48 queued data is not checked again when a later segment fills the gap
TEST(Paws, ChecksOnArrivalOnly) {
  Kit kit(stamping_config());
  open_stamped(kit);
  kit.stamp = 101;
  kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "a"});
  kit.deliver({.flags = flag::ack, .seq = 3, .ack = 1, .data = "c"});
  kit.stamp = 202;  // the retransmission
  kit.deliver({.flags = flag::ack, .seq = 2, .ack = 1, .data = "b"});
  EXPECT_EQ(kit.received, "abc");
  EXPECT_EQ(kit.info().options.ts_recent, 202u);
}

//= rfc7323#5.2
//= type=test
//# 7323:TS-18 a reset is accepted with any timestamp, and one outside its place changes nothing
TEST(Paws, ResetsAreExempt) {
  Kit kit(stamping_config());
  open_stamped(kit);
  kit.stamp = 300;
  kit.deliver({.flags = flag::rst, .seq = 2});  // inside the window: answered by a challenge ACK
  EXPECT_EQ(kit.info().options.ts_recent, 100u);
  kit.stamp = 50;
  kit.deliver({.flags = flag::rst, .seq = 1});
  EXPECT_EQ(kit.state(), State::closed);
  EXPECT_TRUE(kit.notified(EventKind::closed, Cause::reset));
}

//= rfc7323#3.2
//= type=test
//# 7323:TS-10 dropped silently
//# 7323:TS-27 but the connection continues
TEST(Paws, SegmentsWithoutATimestampAreDroppedSilently) {
  Kit kit(stamping_config());
  open_stamped(kit);
  kit.stamp = 0;
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 1, .ack = 1, .data = "bare"}),
            Drop::tcp_timestamp_missing);
  EXPECT_EQ(kit.sent(), "");
  EXPECT_EQ(kit.state(), State::established);
  Config lenient = stamping_config();
  lenient.tcp.timestamps_required = false;
  Kit content(lenient);
  open_stamped(content);
  content.stamp = 0;
  content.deliver({.flags = flag::ack, .seq = 1, .ack = 1, .data = "bare"});
  EXPECT_EQ(content.received, "bare");
}

//= rfc7323#5.5
//= type=test
//# 7323:TS-21 after more than 24 idle days TS.Recent is invalid
//# 7323:TS-49 then an older timestamp is accepted and becomes TS.Recent
TEST(Paws, TsRecentIsInvalidAfterTwentyFourDays) {
  for (auto const& [seconds, outdated] :
       {std::pair{24u * 86'400, false}, std::pair{24u * 86'400 + 1, true}}) {
    Kit kit(stamping_config());
    open_stamped(kit);
    kit.advance(Duration::seconds(seconds));
    kit.stamp = 99;
    Drop const fate = kit.drop_of({.flags = flag::ack, .seq = 1, .ack = 1, .data = "late"});
    EXPECT_EQ(fate, outdated ? Drop::none : Drop::tcp_timestamp_old);
    EXPECT_EQ(kit.info().options.ts_recent, outdated ? 99u : 100u);
  }
}

// An ACK of data never sent changes nothing.
TEST(Paws, AForgedAckLeavesTsRecentAlone) {
  Kit kit(stamping_config());
  open_stamped(kit);
  kit.stamp = 5000;
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 1, .ack = 9}), Drop::tcp_ack_of_unsent);
  EXPECT_EQ(kit.info().options.ts_recent, 100u);
}

// Two hosts that find each other's empty segments too old must not exchange ACKs forever.
TEST(Paws, EmptyOldSegmentsAreAnsweredWithinALimit) {
  Config config = stamping_config();
  config.tcp.empty_answers_per_second = Count{3};
  Kit kit(config);
  open_stamped(kit);
  kit.stamp = 99;
  for (int i = 0; i < 10; ++i) {
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
  }
  EXPECT_EQ(kit.take().size(), 3u);
}

// TIME-WAIT with TS.Recent at 100 and RCV.NXT at 2.
void reach_time_wait(Kit& kit) {
  open_stamped(kit);
  ASSERT_EQ(kit.stack.close(kit.id), Refusal::none);
  kit.turn();
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
  ASSERT_EQ(kit.state(), State::time_wait);
  kit.sent();
}

//= rfc6191#2
//= type=test
//# 6191:TW-1 a later timestamp reopens TIME-WAIT, whatever the sequence number
//# 6191:TW-2 with an equal timestamp the sequence number decides
//# 6191:TW-6 relative to the number of the FIN, which was 1
//= rfc9293#3.6.1
//= type=test
//# 9293:SHLD-4, 9293:MAY-2 first the timestamp decides, then the sequence number
//= rfc9293#3.10.7.4
//= type=test
//# 9293:P-TW-SYN-6191, 9293:P-SYN-TW a SYN in TIME-WAIT
TEST(TimeWaitStamps, DecideWhetherASynIsNew) {
  struct Syn {
    std::uint32_t stamp, seq;
    bool is_new;
  };
  for (Syn const& syn : {Syn{101, 0xffff'0000, true}, Syn{101, 2, true}, Syn{100, 3, true},
                         Syn{100, 2, false}, Syn{99, 2'000'000, false}, Syn{99, 3, false}}) {
    Kit kit(stamping_config());
    reach_time_wait(kit);
    kit.stamp = syn.stamp;
    kit.deliver({.flags = flag::syn, .seq = syn.seq, .mss = 1000});
    EXPECT_EQ(kit.state(), syn.is_new ? State::syn_received : State::time_wait)
        << syn.stamp << " " << syn.seq;
  }
}

//= rfc6191#2
//= type=test
//# 6191:TW-3 old connection with timestamps, new one without: the number decides
//# 6191:TW-4 old one without, new one with: it is new
//# 6191:TW-7 if our SYN-ACK would have them, too
TEST(TimeWaitStamps, OfOneConnectionOnly) {
  for (bool beyond : {true, false}) {
    Kit kit(stamping_config());
    reach_time_wait(kit);
    kit.stamp = 0;
    kit.deliver({.flags = flag::syn, .seq = beyond ? 3u : 2u, .mss = 1000});
    EXPECT_EQ(kit.state(), beyond ? State::syn_received : State::time_wait);
  }
  for (bool negotiated : {true, false}) {
    Config config = flow_config();
    config.tcp.timestamps = negotiated;
    Kit kit(config);
    kit.listen();
    kit.deliver({.flags = flag::syn, .mss = 1000});
    kit.deliver({.flags = flag::ack, .seq = 1, .ack = 1});
    ASSERT_EQ(kit.stack.close(kit.id), Refusal::none);
    kit.turn();
    kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
    ASSERT_EQ(kit.state(), State::time_wait);
    kit.stamp = 7;
    kit.deliver({.flags = flag::syn, .seq = 1, .mss = 1000});
    EXPECT_EQ(kit.state(), negotiated ? State::syn_received : State::time_wait);
  }
}

TEST(TimeWaitStamps, AreCheckedAndEchoed) {
  Kit kit(stamping_config());
  reach_time_wait(kit);
  kit.stamp = 150;
  kit.deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
  Out const ack = kit.take().at(0);
  EXPECT_TRUE(ack.options.has_timestamps);
  EXPECT_EQ(ack.options.timestamp_echo, 150u);
  kit.stamp = 149;
  EXPECT_EQ(kit.drop_of({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2}),
            Drop::tcp_timestamp_old);
  EXPECT_EQ(kit.sent(), "A 2(0) ack 2");
  EXPECT_EQ(kit.drop_of({.flags = flag::ack, .seq = 2, .ack = 2}), Drop::tcp_timestamp_old);
  kit.stamp = 0;
  kit.sent();
  EXPECT_EQ(kit.drop_of({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2}),
            Drop::tcp_timestamp_missing);
  EXPECT_EQ(kit.sent(), "");
}

// Timestamps of a new connection with the same four-tuple are never older than those of the last.
TEST(TimeWaitStamps, OurOwnNeverGoBack) {
  Config config = stamping_config();
  config.tcp.msl = Duration::milliseconds(1);
  Kit kit(config);
  reach_time_wait(kit);
  std::uint32_t const last = kit.device_stamp;
  kit.advance(Duration::milliseconds(10));
  kit.connect();
  EXPECT_EQ(kit.device_stamp - last, 10u);
}

//= rfc7323#5.7
//= type=test
//# 7323:TS-52 segments must not be fragmented on the path
TEST(Paws, SegmentsAreNotFragmented) {
  Kit kit(stamping_config());
  kit.connect();
  EXPECT_TRUE(kit.dont_fragment);
}

}  // namespace
}  // namespace lockstep::testing
