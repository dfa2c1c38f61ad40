// Sequence numbers of ACKs without data and of SYNs.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/checkers/referee/conversation.hpp"

namespace lockstep::sim::referee {
namespace {

enum class Captured : std::uint8_t { between, at_a, at_b, whole };
constexpr Captured all_places[] = {Captured::between, Captured::at_a, Captured::at_b,
                                   Captured::whole};

Terms terms_of(Captured captured) {
  Terms terms;
  terms.whole = terms.deployed = captured == Captured::whole;
  return terms;
}

// A capture that lacks no packet, of a stack as deployed or of our own.
Terms whole_terms(bool deployed) {
  Terms terms;
  terms.whole = true;
  terms.deployed = deployed;
  return terms;
}

//= rfc9293#3.8
//= type=test
//# 9293:P-VARS-ADVANCE the number of an ACK without data is SND.NXT
TEST(RefereeNumbers, AnAckWithoutDataHasTheNextNumber) {
  struct Case {
    std::uint32_t seq = 0;
    std::string_view found;
  };
  constexpr std::uint32_t next = 20'001;
  for (Captured const captured : all_places) {
    bool const own_a = captured == Captured::at_a;
    bool const own_b = captured == Captured::at_b;
    for (auto const& [seq, found] :
         {Case{next, "no"}, Case{next - 1, "no"}, Case{next - 5'000, "likely"},
          Case{next - 5'000'000, "certain"}, Case{next + 5'000, "likely"},
          Case{next + 5'000'000, "certain"}}) {
      Conversation t(terms_of(captured));
      t.a("S", {.mss = 1'460, .own = own_a}).b("SA", {.ack = 1, .mss = 1'460, .own = own_b});
      t.a("A", {.seq = 1, .ack = 1, .after_ms = 20, .own = own_a});
      for (std::uint32_t const sent : {0u, 10'000u}) {
        t.a("AP", {.seq = 1 + sent, .ack = 1, .text = 10'000, .own = own_a});
        t.b("A", {.seq = 1, .ack = 10'001 + sent, .own = own_b});
      }
      t.b("AP", {.seq = 1, .ack = 20'001, .text = 100, .after_ms = 50, .own = own_b});
      t.a("A", {.seq = seq, .ack = 101, .own = own_a});
      t.a("AP", {.seq = next, .ack = 101, .text = 10, .after_ms = 300, .own = own_a});
      t.b("A", {.seq = 101, .ack = next + 10, .after_ms = 300, .own = own_b});
      EXPECT_EQ(t.found(Rule::bare_ack_off), found) << seq << " " << int(captured);
    }
  }
}

//= rfc9293#3.4
//= type=test
//# 9293:P-CTL-ONCE a SYN does not occur again, except as a copy of the first
TEST(RefereeNumbers, ASynWithinAConnection) {
  for (Captured const captured : all_places) {
    bool const own_a = captured == Captured::at_a;
    bool const own_b = captured == Captured::at_b;
    for (std::uint32_t const text : {0u, 100u}) {
      Conversation t(terms_of(captured));
      t.a("S", {.mss = 1'460, .own = own_a}).b("SA", {.ack = 1, .mss = 1'460, .own = own_b});
      t.a("A", {.seq = 1, .ack = 1, .own = own_a});
      t.a("AP", {.seq = 1, .ack = 1, .text = 100, .own = own_a});
      t.b("A", {.seq = 1, .ack = 101, .own = own_b});
      t.b("SAP", {.seq = 1, .ack = 101, .text = text, .own = own_b});
      t.a("A", {.seq = 101, .ack = 1 + text, .own = own_a});
      t.b("AP", {.seq = 1 + text, .ack = 101, .text = 10, .own = own_b});
      EXPECT_EQ(t.found(Rule::syn_within), "certain");
      EXPECT_EQ(t.found(Rule::ack_of_unheard), "no");
    }
  }
  Conversation copy;
  copy.open({.mss = 1'460}).b("SA", {.ack = 1, .mss = 1'460}).a("A", {.seq = 1, .ack = 1});
  EXPECT_EQ(copy.found(Rule::syn_within), "no");
}

// In a simultaneous open each SYN arrives twice, and a D-SACK may report the second one.
TEST(RefereeNumbers, ABlockMayCoverTheSyn) {
  Terms terms;
  terms.whole = true;
  for (std::uint32_t const begin : {0u, 0u - 1}) {
    Conversation t(terms);
    Say const syn{.mss = 1'460, .sack_permitted = true};
    Say both = syn;
    both.ack = 1;
    t.a("S", syn).b("S", syn).a("SA", both).b("SA", both);
    t.a("A", {.seq = 1, .ack = 1, .sack = {{begin, 1}}});
    EXPECT_EQ(t.found(Rule::sack_of_unheard), begin == 0 ? "no" : "certain");
  }
}

// The octets may be in a fragment, also where no packet is missing.
TEST(RefereeNumbers, AnAckOfAGapRestsOnEveryOctet) {
  Conversation t(whole_terms(true));
  t.open().a("AP", {.seq = 1, .ack = 1, .text = 10}).a("AP", {.seq = 21, .ack = 1, .text = 10});
  t.b("A", {.seq = 1, .ack = 31});
  EXPECT_EQ(t.found(Rule::ack_of_unheard), "certain");
  for (Violation const& violation : t.violations().kept()) {
    EXPECT_TRUE(violation.rests_on_all || violation.rule != Rule::ack_of_unheard);
  }
}

// The host's own queue, or the recorder, may have dropped the data before the reset.
TEST(RefereeNumbers, AResetBehindDataWithoutARecord) {
  for (bool const whole : {false, true}) {
    for (bool const deployed : {true, false}) {
      for (std::uint32_t const seq : {201u, 0u - 5'000}) {
        Terms terms = whole_terms(deployed);
        terms.whole = whole;
        Conversation t(terms);
        t.open().a("AP", {.seq = 1, .ack = 1, .text = 100, .own = true});
        t.b("A", {.seq = 1, .ack = 101}).a("RA", {.seq = seq, .ack = 1, .own = true});
        bool const explained = seq == 201 && !terms.is_strict();
        EXPECT_EQ(t.found(Rule::reset_outside), explained ? "likely" : "certain") << seq;
      }
    }
  }
}

// The host's own queue may have dropped packets before the place of the capture, so that no packet
// is missing there. What follows is judged.
TEST(RefereeNumbers, AGapThatTheQueueOfTheHostMayHaveLeft) {
  for (bool const deployed : {true, false}) {
    Conversation t(whole_terms(deployed));
    t.open().a("AP", {.seq = 1, .ack = 1, .text = 100, .own = true});
    t.a("AP", {.seq = 201, .ack = 1, .text = 100, .own = true});
    t.a("AP", {.seq = 301, .ack = 1, .text = 100, .own = true});
    EXPECT_EQ(t.found(Rule::sent_with_gap), deployed ? "likely" : "certain");
    EXPECT_EQ(std::ranges::count(t.violations().kept(), Rule::sent_with_gap, &Violation::rule), 1);
    EXPECT_EQ(t.found(Rule::beyond_window), "no");
    t.a("AP", {.seq = 401, .ack = 1, .text = 9'700, .own = true});
    EXPECT_EQ(t.found(Rule::beyond_window), "certain");
  }
}

// SYN-ACKs of two connections are no cookies for one SYN.
TEST(RefereeNumbers, TheAnsweringSideOfALaterConnection) {
  for (bool const whole : {true, false}) {
    for (bool const cookies : {false, true}) {
      Terms terms = whole_terms(true);
      terms.whole = whole;
      Conversation t(terms);
      t.open({.mss = 1'460})
          .a("AP", {.seq = 1, .ack = 1, .text = 10})
          .b("A", {.seq = 1, .ack = 11});
      t.b("FA", {.seq = 1, .ack = 11}).a("FA", {.seq = 11, .ack = 2}).b("A", {.seq = 2, .ack = 12});
      t.a("S", {.seq = 900'000, .after_ms = 5'000, .mss = 1'460});
      if (cookies) {
        t.b("SA", {.seq = 500'000, .ack = 900'001, .mss = 1'460});
      }
      t.b("SA", {.seq = 700'000, .ack = 900'001, .mss = 1'460});
      t.a("A", {.seq = 900'001, .ack = 700'001});
      for (std::uint32_t i = 0; i < 12; ++i) {
        t.b("A", {.seq = 700'001 + 1'000 * i, .ack = 900'001, .text = 1'000});
      }
      t.b("AP", {.seq = 700'001, .ack = 900'001, .text = 1'000, .octet = 9});
      t.a("A", {.seq = 900'001, .ack = 712'001, .after_ms = 50});
      std::string_view const found = cookies ? "no" : whole ? "certain" : "likely";
      EXPECT_EQ(t.found(Rule::beyond_window), found) << whole;
      EXPECT_EQ(t.found(Rule::text_changed), found) << whole;
    }
  }
}

// An ACK for many segments, which hardware may have joined, is excused if there is one of it.
TEST(RefereeNumbers, ACountOfAcksIsThatOfOneConnection) {
  for (std::uint32_t const transfers : {1u, 3u}) {
    Conversation t(whole_terms(true));
    for (std::uint32_t base = 0; base < 400'000; base += 100'000) {
      t.a("S", {.seq = base, .after_ms = 90'000, .mss = 1'460});
      t.b("SA", {.seq = base, .ack = base + 1, .mss = 1'460});
      std::uint32_t at = base + 1;
      for (std::uint32_t transfer = 0; transfer < transfers; ++transfer) {
        for (std::uint32_t const end = at + 9'000; at != end; at += 1'000) {
          t.a("A", {.seq = at, .ack = base + 1, .text = 1'000});
        }
        t.b("A", {.seq = base + 1, .ack = at});
      }
      t.a("FA", {.seq = at, .ack = base + 1}).b("FA", {.seq = base + 1, .ack = at + 1});
      t.a("A", {.seq = at + 1, .ack = base + 2});
    }
    EXPECT_EQ(t.found(Rule::acks_too_few), transfers == 1 ? "no" : "likely");
  }
}

}  // namespace
}  // namespace lockstep::sim::referee
