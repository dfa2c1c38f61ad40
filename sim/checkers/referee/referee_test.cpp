// For each rule of the referee, a connection that breaks it and one that nearly does.
#include "sim/checkers/referee/referee.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/referee/conversation.hpp"

namespace lockstep::sim::referee {
namespace {

using ::testing::IsEmpty;

// --- Single segments ---

TEST(RefereeAlone, APoliteConversationIsFine) {
  Conversation t;
  t.open({.mss = 1'000, .scale = 2, .sack_permitted = true});
  t.a("AP", {.seq = 1, .ack = 1, .text = 500}).b("A", {.seq = 1, .ack = 501});
  t.b("AP", {.seq = 1, .ack = 501, .text = 900}).a("A", {.seq = 501, .ack = 901});
  t.a("FA", {.seq = 501, .ack = 901}).b("FA", {.seq = 901, .ack = 502});
  t.a("A", {.seq = 502, .ack = 902});
  EXPECT_THAT(t.all(), IsEmpty());
}

TEST(RefereeAlone, Flags) {
  EXPECT_EQ(Conversation().a("SF", {}).found(Rule::syn_with_fin_or_reset), "certain");
  EXPECT_EQ(Conversation().a("S", {}).found(Rule::syn_with_fin_or_reset), "no");
  EXPECT_EQ(Conversation().open().a("RF", {.seq = 1}).found(Rule::reset_with_fin), "certain");
  EXPECT_EQ(Conversation().a("R", {}).found(Rule::reset_with_fin), "no");
  EXPECT_EQ(Conversation().open().a("P", {.seq = 1, .text = 2}).found(Rule::ack_missing),
            "certain");
  EXPECT_EQ(Conversation().open().a("R", {.seq = 1}).found(Rule::ack_missing), "no");
}

TEST(RefereeAlone, ReservedBits) {
  EXPECT_EQ(Conversation().a("S", {.reserved = 4}).found(Rule::reserved_bits), "certain");
  EXPECT_EQ(Conversation().a("S", {.reserved = 1}).found(Rule::reserved_bits), "note");
  EXPECT_EQ(Conversation().a("S", {.reserved = 0}).found(Rule::reserved_bits), "no");
}

TEST(RefereeAlone, OptionsByThemselves) {
  EXPECT_EQ(Conversation().a("S", {.options_good = false}).found(Rule::option_malformed),
            "certain");
  EXPECT_EQ(Conversation().a("S", {.raw = {2, 4, 5, 180}}).found(Rule::option_malformed), "no");
  EXPECT_EQ(Conversation().a("S", {.raw = {3, 3, 15, 0}}).found(Rule::scale_too_large), "certain");
  EXPECT_EQ(Conversation().a("S", {.raw = {3, 3, 14, 0}}).found(Rule::scale_too_large), "no");
  EXPECT_EQ(Conversation().a("S", {.raw = {1, 0, 0, 9}}).found(Rule::padding_nonzero), "certain");
  EXPECT_EQ(Conversation().a("S", {.raw = {1, 1, 0, 0}}).found(Rule::padding_nonzero), "no");
}

TEST(RefereeAlone, OptionsOfASynOutsideOfIt) {
  Conversation wrong;
  wrong.open().a("A", {.seq = 1, .ack = 1, .mss = 500, .scale = 1, .sack_permitted = true});
  EXPECT_EQ(wrong.found(Rule::mss_outside_syn), "certain");
  EXPECT_EQ(wrong.found(Rule::scale_outside_syn), "certain");
  EXPECT_EQ(wrong.found(Rule::sack_permitted_outside_syn), "certain");
  Conversation right;
  right.open({.mss = 500, .scale = 1, .sack_permitted = true});
  EXPECT_THAT(right.all(), IsEmpty());
  for (Rule const rule :
       {Rule::mss_outside_syn, Rule::scale_outside_syn, Rule::sack_permitted_outside_syn}) {
    EXPECT_EQ(right.found(rule), "no");
  }
}

TEST(RefereeAlone, UrgentPointers) {
  EXPECT_EQ(
      Conversation().open().a("AU", {.seq = 1, .ack = 1, .urgent = 1}).found(Rule::urgent_empty),
      "likely");
  Conversation zero;
  zero.open().a("AU", {.seq = 1, .ack = 1, .text = 1, .urgent = 0});
  EXPECT_EQ(zero.found(Rule::urgent_zero), "likely");
  Conversation right;
  right.open().a("AUP", {.seq = 1, .ack = 1, .text = 1, .urgent = 1});
  EXPECT_THAT(right.all(), IsEmpty());
  EXPECT_EQ(right.found(Rule::urgent_empty), "no");
  EXPECT_EQ(right.found(Rule::urgent_zero), "no");
}

TEST(RefereeAlone, MarksOnWhatIsNoText) {
  EXPECT_EQ(Conversation().a("S", {.ecn = 2}).found(Rule::ect_on_syn), "note");
  EXPECT_EQ(Conversation().a("S", {.ecn = 2, .own = true}).found(Rule::ect_on_syn), "certain");
  EXPECT_EQ(Conversation().a("S", {}).found(Rule::ect_on_syn), "no");
  Conversation t;
  t.open().a("A", {.seq = 1, .ack = 1, .ecn = 1});
  EXPECT_EQ(t.found(Rule::ect_on_pure_ack), "note");
  EXPECT_EQ(Conversation().open().a("A", {.seq = 1, .ack = 1}).found(Rule::ect_on_pure_ack), "no");
}

// --- Numbers ---

TEST(RefereeNumbers, TextBeyondTheWindow) {
  Conversation wrong;
  wrong.open({.window = 1'000, .mss = 1'460}).a("A", {.seq = 1, .ack = 1, .text = 1'001});
  // Until the peer's next window is seen, the capture may lack an update that opened it.
  wrong.b("A", {.seq = 1, .ack = 1, .after_ms = 50, .window = 1'000});
  EXPECT_EQ(wrong.found(Rule::beyond_window), "certain");
  Conversation right;
  right.open({.window = 1'000, .mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 1'000});
  right.a("A", {.seq = 1'001, .ack = 1, .text = 1});  // a probe
  EXPECT_EQ(right.found(Rule::beyond_window), "no");
  // Once offered, an edge stays valid even if a smaller window follows.
  Conversation shrunk;
  shrunk.open({.window = 1'000, .mss = 1'460}).b("A", {.seq = 1, .ack = 1, .window = 10});
  shrunk.a("AP", {.seq = 1, .ack = 1, .text = 900});
  EXPECT_EQ(shrunk.found(Rule::beyond_window), "no");
}

TEST(RefereeNumbers, AWindowIsScaledOnlyIfBothNameAScale) {
  Conversation both;
  both.open({.window = 100, .mss = 1'460, .scale = 3});
  both.b("A", {.seq = 1, .ack = 1, .window = 100}).a("AP", {.seq = 1, .ack = 1, .text = 800});
  EXPECT_EQ(both.found(Rule::beyond_window), "no");
  Conversation one;
  one.recorded_early().a("S", {.mss = 1'460, .own = true});
  one.b("SA", {.ack = 1, .window = 100, .mss = 1'460, .scale = 3});
  one.a("A", {.seq = 1, .ack = 1, .own = true}).b("A", {.seq = 1, .ack = 1, .window = 100});
  one.a("AP", {.seq = 1, .ack = 1, .text = 800, .own = true});
  one.b("A", {.seq = 1, .ack = 101, .after_ms = 50, .window = 50});
  EXPECT_EQ(one.found(Rule::beyond_window), "certain");
}

TEST(RefereeNumbers, NothingAfterTheFin) {
  Conversation wrong;
  wrong.open().a("FA", {.seq = 1, .ack = 1, .text = 5}).a("A", {.seq = 7, .ack = 1, .text = 1});
  EXPECT_EQ(wrong.found(Rule::beyond_fin), "certain");
  Conversation back;
  back.open().a("A", {.seq = 1, .ack = 1, .text = 5}).a("FA", {.seq = 1, .ack = 1, .text = 2});
  EXPECT_EQ(back.found(Rule::beyond_fin), "certain");
  Conversation right;
  right.open().a("FA", {.seq = 1, .ack = 1, .text = 5}).a("FA", {.seq = 3, .ack = 1, .text = 3});
  right.a("A", {.seq = 7, .ack = 1});
  EXPECT_EQ(right.found(Rule::beyond_fin), "no");
}

TEST(RefereeNumbers, MoreThanTheMss) {
  Conversation wrong;
  wrong.open({.mss = 500}).a("A", {.seq = 1, .ack = 1, .text = 501});
  EXPECT_EQ(wrong.found(Rule::mss_exceeded), "likely");
  Terms whole;
  whole.whole = true;
  Conversation sure(whole);
  sure.open({.mss = 500}).a("A", {.seq = 1, .ack = 1, .text = 501});
  EXPECT_EQ(sure.found(Rule::mss_exceeded), "certain");
  // Recorded in front of a NIC that fills the checksum in, and may split the segment as well.
  whole.deployed = true;
  for (Sum const sum : {Sum::good, Sum::partial, Sum::unfilled}) {
    Conversation split(whole);
    split.open({.mss = 536}).a("AP", {.seq = 1, .ack = 1, .text = 1'000, .sum = sum});
    EXPECT_EQ(split.found(Rule::mss_exceeded), sum == Sum::good ? "certain" : "likely");
  }
  Conversation right;
  right.open({.mss = 500}).a("AP", {.seq = 1, .ack = 1, .text = 500});
  EXPECT_EQ(right.found(Rule::mss_exceeded), "no");
  // A packet larger than Ethernet's maximum was joined by hardware.
  Conversation joined;
  joined.open({.mss = 500}).a("AP", {.seq = 1, .ack = 1, .text = 3'000});
  EXPECT_EQ(joined.found(Rule::mss_exceeded), "no");
}

// A sender may use its own minimum if the peer's MSS is smaller (CVE-2019-11479).
TEST(RefereeNumbers, AnMssBelowTheFloor) {
  for (std::uint32_t const text : {48u, 49u}) {
    Terms terms;
    terms.whole = true;
    terms.mss_least = Bytes{48};
    Conversation t(terms);
    t.open({.mss = 10}).a("AP", {.seq = 1, .ack = 1, .text = text});
    EXPECT_EQ(t.found(Rule::mss_exceeded), text == 48 ? "no" : "certain");
  }
  // If nothing is known about the sender, the minimum is 28.
  for (std::uint32_t const text : {28u, 29u}) {
    Conversation t;
    t.open({.mss = 10}).a("AP", {.seq = 1, .ack = 1, .text = text});
    EXPECT_EQ(t.found(Rule::mss_exceeded), text == 28 ? "no" : "likely");
  }
}

// FreeBSD sends up to 216 octets and Linux 48 even if the peer's MSS is smaller.
TEST(RefereeNumbers, AFloorBelowWhichNoSegmentGoes) {
  for (Bytes const floor : {mss_floor_of_rfc, mss_floor_deployed}) {
    Terms whole;
    whole.whole = true;
    whole.mss_least = floor;
    bool const deployed = floor == mss_floor_deployed;
    Conversation t(whole);
    t.open({.mss = 20}).a("AP", {.seq = 1, .ack = 1, .text = 216});
    EXPECT_EQ(t.found(Rule::mss_exceeded), deployed ? "no" : "certain");
    Conversation beyond(whole);
    beyond.open({.mss = 20}).a("AP", {.seq = 1, .ack = 1, .text = 217});
    EXPECT_EQ(beyond.found(Rule::mss_exceeded), "certain");
    // Ten segments of the minimum size are within the initial window.
    Conversation first(whole);
    first.open({.mss = 20});
    for (std::uint32_t i = 0; i < 10; ++i) {
      first.a("AP", {.seq = 1 + 48 * i, .ack = 1, .text = 48});
    }
    EXPECT_EQ(first.found(Rule::initial_window), deployed ? "no" : "note");
  }
}

TEST(RefereeNumbers, AGapInWhatIsSentIsSeenAtItsSource) {
  Conversation wrong;
  wrong.open().a("A", {.seq = 9, .ack = 1, .text = 5, .own = true});
  EXPECT_EQ(wrong.found(Rule::sent_with_gap), "likely");
  Terms whole;
  whole.whole = true;
  Conversation sure(whole);
  sure.open().a("A", {.seq = 9, .ack = 1, .text = 5, .own = true});
  EXPECT_EQ(sure.found(Rule::sent_with_gap), "certain");
  Conversation right;
  right.open().a("A", {.seq = 9, .ack = 1, .text = 5});
  EXPECT_EQ(right.found(Rule::sent_with_gap), "no");
}

TEST(RefereeNumbers, AnAckOfWhatWasNotHeard) {
  Conversation wrong;
  wrong.open().a("AP", {.seq = 1, .ack = 1, .text = 10}).b("A", {.seq = 1, .ack = 12});
  EXPECT_EQ(wrong.found(Rule::ack_of_unheard), "likely");
  // The next data shows that they had not been sent. It may retransmit what the capture lacks,
  // unless its echo shows that the ACK had arrived.
  for (std::uint32_t const ms : {50u, 900u}) {
    for (std::uint32_t const echo : {0u, 100u, 200u, 210u}) {
      std::uint32_t const first = echo == 0 ? 0 : 100;
      Conversation late;
      late.open({.stamp = first});
      late.a("AP", {.seq = 1, .ack = 1, .text = 10, .stamp = first, .echo = first});
      late.b("A", {.seq = 1, .ack = 12, .stamp = 2 * first, .echo = first});
      late.b("A", {.seq = 1, .ack = 12, .stamp = 21 * first / 10, .echo = first});
      late.b("A", {.seq = 1, .ack = 11, .stamp = 211 * first / 100, .echo = first});
      late.a("AP", {.seq = 11, .ack = 1, .text = 10, .after_ms = ms, .stamp = first, .echo = echo});
      EXPECT_EQ(late.found(Rule::ack_of_unheard), echo == 210 ? "certain" : "likely") << echo;
    }
  }
  // The next data shows that the capture lacks the acknowledged octets.
  Conversation lacking;
  lacking.open().a("AP", {.seq = 1, .ack = 1, .text = 10}).b("A", {.seq = 1, .ack = 12});
  lacking.a("AP", {.seq = 12, .ack = 1, .text = 10}).b("A", {.seq = 1, .ack = 22});
  EXPECT_EQ(lacking.found(Rule::ack_of_unheard), "likely");
  Conversation right;
  right.open().a("AP", {.seq = 1, .ack = 1, .text = 10}).b("A", {.seq = 1, .ack = 11});
  EXPECT_EQ(right.found(Rule::ack_of_unheard), "no");
}

TEST(RefereeNumbers, AnAckOfAGapMeansThatTheCaptureIsNotWhole) {
  Terms whole;
  whole.whole = true;
  for (bool const vouched : {true, false}) {
    Conversation t(vouched ? whole : Terms{});
    t.open({.window = 50}).a("AP", {.seq = 1, .ack = 1, .text = 10});
    t.a("AP", {.seq = 21, .ack = 1, .text = 10}).b("A", {.seq = 1, .ack = 31, .window = 20});
    EXPECT_EQ(t.found(Rule::ack_of_unheard), vouched ? "certain" : "no");
    // From then on no finding is certain that requires a complete capture.
    t.a("AP", {.seq = 51, .ack = 1, .text = 10});
    EXPECT_EQ(t.found(Rule::beyond_window), vouched ? "certain" : "likely");
  }
}

TEST(RefereeNumbers, SackBlocks) {
  Say const permitted{.mss = 1'460, .sack_permitted = true};
  // The timestamp of the ACK itself may be that of an earlier one, which the capture lacks.
  for (std::uint32_t const echo : {100u, 200u, 210u}) {
    Conversation wrong;
    wrong.open({.mss = 1'460, .sack_permitted = true, .stamp = 100});
    wrong.a("A", {.seq = 101, .ack = 1, .text = 100, .stamp = 100, .echo = 100});
    wrong.b("A", {.seq = 1, .ack = 1, .stamp = 200, .echo = 100, .sack = {{101, 202}}});
    wrong.b("A", {.seq = 1, .ack = 1, .stamp = 210, .echo = 100});
    wrong.a("A", {.seq = 201, .ack = 1, .text = 100, .after_ms = 50, .stamp = 150, .echo = echo});
    EXPECT_EQ(wrong.found(Rule::sack_of_unheard), echo == 210 ? "certain" : "likely");
  }
  Conversation right;
  right.open(permitted).a("A", {.seq = 101, .ack = 1, .text = 100});
  right.b("A", {.seq = 1, .ack = 1, .sack = {{101, 201}}});
  EXPECT_EQ(right.found(Rule::sack_of_unheard), "no");
  EXPECT_EQ(right.found(Rule::sack_unpermitted), "no");
  Conversation unasked;
  unasked.open({.mss = 1'460}).a("A", {.seq = 101, .ack = 1, .text = 100});
  unasked.b("A", {.seq = 1, .ack = 1, .sack = {{101, 201}}});
  EXPECT_EQ(unasked.found(Rule::sack_unpermitted), "certain");
}

// SACK-permitted says that its sender can receive SACK options, not that it sends them.
TEST(RefereeNumbers, SackBlocksToTheSideThatPermitsThem) {
  Conversation c;
  c.a("S", {.mss = 1'460, .sack_permitted = true}).b("SA", {.ack = 1, .mss = 1'460});
  c.a("A", {.seq = 1, .ack = 1}).a("A", {.seq = 101, .ack = 1, .text = 100});
  c.b("A", {.seq = 1, .ack = 1, .sack = {{101, 201}}});
  EXPECT_EQ(c.found(Rule::sack_unpermitted), "no");
  c.b("A", {.seq = 101, .ack = 1, .text = 100})
      .a("A", {.seq = 201, .ack = 1, .sack = {{101, 201}}});
  EXPECT_EQ(c.found(Rule::sack_unpermitted), "certain");
}

TEST(RefereeNumbers, AShrunkWindow) {
  Conversation wrong;
  wrong.open({.window = 500}).b("A", {.seq = 1, .ack = 1, .window = 500});
  for (std::uint16_t i = 0; i < 3; ++i) {
    wrong.a("AP", {.seq = 1 + 10u * i, .ack = 1, .text = 10});
    auto const window = static_cast<std::uint16_t>(489 - 11 * i);
    wrong.b("A", {.seq = 1, .ack = 11 + 10u * i, .window = window});
  }
  EXPECT_EQ(wrong.found(Rule::edge_moved_left), "certain");
  Conversation right;
  right.open({.window = 500}).a("AP", {.seq = 1, .ack = 1, .text = 10});
  right.b("A", {.seq = 1, .ack = 11, .window = 490});
  EXPECT_EQ(right.found(Rule::edge_moved_left), "no");
  // Rounding to the scale may move the edge left by less than one unit.
  Conversation rounded;
  rounded.open({.window = 500, .scale = 4}).b("A", {.seq = 1, .ack = 1, .window = 100});
  rounded.a("AP", {.seq = 1, .ack = 1, .text = 15}).b("A", {.seq = 1, .ack = 16, .window = 99});
  EXPECT_EQ(rounded.found(Rule::edge_moved_left), "no");
}

TEST(RefereeNumbers, MoreAcksThanSegments) {
  Terms whole;
  whole.whole = true;
  Conversation t(whole);
  t.open().b("A", {.seq = 1, .ack = 1, .own = true});
  EXPECT_EQ(t.found(Rule::too_many_acks), "no");
  t.b("A", {.seq = 1, .ack = 1, .own = true}).b("A", {.seq = 1, .ack = 1, .own = true});
  EXPECT_EQ(t.found(Rule::too_many_acks), "certain");
  // At another capture point the segments that caused the ACKs may be missing.
  Conversation far;
  far.open().b("A", {.seq = 1, .ack = 1}).b("A", {.seq = 1, .ack = 1}).b("A", {.seq = 1, .ack = 1});
  EXPECT_EQ(far.found(Rule::too_many_acks), "no");
}

TEST(RefereeNumbers, OctetsThatChange) {
  Conversation wrong;
  wrong.open().a("AP", {.seq = 1, .ack = 1, .text = 10});
  wrong.a("AP", {.seq = 5, .ack = 1, .text = 10, .octet = 8});
  EXPECT_EQ(wrong.found(Rule::text_changed), "certain");
  EXPECT_EQ(wrong.violations().kept()[0].numbers.found, 6u);
  Conversation right;
  right.open().a("AP", {.seq = 1, .ack = 1, .text = 10});
  right.a("AP", {.seq = 11, .ack = 1, .text = 10, .octet = 8});
  right.a("AP", {.seq = 1, .ack = 1, .text = 1, .octet = 9});  // a probe's octet is arbitrary
  EXPECT_EQ(right.found(Rule::text_changed), "no");
}

// ISSs follow a clock that fast streams overtake, so the next connection may use numbers of the
// previous one. Its octets are not compared with old ones, but changes within it are found.
TEST(RefereeNumbers, OctetsOfAnotherConnectionHaveTheSameNumbers) {
  for (bool const whole : {true, false}) {
    for (std::uint8_t const octet : {std::uint8_t{9}, std::uint8_t{7}}) {
      Terms terms;
      terms.whole = whole;
      Conversation t(terms);
      t.open().a("AP", {.seq = 1, .ack = 1, .text = 900, .own = true});
      t.a("FA", {.seq = 901, .ack = 1, .own = true}).b("FA", {.seq = 1, .ack = 902});
      t.a("A", {.seq = 902, .ack = 2, .own = true});
      t.a("S", {.seq = 500, .own = true}).b("SA", {.seq = 1'000, .ack = 501});
      t.a("AP", {.seq = 501, .ack = 1'001, .text = 90, .octet = 9, .own = true});
      EXPECT_EQ(t.found(Rule::text_changed), "no") << whole;
      t.a("AP", {.seq = 501, .ack = 1'001, .text = 90, .octet = octet, .own = true});
      EXPECT_EQ(t.found(Rule::text_changed) == "no", octet == 9) << whole;
    }
  }
}

TEST(RefereeNumbers, OctetsAreForgottenAtTheLimit) {
  Terms terms;
  terms.kept_octets_max = 4'096;
  for (std::uint32_t const back : {4'000u, 5'000u}) {
    Conversation t(terms);
    t.open({.window = 60'000, .mss = 1'460});
    for (std::uint32_t i = 0; i < 10; ++i) {
      t.a("A", {.seq = 1 + 1'000 * i, .ack = 1, .text = 1'000});
    }
    t.a("A", {.seq = 10'001 - back, .ack = 1, .text = 10, .octet = 9});
    EXPECT_EQ(t.found(Rule::text_changed), back == 4'000 ? "certain" : "no") << back;
  }
}

TEST(RefereeNumbers, AnUrgentPointerThatMovesBack) {
  Conversation wrong;
  wrong.open().a("AUP", {.seq = 1, .ack = 1, .text = 1, .urgent = 20, .own = true});
  wrong.a("AUP", {.seq = 2, .ack = 1, .text = 1, .urgent = 5, .own = true});
  EXPECT_EQ(wrong.found(Rule::urgent_backward), "likely");
  Conversation right;
  right.open().a("AUP", {.seq = 1, .ack = 1, .text = 1, .urgent = 20, .own = true});
  right.a("AUP", {.seq = 2, .ack = 1, .text = 1, .urgent = 19, .own = true});
  EXPECT_EQ(right.found(Rule::urgent_backward), "no");
}

// --- Negotiated options ---

TEST(RefereeOptions, AnAnswerHasWhatWasOffered) {
  EXPECT_EQ(Conversation()
                .recorded_early()
                .a("S", {})
                .b("SA", {.ack = 1, .scale = 2})
                .found(Rule::option_unoffered),
            "certain");
  EXPECT_EQ(Conversation()
                .a("S", {.scale = 0})
                .b("SA", {.ack = 1, .scale = 2})
                .found(Rule::option_unoffered),
            "no");
  Conversation stamped;
  stamped.recorded_early().a("S", {}).b("SA", {.ack = 1, .stamp = 9});
  EXPECT_EQ(stamped.found(Rule::stamp_unnegotiated), "certain");
  // RFC 2018 lets each side say what it can receive. Blocks need the permission of the other one.
  for (bool const blocks : {false, true}) {
    Conversation permits;
    permits.recorded_early().a("S", {}).b("SA", {.ack = 1, .sack_permitted = true});
    permits.a("A", {.seq = 1, .ack = 1}).a("AP", {.seq = 21, .ack = 1, .text = 20});
    if (blocks) {
      permits.b("A", {.seq = 1, .ack = 1, .sack = {{21, 41}}});
      EXPECT_EQ(permits.found(Rule::sack_unpermitted), "certain");
    } else {
      EXPECT_THAT(permits.all(), IsEmpty());
    }
  }
  // Simultaneous open: either SYN may have offered it.
  Conversation crossed;
  crossed.a("S", {}).b("S", {.scale = 2}).b("SA", {.ack = 1, .scale = 2});
  EXPECT_EQ(crossed.found(Rule::option_unoffered), "no");
}

TEST(RefereeOptions, TimestampsOnceAgreedOn) {
  Conversation wrong;
  wrong.open({.stamp = 10}).a("AP", {.seq = 1, .ack = 1, .text = 5});
  EXPECT_EQ(wrong.found(Rule::stamp_missing), "certain");
  Conversation right;
  right.open({.stamp = 10}).a("AP", {.seq = 1, .ack = 1, .text = 5, .stamp = 10, .echo = 10});
  right.a("R", {.seq = 6});
  EXPECT_THAT(right.all(), IsEmpty());
  EXPECT_EQ(right.found(Rule::stamp_missing), "no");
  Conversation unagreed;
  unagreed.open().a("AP", {.seq = 1, .ack = 1, .text = 5, .stamp = 10});
  EXPECT_EQ(unagreed.found(Rule::stamp_unnegotiated), "certain");
  EXPECT_EQ(right.found(Rule::stamp_unnegotiated), "no");
}

TEST(RefereeOptions, AClockThatGoesBack) {
  Conversation wrong;
  wrong.open({.stamp = 900}).b("AP", {.seq = 1, .ack = 1, .text = 1, .stamp = 900, .echo = 900});
  wrong.a("A", {.seq = 1, .ack = 2, .stamp = 9, .echo = 900});
  EXPECT_EQ(wrong.found(Rule::stamp_backward), "certain");
  // With equal acknowledgment numbers the packets may be recorded out of order.
  Conversation overtaken;
  overtaken.open({.stamp = 10}).a("A", {.seq = 1, .ack = 1, .stamp = 9, .echo = 10});
  EXPECT_EQ(overtaken.found(Rule::stamp_backward), "no");
  // A SYN cookie's timestamp is slightly ahead of the clock.
  for (std::uint32_t const stamp : {8'937u, 5'900u}) {
    Conversation first;
    first.a("S", {.mss = 1'460, .stamp = 700})
        .b("SA", {.ack = 1, .mss = 1'460, .stamp = 9'000, .echo = 700});
    first.a("AP", {.seq = 1, .ack = 1, .text = 5, .stamp = 700, .echo = 9'000});
    first.b("A", {.seq = 1, .ack = 6, .stamp = stamp, .echo = 700});
    EXPECT_EQ(first.found(Rule::stamp_backward), stamp == 5'900 ? "likely" : "no");
  }
}

TEST(RefereeOptions, AnEchoOfNothing) {
  Conversation wrong;
  wrong.open({.stamp = 10}).a("A", {.seq = 1, .ack = 1, .stamp = 10, .echo = 900});
  wrong.b("A", {.seq = 1, .ack = 1, .after_ms = 50, .stamp = 60, .echo = 10});
  wrong.a("A", {.seq = 1, .ack = 1, .stamp = 61, .echo = 60});
  EXPECT_EQ(wrong.found(Rule::echo_unheard), "certain");
  Conversation far;  // no clock advances that far within a few seconds
  far.open({.stamp = 10}).a("A", {.seq = 1, .ack = 1, .stamp = 10, .echo = 90'000'000});
  far.a("A", {.seq = 1, .ack = 1, .stamp = 11, .echo = 10});
  EXPECT_EQ(far.found(Rule::echo_unheard), "certain");
  Conversation right;
  right.open({.stamp = 10}).a("A", {.seq = 1, .ack = 1, .stamp = 10, .echo = 10});
  EXPECT_EQ(right.found(Rule::echo_unheard), "no");
}

TEST(RefereeOptions, TextWithAnOldTimestamp) {
  for (bool const taken : {true, false}) {
    Conversation t;
    t.open({.mss = 1'460, .stamp = 10});
    t.a("AP", {.seq = 1, .ack = 1, .text = 10, .stamp = 20, .echo = 10});
    t.b("A", {.seq = 1, .ack = 11, .stamp = 11, .echo = 20});
    t.a("AP", {.seq = 11, .ack = 1, .text = 10, .stamp = 15, .echo = 10});
    t.b("A", {.seq = 1, .ack = taken ? 21u : 11u, .stamp = 12, .echo = 20});
    EXPECT_EQ(t.found(Rule::old_stamp_accepted), taken ? "certain" : "no");
  }
  // The receiver may have accepted a later copy with a new timestamp.
  Conversation t;
  t.open({.mss = 1'460, .stamp = 10});
  t.a("AP", {.seq = 1, .ack = 1, .text = 10, .stamp = 20, .echo = 10});
  t.b("A", {.seq = 1, .ack = 11, .stamp = 11, .echo = 20});
  t.a("AP", {.seq = 11, .ack = 1, .text = 10, .stamp = 15, .echo = 10});
  t.a("AP", {.seq = 11, .ack = 1, .text = 10, .stamp = 21, .echo = 11});
  t.b("A", {.seq = 1, .ack = 21, .stamp = 12, .echo = 21});
  EXPECT_EQ(t.found(Rule::old_stamp_accepted), "no");
}

TEST(RefereeMarks, WhatTheSynsAgreeOn) {
  EXPECT_EQ(Conversation().a("S", {}).b("SAE", {.ack = 1}).found(Rule::ecn_unasked), "likely");
  EXPECT_EQ(Conversation().a("SEC", {}).b("SAE", {.ack = 1}).found(Rule::ecn_unasked), "no");
  for (bool const agreed : {false, true}) {
    Conversation t;
    t.a(agreed ? "SEC" : "S", {}).b(agreed ? "SAE" : "SA", {.ack = 1});
    t.a("A", {.seq = 1, .ack = 1});
    t.a("AP", {.seq = 1, .ack = 1, .text = 5, .ecn = 2, .own = true});
    EXPECT_EQ(t.found(Rule::ect_unnegotiated), agreed ? "no" : "certain");
  }
}

TEST(RefereeMarks, WhatIsSentAgain) {
  for (std::uint8_t const ecn : {std::uint8_t{2}, std::uint8_t{0}}) {
    Conversation t;
    t.a("SEC", {}).b("SAE", {.ack = 1}).a("A", {.seq = 1, .ack = 1});
    t.a("AP", {.seq = 1, .ack = 1, .text = 5, .ecn = 2, .own = true});
    t.a("AP", {.seq = 1, .ack = 1, .text = 5, .after_ms = 300, .ecn = ecn, .own = true});
    EXPECT_EQ(t.found(Rule::ect_on_retransmission), ecn != 0 ? "certain" : "no");
  }
}

TEST(RefereeMarks, EceIsHeeded) {
  for (std::string_view const flags : {"AP", "APC"}) {
    Conversation t;
    t.a("SEC", {}).b("SAE", {.ack = 1}).a("A", {.seq = 1, .ack = 1});
    t.a("AP", {.seq = 1, .ack = 1, .text = 5, .ecn = 2}).b("AE", {.seq = 1, .ack = 6});
    t.a("AP", {.seq = 6, .ack = 1, .text = 5, .ecn = 2}).b("AE", {.seq = 1, .ack = 11});
    EXPECT_EQ(t.found(Rule::ece_unheeded), "no");
    t.a(flags, {.seq = 11, .ack = 1, .text = 5, .after_ms = 60, .ecn = 2});
    EXPECT_EQ(t.found(Rule::ece_unheeded), flags == "AP" ? "likely" : "no");
  }
}

// --- Resets ---

TEST(RefereeResets, TheNumberOfAReset) {
  Conversation wrong;
  wrong.open().a("R", {.seq = 0u - 5'000, .own = true});
  EXPECT_EQ(wrong.found(Rule::reset_outside), "certain");
  Conversation far;
  far.open().a("R", {.seq = 5'000});
  EXPECT_EQ(far.found(Rule::reset_outside), "likely");
  // An edited segment, whose checksum is wrong, was sent as well.
  Conversation edited;
  edited.open().a("AP", {.seq = 1, .ack = 1, .text = 30, .sum = Sum::bad, .own = true});
  edited.a("RA", {.seq = 31, .ack = 1, .own = true});
  EXPECT_EQ(edited.found(Rule::reset_outside), "no");
  // The reset may belong to a later connection on the same ports that the capture lacks.
  for (std::uint32_t const ack : {1u, 0x70000000u}) {
    Conversation foreign;
    foreign.open().a("RA", {.seq = 0x60000000, .ack = ack, .after_ms = 4'000, .own = true});
    EXPECT_EQ(foreign.found(Rule::reset_outside), "likely");
  }
  Conversation right;
  right.open().a("R", {.seq = 1, .own = true});
  EXPECT_EQ(right.found(Rule::reset_outside), "no");
  // A reset in reply to an ACK has that ACK's number, whatever it is.
  Conversation answer;
  answer.open().b("A", {.seq = 1, .ack = 5'000}).a("R", {.seq = 5'000, .own = true});
  EXPECT_EQ(answer.found(Rule::reset_outside), "no");
}

TEST(RefereeResets, NoneAnswersAnother) {
  Terms whole;
  whole.whole = true;
  Conversation wrong(whole);
  wrong.a("R", {.seq = 7}).b("RA", {.ack = 7, .own = true});
  EXPECT_EQ(wrong.found(Rule::reset_answers_reset), "certain");
  Conversation right;
  right.a("A", {.seq = 7, .ack = 3}).a("R", {.seq = 7}).b("R", {.seq = 3, .own = true});
  EXPECT_EQ(right.found(Rule::reset_answers_reset), "no");
}

// A RST from a host without the connection acknowledges whatever arrived, including forged data far
// ahead, so its acknowledgment number does not show what was received.
TEST(RefereeResets, WhatOneAcknowledgesWasNotReceived) {
  constexpr std::uint32_t far = (1u << 30) + 5'000;
  for (std::string_view const flags : {"RA", "A"}) {
    Terms terms;
    terms.whole = true;
    Conversation t(terms);
    t.open().a("AP", {.seq = 1, .ack = 1, .text = 10}).b("A", {.seq = 1, .ack = 11});
    t.a("A", {.seq = far, .ack = 1, .text = 9}).b(flags, {.seq = 1, .ack = far + 9});
    std::size_t const before = t.violations().kept().size();
    // An ACK of received data must not count as an ACK of unsent data.
    t.b("A", {.seq = 1, .ack = 11});
    EXPECT_EQ(t.violations().kept().size() - before, flags == "RA" ? 0u : 1u);
  }
}

// --- Incomplete captures ---

TEST(RefereeCaptures, InTheMiddleNothingIsCertainOfNumbers) {
  Conversation t;
  t.a("A", {.seq = 1'000, .ack = 2'000, .text = 10}).b("A", {.seq = 2'000, .ack = 5'000});
  EXPECT_EQ(t.found(Rule::ack_of_unheard), "likely");
  for (Violation const& violation : t.violations().kept()) {
    EXPECT_EQ(violation.certainty(), Certainty::likely) << text_of(violation.rule).name;
  }
}

TEST(RefereeCaptures, OfOneSideAloneNothingIsSaid) {
  Conversation t;
  t.a("S", {.mss = 100}).a("A", {.seq = 1, .ack = 1}).a("AP", {.seq = 1, .ack = 1, .text = 100});
  t.a("AP", {.seq = 101, .ack = 500, .text = 100});
  EXPECT_EQ(t.found(Rule::ack_of_unheard), "no");
  EXPECT_EQ(t.found(Rule::beyond_window), "no");
}

TEST(RefereeCaptures, APairOfPortsMayBeUsedAgain) {
  Conversation t;
  t.open().a("FA", {.seq = 1, .ack = 1}).b("FA", {.seq = 1, .ack = 2}).a("A", {.seq = 2, .ack = 2});
  t.a("S", {.seq = 900'000}).b("SA", {.seq = 700'000, .ack = 900'001});
  t.a("A", {.seq = 900'001, .ack = 700'001}).a("AP", {.seq = 900'001, .ack = 700'001, .text = 9});
  EXPECT_THAT(t.all(), IsEmpty());
}

TEST(RefereeCaptures, ConnectionsBeyondTheLimitAreCounted) {
  Terms terms;
  terms.connections_max = 0;
  Conversation t(terms);
  t.open();
  EXPECT_EQ(t.referee().unjudged(), 3u);
  EXPECT_THAT(t.all(), IsEmpty());
}

TEST(RefereeCaptures, ARuleIsToldSoOftenAndThenCounted) {
  Terms terms;
  terms.reported_max = 3;
  Conversation t(terms);
  t.open();
  for (std::uint32_t i = 0; i < 9; ++i) {
    t.a("A", {.seq = 1, .ack = 1, .mss = 500});
  }
  EXPECT_EQ(t.all().size(), 3u);
  EXPECT_EQ(t.violations().dropped(), 6u);
}

TEST(RefereeCaptures, WhatIsLikelyDoesNotHideWhatIsCertain) {
  Terms terms;
  terms.reported_max = 3;
  Conversation t(terms);
  t.open();
  for (std::uint32_t i = 0; i < 9; ++i) {
    t.a("A", {.seq = 1, .ack = 1, .ecn = 1});
  }
  EXPECT_EQ(t.found(Rule::ect_on_pure_ack), "note");
  t.a("A", {.seq = 1, .ack = 1, .ecn = 1, .own = true});
  EXPECT_EQ(t.found(Rule::ect_on_pure_ack), "certain");
}

// If the sender's hardware fills in checksums, each packet's checksum in the capture is wrong.
TEST(RefereeCaptures, AChecksumThatWasRightAfterAllDoesNotHideOneThatWasWrong) {
  Terms terms;
  terms.reported_max = 3;
  Conversation t(terms);
  t.open();
  for (std::uint32_t i = 0; i < 9; ++i) {
    t.a("AP", {.seq = 1 + i, .ack = 1, .text = 1, .sum = Sum::bad, .own = true});
    t.b("A", {.seq = 1, .ack = 2 + i});
  }
  EXPECT_EQ(t.found(Rule::tcp_checksum), "likely");
  // If all data has wrong checksums, unacknowledged data counts as edited as well.
  t.a("AP", {.seq = 10, .ack = 1, .text = 1, .sum = Sum::bad, .own = true});
  EXPECT_EQ(t.found(Rule::tcp_checksum), "likely");
  t.a("AP", {.seq = 10, .ack = 1, .text = 1, .own = true}).b("A", {.seq = 1, .ack = 11});
  t.a("AP", {.seq = 11, .ack = 1, .text = 1, .sum = Sum::bad, .own = true});
  EXPECT_EQ(t.found(Rule::tcp_checksum), "certain");
}

// After all tests: each rule must have been seen broken and obeyed. (tools/verbs/lint tests the
// header rules, which a Conversation cannot express.)
class EveryRule : public ::testing::Environment {
 public:
  void TearDown() override {
    auto const& unit = *::testing::UnitTest::GetInstance();
    std::string const filter = GTEST_FLAG_GET(filter);
    bool const all = filter == "*" || filter == "Referee*";
    if (!all || unit.test_to_run_count() == 0 || unit.Failed()) {
      return;
    }
    for (RuleText const& each : rule_texts) {
      if (each.rule == Rule::header_length) {
        continue;
      }
      EXPECT_TRUE(Conversation::Seen::of(each.rule).tripped)
          << each.name << " was never seen broken";
      EXPECT_TRUE(Conversation::Seen::of(each.rule).passed) << each.name << " was never seen kept";
    }
  }
};

[[maybe_unused]] auto* const every_rule =
    ::testing::AddGlobalTestEnvironment(new EveryRule);  // gtest deletes it

}  // namespace
}  // namespace lockstep::sim::referee
