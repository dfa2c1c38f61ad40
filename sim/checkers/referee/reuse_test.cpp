// Hosts without a clock use ports and numbers again: nothing is certain across the two connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/referee/conversation.hpp"

namespace lockstep::sim::referee {
namespace {

Terms nothing_missing() {
  Terms terms;
  terms.whole = terms.deployed = true;
  return terms;
}

void expect_nothing_sure(Conversation& t) {
  t.referee().end();
  for (Violation const& violation : t.violations().kept()) {
    EXPECT_FALSE(violation.certainty() == Certainty::certain)
        << text_of(violation.rule).name << " at packet " << violation.packet;
  }
}

/// The handshake with these initial sequence numbers, a request, and an answer, made of `octet`.
void talk(Conversation& t, std::uint32_t isn_a, std::uint32_t isn_b, std::uint8_t octet,
          std::uint32_t after_ms, std::uint32_t stamp = 0) {
  std::uint32_t const a = isn_a + 1;
  std::uint32_t const b = isn_b + 1;
  std::uint32_t const next = stamp == 0 ? 0 : stamp + 1;
  t.a("S", {.seq = isn_a, .after_ms = after_ms, .mss = 1'460, .stamp = stamp});
  t.b("SA", {.seq = isn_b, .ack = a, .mss = 1'460, .stamp = stamp, .echo = stamp});
  t.a("A", {.seq = a, .ack = b, .stamp = stamp, .echo = stamp});
  t.a("AP", {.seq = a, .ack = b, .text = 40, .stamp = next, .echo = stamp, .octet = octet});
  t.b("AP", {.seq = b, .ack = a + 40, .text = 60, .stamp = next, .echo = next, .octet = octet});
  t.a("A", {.seq = a + 40, .ack = b + 60, .stamp = next, .echo = next});
}

// A power cut ends a connection without a segment; its end may also be a reset or one FIN.
TEST(RefereeReuse, BothHostsStartAgainWithTheirNumbers) {
  enum class End : std::uint8_t { none, reset, half };
  for (bool const all : {false, true}) {
    for (End const end : {End::none, End::reset, End::half}) {
      for (std::uint32_t const later : {0u, 2u, 90'000u}) {
        for (std::uint32_t const silent : {300u, 10'000u, 100'000u}) {
          Conversation t(all ? nothing_missing() : Terms{});
          talk(t, 0, 0, 7, 1);
          if (end != End::none) {
            t.a(end == End::reset ? "RA" : "FA", {.seq = 41, .ack = 61});
          }
          talk(t, 0, later, 9, silent);
          talk(t, 0, 2 * later, 11, silent);
          SCOPED_TRACE(testing::Message()
                       << all << " " << static_cast<int>(end) << " " << later << " " << silent);
          expect_nothing_sure(t);
        }
      }
    }
  }
}

// The recorder lost the SYN of the second connection, or the recording began behind the first one.
TEST(RefereeReuse, BothHostsStartAgainAndASynIsMissing) {
  for (bool const reset : {false, true}) {
    for (std::uint32_t const later : {0u, 2u}) {
      Conversation t;
      talk(t, 0, 0, 7, 1);
      if (reset) {
        t.a("RA", {.seq = 41, .ack = 61});
      }
      t.b("SA", {.seq = later, .ack = 1, .after_ms = 10'000, .mss = 1'460});
      t.a("A", {.seq = 1, .ack = later + 1});
      t.a("AP", {.seq = 1, .ack = later + 1, .text = 40, .octet = 9});
      t.b("AP", {.seq = later + 1, .ack = 41, .text = 60, .octet = 9});
      t.a("A", {.seq = 41, .ack = later + 61});
      SCOPED_TRACE(testing::Message() << reset << " " << later);
      expect_nothing_sure(t);
    }
  }
  Conversation t(nothing_missing());
  for (std::uint32_t i = 0; i < 4; ++i) {
    talk(t, 0, 2 * i, static_cast<std::uint8_t>(7 + i), i == 0 ? 1 : 10'000);
  }
  expect_nothing_sure(t);
}

TEST(RefereeReuse, ClocksBeginAgain) {
  for (bool const all : {false, true}) {
    for (std::uint32_t const isn : {0u, 1u << 30}) {
      Conversation t(all ? nothing_missing() : Terms{});
      talk(t, 0, 0, 7, 1, 500'000);
      talk(t, isn, 0, 9, 3'000, 200);
      SCOPED_TRACE(testing::Message() << all << " " << isn);
      expect_nothing_sure(t);
    }
  }
}

// After a reset the number is reported, and what follows is judged by itself.
TEST(RefereeReuse, TheNumberOfAConnectionThatWasResetIsReported) {
  Conversation t;
  talk(t, 0, 0, 7, 1);
  t.a("RA", {.seq = 41, .ack = 61});
  talk(t, 0, 0, 9, 10'000);
  EXPECT_EQ(t.found(Rule::isn_repeated), "likely");
  // A SYN that was refused is sent again.
  Conversation again;
  again.a("S", {.mss = 1'460}).b("RA", {.ack = 1}).a("S", {.after_ms = 500, .mss = 1'460});
  again.b("RA", {.ack = 1});
  EXPECT_EQ(again.found(Rule::isn_repeated), "no");
}

// The recorder lost the client's FIN: only what follows within that connection could confirm that
// the server acknowledged nothing.
TEST(RefereeReuse, TheNextConnectionConfirmsNothing) {
  for (std::uint32_t const isn : {0u - 100'000, 2'700'000'000u, 89'000'000u}) {
    for (std::uint32_t const stamp : {0u, 300u}) {
      Conversation t;
      talk(t, 0, 0, 7, 1, stamp == 0 ? 0 : 900'000);
      t.b("FA", {.seq = 61,
                 .ack = 42,
                 .stamp = stamp == 0 ? 0 : 900'009u,
                 .echo = stamp == 0 ? 0 : 900'150u});
      t.a("A", {.seq = 42,
                .ack = 62,
                .stamp = stamp == 0 ? 0 : 900'160u,
                .echo = stamp == 0 ? 0 : 900'009u});
      talk(t, isn, 500'000'000, 9, 10'000, stamp);
      std::uint32_t const last = stamp == 0 ? 0 : stamp + 5;
      t.a("FA", {.seq = isn + 41, .ack = 500'000'061, .stamp = last, .echo = stamp});
      t.b("FA", {.seq = 500'000'061, .ack = isn + 42, .stamp = last, .echo = last});
      SCOPED_TRACE(testing::Message() << isn << " " << stamp);
      expect_nothing_sure(t);
    }
  }
}

// One direction is recorded late throughout, so each reply stands before its cause.
TEST(RefereeReuse, RepliesBeforeTheirCausesOnPortsThatAreUsedAgain) {
  for (std::uint32_t const isn_b : {0u, 7u, 500'000'000u}) {
    for (std::uint32_t const isn_a : {2'700'000'000u, 89'000'000u}) {
      Conversation t(nothing_missing());
      talk(t, 0, 0, 7, 1);
      t.a("FA", {.seq = 41, .ack = 61}).b("FA", {.seq = 61, .ack = 42});
      t.a("A", {.seq = 42, .ack = 62});
      std::uint32_t const a = isn_a + 1;
      std::uint32_t const b = isn_b + 1;
      t.b("SA", {.seq = isn_b, .ack = a, .after_ms = 10'000, .mss = 1'460});
      t.a("S", {.seq = isn_a, .after_ms = 0, .after_us = 100, .mss = 1'460});
      t.a("A", {.seq = a, .ack = b});
      t.b("AP", {.seq = b, .ack = a + 40, .text = 60, .octet = 9});
      t.a("AP", {.seq = a, .ack = b, .text = 40, .after_ms = 0, .after_us = 100, .octet = 9});
      t.a("A", {.seq = a + 40, .ack = b + 60});
      SCOPED_TRACE(testing::Message() << isn_a << " " << isn_b);
      expect_nothing_sure(t);
    }
  }
}

// The directions were recorded by clocks that differ, so each ACK of `a` stands before what it
// acknowledges, and a window that `b` opens behind the data that it lets go.
TEST(RefereeReuse, DirectionsWhoseClocksDiffer) {
  for (std::uint32_t const apart : {0u, 25u, 300u}) {
    Conversation t;
    t.a("S", {.mss = 1'460}).a("A", {.seq = 1, .ack = 1});
    t.a("AP", {.seq = 1, .ack = 1, .text = 4'000}).a("AP", {.seq = 4'001, .ack = 1, .text = 4'000});
    t.b("SA", {.ack = 1, .after_ms = apart, .window = 4'000, .mss = 1'460});
    t.b("A", {.seq = 1, .ack = 4'001, .window = 4'000});
    t.a("AP", {.seq = 8'001, .ack = 1, .text = 4'000});
    t.a("AP", {.seq = 12'001, .ack = 1, .text = 4'000});
    for (std::uint32_t ack = 4'401; ack < 12'001; ack += 400) {
      t.b("A", {.seq = 1, .ack = ack, .after_ms = 10, .window = 4'000});
    }
    SCOPED_TRACE(apart);
    if (apart != 0) {
      expect_nothing_sure(t);
    } else {
      EXPECT_EQ(t.found(Rule::beyond_window), "certain");
    }
  }
}

// Two cells with equal addresses and numbers, each in a VLAN of its own, recorded on one trunk. A
// router's copy of a packet in another VLAN is no other connection.
TEST(RefereeReuse, EqualAddressesInTwoNetworks) {
  for (bool const copies : {false, true}) {
    Conversation t;
    t.open({.mss = 1'460, .network = 5});
    t.a("AP", {.seq = 1, .ack = 1, .text = 40, .network = 5});
    t.a("AP", {.seq = 1, .ack = 1, .text = 40, .copy = copies, .network = 6});
    t.a("AP", {.seq = 1, .ack = 1, .text = 40, .octet = 9, .network = copies ? 5u : 6u});
    t.b("A", {.seq = 1, .ack = 41, .network = 5});
    EXPECT_EQ(t.found(Rule::text_changed), copies ? "certain" : "likely");
  }
}

// A firewall has taken the window scale out of one SYN: its sender believes that windows are
// scaled.
TEST(RefereeReuse, AFirewallTakesTheWindowScaleOut) {
  for (bool const own : {false, true}) {
    for (int const scale : {-1, 7}) {
      Conversation t;
      t.a("S", {.window = 2'000, .mss = 1'460, .scale = scale});
      t.b("SA", {.ack = 1, .mss = 1'460, .own = own});
      t.a("A", {.seq = 1, .ack = 1, .window = 2'000});
      t.b("AP", {.seq = 1, .ack = 1, .text = 1'400, .own = own});
      t.b("AP", {.seq = 1'401, .ack = 1, .text = 1'400, .own = own});
      t.a("A", {.seq = 1, .ack = 1'401, .after_ms = 50, .window = 600});
      t.a("A", {.seq = 1, .ack = 1'501, .after_ms = 50, .window = 500});
      EXPECT_EQ(t.found(Rule::beyond_window), scale < 0 || own ? "certain" : "likely");
    }
  }
}

// On ports used before, whose end the capture lacks, the SYN-ACK is recorded behind its sender's
// data.
TEST(RefereeReuse, ASynAckIsRecordedBehindData) {
  Conversation t;
  t.b("SA", {.ack = 1, .mss = 1'460}).a("A", {.seq = 1, .ack = 1});
  t.a("AP", {.seq = 1, .ack = 1, .text = 40}).b("AP", {.seq = 1, .ack = 41, .text = 60});
  t.a("S", {.seq = 80'000, .after_ms = 500, .mss = 1'460});
  t.a("A", {.seq = 80'001, .ack = 90'001}).a("AP", {.seq = 80'001, .ack = 90'001, .text = 40});
  t.b("AP", {.seq = 90'001, .ack = 80'041, .text = 60});
  t.b("SA", {.seq = 90'000, .ack = 80'001, .mss = 1'460});
  t.a("A", {.seq = 80'041, .ack = 90'061});
  expect_nothing_sure(t);
}

// Within a connection a SYN-ACK with another number is still a fault.
TEST(RefereeReuse, ASynWithinAConnectionIsCertain) {
  Conversation t;
  talk(t, 0, 0, 7, 1);
  t.b("SA", {.seq = 20, .ack = 41, .mss = 1'460});
  EXPECT_EQ(t.found(Rule::syn_within), "certain");
}

// An answer that is older than the first SYN in the capture answers another one.
TEST(RefereeReuse, TheFirstSynIsMissingThoughTheRecorderRanLongBefore) {
  for (bool const answered : {false, true}) {
    Conversation t;
    t.recorded_early();
    if (answered) {
      t.b("SA", {.ack = 1, .mss = 1'460, .scale = 7});
    }
    t.a("S", {.after_ms = 3'000, .mss = 1'460}).b("SA", {.ack = 1, .mss = 1'460, .scale = 7});
    t.a("A", {.seq = 1, .ack = 1});
    EXPECT_EQ(t.found(Rule::option_unoffered), answered ? "likely" : "certain");
  }
}

}  // namespace
}  // namespace lockstep::sim::referee
