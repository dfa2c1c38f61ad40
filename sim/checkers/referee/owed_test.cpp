// Tests of missing replies and probes, and of initial sequence numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/referee/conversation.hpp"

namespace lockstep::sim::referee {
namespace {

// --- Missing replies ---

TEST(RefereeOwed, AResetForAWrongAckOfASyn) {
  for (bool const answered : {false, true}) {
    Conversation t;
    t.a("S", {.mss = 1'460}).b("SA", {.seq = 900, .ack = 77, .mss = 1'460});
    if (answered) {
      t.a("R", {.seq = 77});
    }
    t.b("SA", {.ack = 1, .mss = 1'460}).a("A", {.seq = 1, .ack = 1});
    EXPECT_EQ(t.found(Rule::reset_missing), answered ? "no" : "likely");
  }
}

TEST(RefereeOwed, AResetEndsTheConnection) {
  for (std::uint32_t const seq : {1u, 500u}) {
    Conversation t;
    t.open({.mss = 1'460}).b("RA", {.seq = seq, .ack = 1});
    for (std::uint32_t i = 0; i < 3; ++i) {
      t.a("AP", {.seq = 1 + 10 * i, .ack = 1, .text = 10, .after_ms = 300});
    }
    EXPECT_EQ(t.found(Rule::reset_ignored), seq == 1 ? "likely" : "no");
  }
}

TEST(RefereeOwed, AnAckForWhatIsNotAcceptable) {
  for (bool const answered : {false, true}) {
    Conversation t;
    t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 10});
    t.b("A", {.seq = 1, .ack = 11}).a("AP", {.seq = 1, .ack = 1, .text = 10, .after_ms = 900});
    if (answered) {
      t.b("A", {.seq = 1, .ack = 11, .after_ms = 20});
    }
    t.a("AP", {.seq = 11, .ack = 1, .text = 10, .after_ms = 1'000});
    EXPECT_EQ(t.found(Rule::reply_missing), answered ? "no" : "likely");
    for (Violation const& violation : t.violations().kept()) {
      bool const by_b = violation.speaker.port == Port{80};
      EXPECT_TRUE(violation.rule != Rule::reply_missing || by_b) << "who owes it is accused";
    }
  }
}

TEST(RefereeOwed, AnAckForWhatComesAgainAndAgain) {
  for (bool const answered : {false, true}) {
    for (bool const closed : {false, true}) {
      Conversation t;
      t.open({.mss = 1'460});
      std::uint32_t seq = 1;
      if (closed) {
        t.b("FA", {.seq = 1, .ack = 1}).a("A", {.seq = 1, .ack = 2});
        seq = 2;
      }
      for (std::uint32_t const wait : {1u, 300u, 600u, 1'200u, 2'400u}) {
        t.a("AP", {.seq = 1, .ack = seq, .text = 10, .after_ms = wait});
        if (answered && wait == 1'200) {
          t.b("A", {.seq = seq, .ack = 1});
        }
      }
      EXPECT_EQ(t.found(Rule::text_unacknowledged), answered || closed ? "no" : "likely");
      EXPECT_EQ(t.found(Rule::closed_unanswered), !answered && closed ? "likely" : "no");
      for (Violation const& violation : t.violations().kept()) {
        EXPECT_TRUE(violation.rule != Rule::text_unacknowledged ||
                    violation.speaker.port == Port{80});
      }
    }
  }
}

// The receiver replies each time, but with its old acknowledgment number.
TEST(RefereeOwed, WhatComesAgainAndAgainIsTaken) {
  for (std::string_view const flags : {"AP", "FA"}) {
    for (bool const taken : {false, true}) {
      Conversation t;
      t.open({.mss = 1'460}).b("A", {.seq = 1, .ack = 1});
      for (std::uint32_t const wait : {1u, 300u, 600u, 1'200u, 2'400u}) {
        t.a(flags, {.seq = 1, .ack = 1, .text = 10, .after_ms = wait});
        t.b("A", {.seq = 1, .ack = taken && wait == 1'200 ? 11u : 1u});
      }
      EXPECT_EQ(t.found(Rule::text_refused), taken ? "no" : "likely");
      for (Violation const& violation : t.violations().kept()) {
        EXPECT_TRUE(violation.rule != Rule::text_refused || violation.speaker.port == Port{80});
      }
    }
  }
}

TEST(RefereeOwed, AnAcknowledgmentThatGoesBack) {
  for (std::uint32_t const stamp : {80u, 200u}) {
    Conversation t;
    t.open({.mss = 1'460, .stamp = 10});
    t.a("AP", {.seq = 1, .ack = 1, .text = 100, .stamp = 11, .echo = 10});
    t.b("A", {.seq = 1, .ack = 101, .stamp = 20, .echo = 11});
    t.b("A", {.seq = 1, .ack = 51, .stamp = stamp, .echo = 11});
    EXPECT_EQ(t.found(Rule::ack_backward), stamp == 200 ? "likely" : "no");
  }
}

// Duplicate ACKs need SACK blocks even if the capture shows no gap: the loss was after its point.
TEST(RefereeOwed, DuplicateAcksReportWhatCame) {
  for (bool const reported : {false, true}) {
    for (bool const agreed : {false, true}) {
      Conversation t;
      t.open({.window = 60'000, .mss = 1'460, .sack_permitted = agreed});
      t.b("A", {.seq = 1, .ack = 1, .window = 60'000});
      for (std::uint32_t i = 0; i < 12; ++i) {
        t.a("AP", {.seq = 1 + 100 * i, .ack = 1, .text = 100});
        Say answer{.seq = 1, .ack = 1, .window = 60'000};
        if (reported && agreed && i != 0) {
          answer.sack = {{101, 101 + 100 * i}};
        }
        t.b("A", answer);
      }
      EXPECT_EQ(t.found(Rule::sack_missing), agreed && !reported ? "likely" : "no");
    }
  }
}

TEST(RefereeOwed, AnAckOfAFinByWhoHasClosedAsWell) {
  Conversation t;
  t.open({.mss = 1'460}).b("FA", {.seq = 1, .ack = 1}).a("A", {.seq = 1, .ack = 2});
  for (std::uint32_t const wait : {1u, 300u, 600u, 1'200u, 2'400u}) {
    t.a("FA", {.seq = 1, .ack = 2, .after_ms = wait});
  }
  EXPECT_EQ(t.found(Rule::text_unacknowledged), "likely");
}

TEST(RefereeOwed, AProbeOfAShutWindow) {
  enum class Sender { silent, probes, idle };
  for (Sender const sender : {Sender::silent, Sender::probes, Sender::idle}) {
    Conversation t;
    t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 10});
    t.b("A", {.seq = 1, .ack = 11, .window = 0});
    if (sender == Sender::probes) {
      t.a("A", {.seq = 10, .ack = 1, .after_ms = 300});
    }
    t.b("A", {.seq = 1, .ack = 11, .after_ms = 9'000, .window = 10'000});
    t.a("AP", {.seq = 11, .ack = 1, .text = 10, .after_ms = sender == Sender::idle ? 2'000u : 1u});
    EXPECT_EQ(t.found(Rule::probe_missing), sender == Sender::silent ? "likely" : "no");
  }
}

TEST(RefereeOwed, AChallengeForASynAlsoByWhoHasOnlyListened) {
  for (bool const answered : {false, true}) {
    Conversation t;
    t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 10});
    t.b("A", {.seq = 1, .ack = 11}).a("S", {.seq = 90, .after_ms = 500, .mss = 1'460});
    if (answered) {
      t.b("A", {.seq = 1, .ack = 11, .after_ms = 20});
    }
    t.a("AP", {.seq = 11, .ack = 1, .text = 10, .after_ms = 1'500});
    EXPECT_EQ(t.found(Rule::reply_missing), answered ? "no" : "likely");
  }
}

TEST(RefereeOwed, AnAckWithinHalfASecond) {
  for (std::uint32_t const after : {480u, 800u}) {
    Conversation t;
    t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 10});
    t.b("A", {.seq = 1, .ack = 11, .after_ms = after});
    EXPECT_EQ(t.found(Rule::ack_delayed), after == 800 ? "likely" : "no");
  }
}

TEST(RefereeOwed, AnAckForEverySecondSegment) {
  for (std::uint32_t const each : {2u, 10u}) {
    Conversation t;
    t.open({.window = 65'000, .mss = 1'000});
    for (std::uint32_t i = 0; i < 40; ++i) {
      t.a("A", {.seq = 1 + 1'000 * i, .ack = 1, .text = 1'000});
      if (i % each == each - 1) {
        t.b("A", {.seq = 1, .ack = 1'001 + 1'000 * i, .window = 65'000});
      }
    }
    EXPECT_EQ(t.found(Rule::acks_too_few), each == 10 ? "likely" : "no");
  }
}

TEST(RefereeOwed, AStormOfAcks) {
  for (std::uint32_t const count : {20u, 600u}) {
    Conversation t;
    t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 10});
    for (std::uint32_t i = 0; i < count; ++i) {
      t.b("A", {.seq = 1, .ack = 11, .after_ms = 0, .after_us = 300});
      t.a("A", {.seq = 11, .ack = 1, .after_ms = 0, .after_us = 300});
    }
    EXPECT_EQ(t.found(Rule::too_many_acks), count == 600 ? "likely" : "no");
  }
}

// Data that was acknowledged long ago excuses no storm.
TEST(RefereeOwed, AStormAfterMuchData) {
  for (std::uint32_t const count : {20u, 250u}) {
    Conversation t;
    t.open({.window = 65'000, .mss = 1'460});
    for (std::uint32_t i = 0; i < 100; ++i) {
      t.a("A", {.seq = 1 + 1'460 * i, .ack = 1, .text = 1'460});
      t.b("A", {.seq = 1, .ack = 1 + 1'460 * (i + 1), .window = 65'000});
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      t.b("A", {.seq = 1, .ack = 146'001, .after_ms = 0, .after_us = 300, .window = 65'000});
    }
    EXPECT_EQ(t.found(Rule::too_many_acks), count == 250 ? "likely" : "no");
  }
}

// Arriving data excuses no ACKs below what was acknowledged.
TEST(RefereeOwed, AStormOfOldAcksBesideData) {
  for (std::uint32_t const count : {20u, 100u}) {
    Conversation t;
    t.open({.window = 65'000, .mss = 1'460});
    t.a("A", {.seq = 1, .ack = 1, .text = 1'460});
    t.b("A", {.seq = 1, .ack = 1'461, .window = 65'000});
    for (std::uint32_t i = 1; i <= count; ++i) {
      t.a("A", {.seq = 1 + 1'460 * i, .ack = 1, .text = 1'460});
      t.b("A", {.seq = 1, .ack = 1 + 1'460 * (i + 1), .window = 65'000});
      t.b("A", {.seq = 1, .ack = 1'461, .after_ms = 0, .after_us = 300, .window = 65'000});
    }
    EXPECT_EQ(t.found(Rule::too_many_acks), count == 100 ? "likely" : "no");
  }
}

TEST(RefereeOwed, AnAckForEachOfAThousandInFlight) {
  for (std::uint32_t const acks : {1'000u, 6'000u}) {
    Conversation t;
    t.open({.window = 65'000, .mss = 1'000, .scale = 8});
    for (std::uint32_t i = 0; i <= 1'000; ++i) {
      t.a("A", {.seq = 1 + 1'000 * i, .ack = 1, .text = 1'000, .after_ms = 0, .after_us = 10});
    }
    // The first segment was lost.
    for (std::uint32_t i = 0; i < acks; ++i) {
      t.b("A", {.seq = 1, .ack = 1, .after_ms = 0, .after_us = 10, .window = 65'000});
    }
    EXPECT_EQ(t.found(Rule::too_many_acks), acks == 6'000 ? "likely" : "no");
  }
}

TEST(RefereeOwed, ThreeDuplicateAcks) {
  for (bool const heeded : {false, true}) {
    Conversation t;
    t.open({.mss = 1'000});
    for (std::uint32_t i = 0; i < 5; ++i) {
      t.a("A", {.seq = 1 + 1'000 * i, .ack = 1, .text = 1'000});
    }
    t.b("A", {.seq = 1, .ack = 1'001});
    for (std::uint32_t i = 0; i < 3; ++i) {
      t.b("A", {.seq = 1, .ack = 1'001, .after_ms = 20});
    }
    if (heeded) {
      t.a("A", {.seq = 1'001, .ack = 1, .text = 1'000});
    }
    t.a("A", {.seq = 5'001, .ack = 1, .after_ms = 2'000});
    EXPECT_EQ(t.found(Rule::duplicate_acks_ignored), heeded ? "no" : "likely");
  }
}

TEST(RefereeOwed, WhatIsNotAcknowledgedGoesAgain) {
  for (std::uint32_t const after : {3'000u, 9'000u}) {
    Conversation t;
    t.open({.mss = 1'000}).a("AP", {.seq = 1, .ack = 1, .text = 100});
    t.b("AP", {.seq = 1, .ack = 1, .text = 1});
    t.b("A", {.seq = 1, .ack = 51, .after_ms = 20});
    t.a("A", {.seq = 101, .ack = 2, .after_ms = after});
    EXPECT_EQ(t.found(Rule::retransmission_missing), after == 9'000 ? "likely" : "no");
  }
}

TEST(RefereeOwed, AMarkIsEchoed) {
  for (std::string_view const flags : {"A", "AE"}) {
    Conversation t;
    t.a("SEC", {}).b("SAE", {.ack = 1}).a("A", {.seq = 1, .ack = 1});
    t.a("AP", {.seq = 1, .ack = 1, .text = 5, .ecn = 3}).b(flags, {.seq = 1, .ack = 6});
    EXPECT_EQ(t.found(Rule::ce_unechoed), flags == "A" ? "likely" : "no");
  }
}

TEST(RefereeOwed, AKeepAliveHasTheNumberBeforeTheNext) {
  for (std::uint32_t const seq : {10u, 12u}) {
    Conversation t;
    t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 10});
    t.b("A", {.seq = 1, .ack = 11}).a("A", {.seq = seq, .ack = 1, .after_ms = 5'000});
    EXPECT_EQ(t.found(Rule::keep_alive_beyond), seq == 12 ? "likely" : "no");
  }
}

TEST(RefereeResets, WhoHasAConnectionAnswersNoneEither) {
  for (std::string_view const flags : {"R", "RA"}) {
    Conversation t;
    t.open().a("RA", {.seq = 1, .ack = 1}).b(flags, {.seq = 1, .ack = 1, .after_ms = 20});
    EXPECT_EQ(t.found(Rule::reset_answers_reset), flags == "R" ? "likely" : "no");
  }
}

TEST(RefereeResets, WhoHasClosedAnswersNoneEither) {
  for (bool const text : {false, true}) {
    Conversation t;
    t.open().a("FA", {.seq = 1, .ack = 1}).b("FA", {.seq = 1, .ack = 2});
    t.a("A", {.seq = 2, .ack = 2});
    if (text) {
      t.b("AP", {.seq = 1, .ack = 2, .text = 5});
    }
    t.b("R", {.seq = 2}).a("R", {.seq = 2, .own = true});
    EXPECT_EQ(t.found(Rule::reset_answers_reset), text ? "no" : "likely");
  }
}

TEST(RefereeResets, OfAFarNumberAfterManyAcknowledgments) {
  for (std::uint32_t const seq : {201u, 90'000u}) {
    Conversation t;
    t.open({.mss = 1'460});
    for (std::uint32_t i = 0; i < 20; ++i) {
      t.a("AP", {.seq = 1 + 10 * i, .ack = 1, .text = 10}).b("A", {.seq = 1, .ack = 11 + 10 * i});
    }
    t.a("RA", {.seq = seq, .ack = 1});
    EXPECT_EQ(t.found(Rule::reset_outside), seq == 201 ? "no" : "likely");
  }
}

// --- Initial sequence numbers ---

/// A connection with the ISSs a and b that both sides close.
void live(Conversation& t, std::uint32_t a, std::uint32_t b) {
  t.a("S", {.seq = a, .mss = 1'460}).b("SA", {.seq = b, .ack = a + 1, .mss = 1'460});
  t.a("FA", {.seq = a + 1, .ack = b + 1}).b("FA", {.seq = b + 1, .ack = a + 2});
  t.a("A", {.seq = a + 2, .ack = b + 2});
}

TEST(RefereeFirstNumbers, OfTheSamePorts) {
  struct Case {
    std::uint32_t a, b;
    std::string_view repeated, lower;
  };
  for (auto const& [a, b, repeated, lower] :
       {Case{9'000, 700'000, "likely", "no"}, Case{5'000, 800'000, "likely", "no"},
        Case{4'000, 800'000, "no", "likely"}, Case{9'000, 800'000, "no", "no"}}) {
    for (bool const whole : {false, true}) {
      Terms terms;
      terms.whole = whole;
      terms.deployed = true;
      Conversation t(terms);
      live(t, 5'000, 700'000);
      live(t, a, b);
      EXPECT_EQ(t.found(Rule::isn_repeated), repeated) << a << " " << b << whole;
      EXPECT_EQ(t.found(Rule::isn_lower), lower) << a << " " << b << whole;
    }
  }
}

// A device without a clock has the same number in each of its connections on the same ports.
TEST(RefereeFirstNumbers, TheSameInMoreThanTwoConnections) {
  Terms terms;
  terms.whole = terms.deployed = true;
  Conversation t(terms);
  for (std::uint32_t i = 0; i < 4; ++i) {
    live(t, 5'000, 700'000 + 70'000 * i);
  }
  EXPECT_EQ(t.found(Rule::ack_of_unheard), "no");
  EXPECT_EQ(t.all(), std::vector<std::string_view>(3, "isn-repeated"));
}

// In a capture that lacks nothing, each of many connections on the same ports is judged.
TEST(RefereeFirstNumbers, ManyConnectionsOnTheSamePorts) {
  Terms terms;
  terms.whole = terms.deployed = true;
  Conversation t(terms);
  for (std::uint32_t i = 0; i < 9; ++i) {
    live(t, 5'000 + 70'000 * i, 700'000 + 70'000 * i);
  }
  std::uint32_t const a = 5'000 + 70'000 * 9;
  std::uint32_t const b = 700'000 + 70'000 * 9;
  t.a("S", {.seq = a, .mss = 1'460}).b("SA", {.seq = b, .ack = a + 1, .mss = 1'460});
  t.a("A", {.seq = a + 1, .ack = b + 1});
  EXPECT_EQ(t.found(Rule::ack_of_unheard), "no");
  t.b("A", {.seq = b + 1, .ack = a + 5'001});
  EXPECT_EQ(t.found(Rule::ack_of_unheard), "certain");
}

TEST(RefereeFirstNumbers, ThatGrowByTheSameStep) {
  for (std::uint32_t const bend : {0u, 1u}) {
    Conversation t;
    for (std::uint16_t i = 0; i < 5; ++i) {
      t.from_port(static_cast<std::uint16_t>(1'000 + i));
      t.a("S", {.seq = 64'000u * i + (i == 3 ? bend : 0), .mss = 1'460});
    }
    EXPECT_EQ(t.found(Rule::isn_predictable), bend == 0 ? "likely" : "no");
  }
}

}  // namespace
}  // namespace lockstep::sim::referee
