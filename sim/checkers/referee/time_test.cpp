// Tests of time and amounts: timers, duplicate ACKs, congestion windows, Nagle, silly windows.
#include <gtest/gtest.h>

#include "sim/checkers/referee/conversation.hpp"
#include "sim/checkers/referee/referee.hpp"

namespace lockstep::sim::referee {
namespace {

// --- Time ---

TEST(RefereeTime, ATimerThatRunsOutTooSoon) {
  for (std::uint32_t const after : {50u, 900u, 1'000u}) {
    Conversation t;
    t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 5});
    t.a("AP", {.seq = 1, .ack = 1, .text = 5, .after_ms = after});
    EXPECT_EQ(t.found(Rule::timeout_too_soon), after == 50    ? "likely"
                                               : after == 900 ? "note"
                                                              : "no");
  }
  // With SACK one tail loss probe may be sent after a round trip, and the RTO expires later.
  for (std::uint32_t const after : {10u, 50u, 300u}) {
    Conversation t;
    t.open({.mss = 1'460, .sack_permitted = true});
    t.a("AP", {.seq = 1, .ack = 1, .text = 5});
    t.a("AP", {.seq = 1, .ack = 1, .text = 5, .after_ms = after == 10 ? 10u : 50u});
    t.a("AP", {.seq = 1, .ack = 1, .text = 5, .after_ms = after == 10 ? 1'000u : after});
    EXPECT_EQ(t.found(Rule::timeout_too_soon), after == 300 ? "note" : "likely") << after;
  }
  // Three duplicate ACKs cause a fast retransmission.
  Conversation fast;
  fast.open({.mss = 1'460});
  for (std::uint32_t i = 0; i < 5; ++i) {
    fast.a("A", {.seq = 1 + 1'460 * i, .ack = 1, .text = 1'460});
  }
  for (std::uint32_t i = 0; i < 3; ++i) {
    fast.b("A", {.seq = 1, .ack = 1, .after_ms = 20});
  }
  fast.a("A", {.seq = 1, .ack = 1, .text = 1'460});
  EXPECT_EQ(fast.found(Rule::timeout_too_soon), "no");
}

// An ACK without outstanding data, such as the reply to a keep-alive, reports no loss.
TEST(RefereeTime, ATimerThatRunsOutTooSoonAfterKeepAlives) {
  Conversation t;
  t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 5});
  t.b("A", {.seq = 1, .ack = 6});
  for (std::uint32_t i = 0; i < 3; ++i) {
    t.a("A", {.seq = 5, .ack = 1, .after_ms = 1'000});
    t.b("A", {.seq = 1, .ack = 6});
  }
  t.a("AP", {.seq = 6, .ack = 1, .text = 5});
  t.a("AP", {.seq = 6, .ack = 1, .text = 5, .after_ms = 10});
  EXPECT_EQ(t.found(Rule::timeout_too_soon), "likely");
}

TEST(RefereeTime, ATimerThatIsNotDoubled) {
  for (std::uint32_t const second : {1'500u, 2'000u}) {
    Conversation t;
    t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 5});
    t.a("AP", {.seq = 1, .ack = 1, .text = 5, .after_ms = 1'000});
    t.a("AP", {.seq = 1, .ack = 1, .text = 5, .after_ms = second});
    EXPECT_EQ(t.found(Rule::timeout_not_doubled), second == 1'500 ? "likely" : "no");
  }
}

TEST(RefereeTime, WhatWasReportedIsNotSentAgain) {
  for (std::uint32_t const seq : {101u, 1u}) {
    Conversation t;
    t.open({.mss = 100, .sack_permitted = true});
    t.a("A", {.seq = 1, .ack = 1, .text = 100}).a("A", {.seq = 101, .ack = 1, .text = 100});
    t.a("A", {.seq = 201, .ack = 1, .text = 100});
    t.b("A", {.seq = 1, .ack = 1, .after_ms = 20, .sack = {{101, 301}}});
    t.b("A", {.seq = 1, .ack = 1, .after_ms = 60, .sack = {{101, 301}}});
    t.a("A", {.seq = seq, .ack = 1, .text = 100});
    EXPECT_EQ(t.found(Rule::sacked_sent_again), seq == 101 ? "likely" : "no");
  }
}

TEST(RefereeTime, WhatWasReportedIsNotSentAgainThoughNewsComes) {
  for (std::uint32_t const seq : {101u, 401u}) {
    Conversation t;
    t.open({.mss = 100, .sack_permitted = true});
    for (std::uint32_t i = 0; i < 9; ++i) {
      t.a("A", {.seq = 1 + 100 * i, .ack = 1, .text = 100});
    }
    for (std::uint32_t end = 201; end < 801; end += 100) {
      if (end != 501) {
        t.b("A", {.seq = 1, .ack = 1, .after_ms = 15, .sack = {{end < 501 ? 101 : 501, end}}});
      }
    }
    t.a("A", {.seq = seq, .ack = 1, .text = 100});
    EXPECT_EQ(t.found(Rule::sacked_sent_again), seq == 101 ? "likely" : "no");
  }
}

TEST(RefereeTime, AtItsHostADuplicateIsSeenAtOnce) {
  for (std::uint32_t const wait : {1u, 15u}) {
    Conversation t;
    t.open({.mss = 100});
    for (std::uint32_t i = 1; i < 4; ++i) {
      t.b("A", {.seq = 1 + 100 * i, .ack = 1, .text = 100});
    }
    t.b("A", {.seq = 1, .ack = 1, .text = 100, .after_ms = wait});
    t.a("A", {.seq = 1, .ack = 401, .own = true});
    EXPECT_EQ(t.found(Rule::duplicate_ack_missing), wait == 15 ? "likely" : "no");
  }
}

TEST(RefereeTime, TextAboveAGapDrawsADuplicate) {
  for (bool const answered : {false, true}) {
    Conversation t;
    t.open({.mss = 100});
    for (std::uint32_t i = 1; i < 4; ++i) {
      t.a("A", {.seq = 1 + 100 * i, .ack = 1, .text = 100});
    }
    if (answered) {
      t.b("A", {.seq = 1, .ack = 1});
    }
    t.a("A", {.seq = 1, .ack = 1, .text = 100, .after_ms = 1'000});
    t.b("A", {.seq = 1, .ack = 401});
    EXPECT_EQ(t.found(Rule::duplicate_ack_missing), answered ? "no" : "likely");
  }
}

TEST(RefereeTime, OneSegmentAfterATimeout) {
  for (bool const more : {true, false}) {
    Conversation t;
    t.open({.mss = 100}).a("A", {.seq = 1, .ack = 1, .text = 100});
    t.a("A", {.seq = 101, .ack = 1, .text = 100});
    t.a("A", {.seq = 1, .ack = 1, .text = 100, .after_ms = 1'000});
    if (!more) {
      t.b("A", {.seq = 1, .ack = 101, .after_ms = 20});
    }
    t.a("A", {.seq = 101, .ack = 1, .text = 100});
    EXPECT_EQ(t.found(Rule::more_than_loss_window), more ? "likely" : "no");
  }
}

// RFC 5681 3.1: the loss window is a number of octets. Some TCPs send again each small segment of
// the application.
TEST(RefereeTime, SmallSegmentsShareTheLossWindow) {
  for (std::uint32_t const size : {50u, 51u}) {
    Conversation t;
    t.open({.mss = 100});
    for (std::uint32_t const after_ms : {0u, 1'000u}) {
      t.a("AP", {.seq = 1, .ack = 1, .text = size, .after_ms = after_ms});
      t.a("AP", {.seq = 1 + size, .ack = 1, .text = size});
    }
    t.b("A", {.seq = 1, .ack = 1 + 2 * size});
    EXPECT_EQ(t.found(Rule::more_than_loss_window), size == 50 ? "no" : "likely");
  }
}

// --- Amounts ---

TEST(RefereeAmounts, TheInitialWindow) {
  for (std::uint32_t const segments : {11u, 10u}) {
    Conversation t;
    t.open({.window = 60'000, .mss = 1'000});
    for (std::uint32_t i = 0; i < segments; ++i) {
      t.a("A", {.seq = 1 + 1'000 * i, .ack = 1, .text = 1'000});
    }
    EXPECT_EQ(t.found(Rule::initial_window), segments == 11 ? "note" : "no");
  }
}

// The initial window counts segments of the sender's minimum size if the peer's MSS is smaller.
TEST(RefereeAmounts, TheInitialWindowOfAnMssBelowTheFloor) {
  for (std::uint32_t const segments : {11u, 10u}) {
    Terms terms;
    terms.mss_least = Bytes{48};
    Conversation t(terms);
    t.open({.window = 60'000, .mss = 10});
    for (std::uint32_t i = 0; i < segments; ++i) {
      t.a("AP", {.seq = 1 + 48 * i, .ack = 1, .text = 48});
    }
    EXPECT_EQ(t.found(Rule::initial_window), segments == 11 ? "note" : "no");
    EXPECT_EQ(t.found(Rule::nagle), "no");
  }
}

TEST(RefereeAmounts, SlowStartAtTheMost) {
  for (std::uint32_t const segments : {12u, 13u}) {
    Conversation t;
    t.open({.window = 60'000, .mss = 1'000}).a("A", {.seq = 1, .ack = 1, .text = 1'000});
    t.b("A", {.seq = 1, .ack = 1'001, .window = 60'000});
    for (std::uint32_t i = 1; i < segments; ++i) {
      t.a("A", {.seq = 1 + 1'000 * i, .ack = 1, .text = 1'000});
    }
    EXPECT_EQ(t.found(Rule::window_grown_too_fast), segments == 13 ? "likely" : "no");
  }
}

TEST(RefereeAmounts, Nagle) {
  for (bool const waits : {false, true}) {
    Conversation t;
    t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 5});
    if (waits) {
      t.b("A", {.seq = 1, .ack = 6});
    }
    t.a("AP", {.seq = 6, .ack = 1, .text = 5});
    EXPECT_EQ(t.found(Rule::nagle), waits ? "no" : "note");
  }
}

TEST(RefereeAmounts, SillyWindows) {
  for (std::string_view const flags : {"A", "AP"}) {
    Conversation t;
    t.open({.mss = 1'460}).a(flags, {.seq = 1, .ack = 1, .text = 5});
    EXPECT_EQ(t.found(Rule::silly_sender), flags == "A" ? "likely" : "no");
  }
  for (std::uint16_t const opened : {std::uint16_t{100}, std::uint16_t{1'460}}) {
    Conversation t;
    t.open({.window = 10'000, .mss = 1'460});
    for (std::uint32_t i = 0; i < 10; ++i) {
      t.a("AP", {.seq = 1 + 1'000 * i, .ack = 1, .text = 1'000});
    }
    t.b("A", {.seq = 1, .ack = 10'001, .window = 0});
    t.b("A", {.seq = 1, .ack = 10'001, .window = opened});
    EXPECT_EQ(t.found(Rule::silly_receiver), opened == 100 ? "likely" : "no");
  }
  // A receiver estimates the MSS from the segments that arrive, which may be below its own MSS.
  for (std::uint32_t const size : {536u, 1'000u}) {
    Conversation t;
    t.open({.window = 10'000, .mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = size});
    t.b("A", {.seq = 1, .ack = 1 + size, .window = 0});
    t.b("A", {.seq = 1, .ack = 1 + size, .window = 600});
    EXPECT_EQ(t.found(Rule::silly_receiver), size == 536 ? "no" : "likely");
  }
}

}  // namespace
}  // namespace lockstep::sim::referee
