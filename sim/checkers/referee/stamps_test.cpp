// Echoes of timestamps that are older than what the sender of the echo has received.
#include <gtest/gtest.h>

#include "sim/checkers/referee/conversation.hpp"

namespace lockstep::sim::referee {
namespace {

// `a` sends 100 octets every 10 ms, and `b` acknowledges each of them with an echo that is right
// until the fifth. `echo`: the echo of the fifth.
Conversation echoing(std::uint32_t clock, std::uint32_t echo) {
  Conversation t;
  t.a("S", {.mss = 1'460, .stamp = clock});
  t.b("SA", {.ack = 1, .mss = 1'460, .stamp = 9, .echo = clock});
  t.a("A", {.seq = 1, .ack = 1, .after_ms = 100, .stamp = clock + 100, .echo = 9});
  for (std::uint32_t i = 0; i < 6; ++i) {
    std::uint32_t const stamp = clock + 110 + 10 * i;
    t.a("AP",
        {.seq = 1 + 100 * i, .ack = 1, .text = 100, .after_ms = 9, .stamp = stamp, .echo = 9});
    t.b("A",
        {.seq = 1, .ack = 101 + 100 * i, .stamp = 119 + 10 * i, .echo = i == 4 ? echo : stamp});
  }
  return t;
}

//= rfc7323#4.3
//= type=test
//# 7323:TS-15 TS.Recent does not decrease, and is the timestamp of the latest data in order
TEST(RefereeStamps, AnEchoDoesNotGoBack) {
  for (std::uint32_t const clock : {1'000u, 0x9000'0000u, 0xffff'ff61u}) {
    EXPECT_EQ(echoing(clock, clock + 150).found(Rule::echo_old), "no");
    EXPECT_EQ(echoing(clock, clock + 140).found(Rule::echo_old), "likely");  // that of the fourth
    EXPECT_EQ(echoing(clock, clock + 130).found(Rule::echo_old), "certain");
    EXPECT_EQ(echoing(clock, clock - 100'000).found(Rule::echo_old), "certain");
    // That of another clock: of a connection with the same ports whose begin the capture lacks.
    EXPECT_EQ(echoing(clock, clock - (1u << 27)).found(Rule::echo_old), "likely");
  }
}

// A Fast Open server has taken 100 octets from a SYN that the capture lacks, and not the one that
// comes later: the timestamp of the first one stays TS.Recent until other data arrives.
TEST(RefereeStamps, AFastOpenServerEchoesASynThatIsMissing) {
  for (bool const missing : {false, true}) {
    std::uint32_t const begun = missing ? 101 : 1;
    Conversation t;
    t.a("S", {.mss = 1'460, .stamp = 1'010});
    t.b("SA", {.ack = begun, .after_ms = 200, .mss = 1'460, .stamp = 8'000, .echo = 10});
    t.a("A", {.seq = begun, .ack = 1, .stamp = 1'210, .echo = 8'000});
    t.a("AP", {.seq = begun, .ack = 1, .text = 200, .stamp = 1'210, .echo = 8'000});
    for (std::uint32_t i = 0; i < 2; ++i) {
      t.b("AP", {.seq = 1 + 100 * i,
                 .ack = missing ? begun : 201,
                 .text = 100,
                 .after_ms = 30,
                 .stamp = 8'030 + 30 * i,
                 .echo = 10});
    }
    EXPECT_EQ(t.found(Rule::echo_old), missing ? "likely" : "certain");
  }
}

// The clock of `b` ticks every microsecond. A packet of `b` comes 90 ms after it was sent; the next
// one comes after 30 ms, and the capture lacks it. If `b` had not sent it, its clock would stand
// still below what `a` echoes.
TEST(RefereeStamps, AnEchoOfAFastClock) {
  for (std::uint32_t const ticks_per_ms : {1'000u, 10'000u}) {
    for (bool const sent : {true, false}) {
      Conversation t;
      t.open({.mss = 1'460, .stamp = 5'000});
      for (std::uint32_t i = 0; i < 3; ++i) {
        std::uint32_t const clock = 5'000 + ticks_per_ms * 200 * (i + 1);
        std::uint32_t const later = clock + ticks_per_ms * 121;
        std::uint32_t const seq = 1 + 20 * i;
        t.b("A", {.seq = 1, .ack = seq, .after_ms = 90, .stamp = clock, .echo = 5'000});
        t.a("AP", {.seq = seq, .ack = 1, .text = 10, .stamp = 5'001, .echo = clock});
        t.a("AP",
            {.seq = seq + 10, .ack = 1, .text = 10, .after_ms = 60, .stamp = 5'061, .echo = later});
        t.b("A", {.seq = 1,
                  .ack = seq + 20,
                  .after_ms = 60,
                  .stamp = sent ? later + ticks_per_ms * 60 : clock + ticks_per_ms * 2,
                  .echo = 5'061});
      }
      EXPECT_EQ(t.found(Rule::echo_unheard), sent ? "likely" : "certain");
    }
  }
}

// A connection that is restored on another machine loses TS.Recent, and then echoes zero.
TEST(RefereeStamps, AnEchoOfZeroMayFollowARestoration) {
  EXPECT_EQ(echoing(1'000, 0).found(Rule::echo_old), "likely");
  EXPECT_EQ(echoing(0x9000'0000, 0).found(Rule::echo_old), "likely");
  EXPECT_EQ(echoing(0x9000'0000, 0).found(Rule::echo_unheard), "no");
}

// The clock of `a` starts at 0. The network exchanges an ACK, which echoes its first tick, and data
// that was sent before. `late`: `b` echoes zero once more, in its last segment.
Conversation turning(bool late) {
  Terms terms;
  terms.whole = true;
  Conversation t(terms);
  t.a("S", {.mss = 1'460, .stamped = true});
  t.b("SA", {.ack = 1, .after_ms = 10, .mss = 1'460, .stamp = 700});
  t.a("A", {.seq = 1, .ack = 1, .after_ms = 10, .echo = 700, .stamped = true});
  t.a("AP", {.seq = 1, .ack = 1, .text = 100, .after_ms = 380, .echo = 700, .stamped = true});
  t.b("A", {.seq = 1, .ack = 101, .after_ms = 20, .stamp = 1'100});
  t.a("AP", {.seq = 101, .ack = 1, .text = 100, .after_ms = 90, .stamp = 1, .echo = 1'100});
  t.b("A", {.seq = 501, .ack = 201, .after_ms = 20, .stamp = 1'195, .echo = 1});
  t.b("AP", {.seq = 1, .ack = 101, .text = 500, .stamp = 1'194});
  t.a("A", {.seq = 201, .ack = 501, .stamp = 1, .echo = 1'194});
  return t.b("AP", {.seq = 501,
                    .ack = 201,
                    .text = 10,
                    .after_ms = 100,
                    .stamp = 1'300,
                    .echo = late ? 0u : 1u});
}

TEST(RefereeStamps, AnEchoOfZeroMayHaveBeenOvertaken) {
  EXPECT_EQ(turning(false).found(Rule::echo_old), "no");
  EXPECT_EQ(turning(true).found(Rule::echo_old), "certain");
}

// Captured at `b`, whose queue lets ACKs without data pass first, as on a slow uplink. `overtaken`:
// of the segment with the lower timestamp, the ACK number is lower as well.
Conversation hastened(bool overtaken) {
  Conversation t;
  t.open({.mss = 1'460, .stamp = 1'000});
  t.a("AP", {.seq = 1, .ack = 1, .text = 100, .after_ms = 100, .stamp = 1'100, .echo = 1'000});
  t.b("A", {.seq = 501, .ack = 101, .stamp = 6'200, .echo = 1'100, .own = true});
  t.b("AP", {.seq = 1,
             .ack = overtaken ? 1u : 101u,
             .text = 500,
             .stamp = 1'110,
             .echo = 1'000,
             .own = true});
  return t;
}

TEST(RefereeStamps, AQueueOfTheHostMayChangeTheOrder) {
  EXPECT_EQ(hastened(true).found(Rule::stamp_backward), "likely");
  EXPECT_EQ(hastened(false).found(Rule::stamp_backward), "certain");
}

// A firewall moves the timestamps by a random constant, and the capture is of both of its sides, so
// that they do not tell the order. A clock that goes back by less is no other one.
TEST(RefereeStamps, AFirewallMovesTheClock) {
  for (std::uint32_t const moved : {5'000u, 0x1234'5678u}) {
    Conversation t;
    t.open({.mss = 1'460, .stamp = 100});
    for (std::uint32_t i = 0; i < 3; ++i) {
      t.b("AP", {.seq = 1 + 10 * i,
                 .ack = 1,
                 .text = 10,
                 .after_ms = 50,
                 .stamp = 150 + 51 * i,
                 .echo = 100});
      for (std::uint32_t const shift : {0u, moved}) {
        t.a("A", {.seq = 1,
                  .ack = 11 + 10 * i,
                  .after_ms = 0,
                  .after_us = 500,
                  .window = static_cast<std::uint16_t>(shift == 0 ? 60'000 : 50'000),
                  .stamp = 150 + 51 * i + shift,
                  .echo = 150 + 51 * i});
      }
    }
    EXPECT_EQ(t.found(Rule::stamp_backward), moved == 5'000 ? "certain" : "likely");
    EXPECT_EQ(t.found(Rule::edge_moved_left), moved == 5'000 ? "certain" : "likely");
  }
}

// A retransmission has a later timestamp than the segment that arrived.
TEST(RefereeStamps, AnEchoIsThatOfTheCopyThatArrived) {
  Conversation t = echoing(1'000, 1'150);
  t.a("AP", {.seq = 601, .ack = 1, .text = 100, .stamp = 1'200, .echo = 9});
  t.a("AP", {.seq = 701, .ack = 1, .text = 100, .stamp = 1'201, .echo = 9});
  t.b("A", {.seq = 1, .ack = 701, .stamp = 180, .echo = 1'200});
  t.a("AP", {.seq = 701, .ack = 1, .text = 100, .stamp = 1'300, .echo = 9});
  t.b("A", {.seq = 1, .ack = 801, .stamp = 190, .echo = 1'201});
  EXPECT_EQ(t.found(Rule::echo_old), "no");
}

// An earlier segment is captured after later ones.
TEST(RefereeStamps, AnOldAckHasAnOldEcho) {
  Conversation t = echoing(1'000, 1'150);
  t.b("A", {.seq = 1, .ack = 301, .stamp = 139, .echo = 1'130});
  EXPECT_EQ(t.found(Rule::echo_old), "no");
}

// Every echo is wrong: it is zero, older than the SYN, or that of the SYN.
TEST(RefereeStamps, NoEchoIsOlderThanTheSyn) {
  struct Case {
    std::uint32_t clock, echo;
    Rule rule;
    std::string_view found;
  };
  for (auto const& [clock, echo, rule, found] :
       {Case{1'000, 0, Rule::echo_old, "certain"}, Case{1'000, 100, Rule::echo_old, "certain"},
        Case{1'000, 1'000, Rule::echo_old, "likely"},
        Case{0x9000'0000, 0, Rule::echo_unheard, "certain"}}) {
    Conversation t;
    t.a("S", {.mss = 1'460, .stamp = clock});
    t.b("SA", {.ack = 1, .mss = 1'460, .stamp = 9, .echo = clock});
    t.a("A", {.seq = 1, .ack = 1, .after_ms = 10, .stamp = clock + 10, .echo = 9});
    t.a("AP", {.seq = 1, .ack = 1, .text = 100, .stamp = clock + 11, .echo = 9});
    t.b("A", {.seq = 1, .ack = 101, .stamp = 21, .echo = echo});
    EXPECT_EQ(t.found(rule), found) << echo;
  }
}

// A peer that sends 0 on its SYN has not started its clock there, and its first real timestamp may
// be "before" 0. Linux accepts that.
TEST(RefereeStamps, AClockMayStartAfterTheSyn) {
  for (std::uint32_t const clock : {0u, 0x9100'0000u}) {
    Conversation t;
    t.a("S", {.mss = 1'460, .stamp = clock, .stamped = true});
    t.b("SA", {.ack = 1, .mss = 1'460, .stamp = 9, .echo = clock});
    t.a("A", {.seq = 1, .ack = 1, .after_ms = 10, .stamp = 0x9000'0010, .echo = 9});
    t.a("AP", {.seq = 1, .ack = 1, .text = 100, .stamp = 0x9000'0011, .echo = 9});
    t.b("A", {.seq = 1, .ack = 101, .stamp = 21, .echo = 0x9000'0011});
    EXPECT_EQ(t.found(Rule::echo_old), clock == 0 ? "no" : "certain");
  }
}

// The ports are used again, and the capture lacks the SYNs.
TEST(RefereeStamps, AnotherConnectionHasAnotherClock) {
  for (std::uint32_t const leap : {0x9000'0000u, 10u}) {
    Conversation t = echoing(1'000, 1'150);
    std::uint32_t const now = 1'000 + leap;
    t.a("AP", {.seq = 601, .ack = 1, .text = 100, .stamp = now, .echo = 119 + leap});
    t.b("A", {.seq = 1, .ack = 701, .stamp = 190 + leap, .echo = now});
    EXPECT_EQ(t.found(Rule::echo_old), leap == 10 ? "certain" : "no");
  }
}

// Before data has arrived in order, nothing tells which copy of the SYN arrived.
TEST(RefereeStamps, AnEchoOfAnEarlierSynMayBe) {
  Conversation t;
  t.a("S", {.mss = 1'460, .stamp = 4'000});
  t.b("SA", {.ack = 1, .mss = 1'460, .stamp = 9, .echo = 1'000});
  t.a("A", {.seq = 1, .ack = 1, .after_ms = 10, .stamp = 4'010, .echo = 9});
  t.b("A", {.seq = 1, .ack = 1, .stamp = 20, .echo = 1'000});
  EXPECT_EQ(t.found(Rule::echo_old), "no");
}

// A clock of 1 us a tick, the fastest one, passes 2^31 in 36 minutes, and TS.Recent is outdated
// then. Our own clocks are slower.
TEST(RefereeStamps, AnEchoIsNoMeasureAfterALongSilence) {
  for (std::uint32_t const silent_ms : {10u, 2'400'000u}) {
    for (bool const deployed : {true, false}) {
      Terms terms;
      terms.whole = true;
      terms.deployed = deployed;
      constexpr std::uint32_t late = 2'000 + 2'400'000'000;
      Conversation t(terms);
      t.open({.mss = 1'460, .stamp = 1'000});
      t.a("AP", {.seq = 1, .ack = 1, .text = 10, .stamp = 2'000, .echo = 1'000});
      t.b("A", {.seq = 1, .ack = 11, .stamp = 2'000, .echo = 2'000});
      t.a("AP",
          {.seq = 11, .ack = 1, .text = 10, .after_ms = silent_ms, .stamp = late, .echo = 2'000});
      t.b("A", {.seq = 1, .ack = 21, .stamp = 2'100, .echo = late, .own = true});
      bool const outdated = silent_ms != 10 && deployed;
      EXPECT_EQ(t.found(Rule::old_stamp_accepted), outdated ? "no" : "certain") << silent_ms;
    }
  }
}

}  // namespace
}  // namespace lockstep::sim::referee
