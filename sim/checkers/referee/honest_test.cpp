// Correct stacks in imperfect captures must not cause certain findings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "sim/checkers/referee/conversation.hpp"

namespace lockstep::sim::referee {
namespace {

Say const stamped{.mss = 1'460, .scale = 7, .sack_permitted = true, .stamp = 100};

/// Expects that no finding is certain.
void expect_nothing_certain(Conversation& t) {
  t.referee().end();
  for (Violation const& violation : t.violations().kept()) {
    EXPECT_FALSE(violation.certainty() == Certainty::certain)
        << text_of(violation.rule).name << " at packet " << violation.packet;
  }
}

// A mirror port or a NIC with several queues may record a reply before the packet it replies to.
TEST(RefereeHonest, AnAckRecordedBeforeItsText) {
  for (std::uint32_t const late_us : {2u, 30u}) {
    Conversation t;
    t.open(stamped);
    for (std::uint32_t i = 0; i < 4; ++i) {
      std::uint32_t const seq = 1 + 1'000 * i;
      std::uint32_t const now = 110 + 10 * i;
      t.b("A", {.seq = 1, .ack = seq + 1'000, .after_ms = 10, .stamp = now, .echo = now});
      t.a("AP", {.seq = seq,
                 .ack = 1,
                 .text = 1'000,
                 .after_ms = 0,
                 .after_us = late_us,
                 .stamp = now,
                 .echo = now - 10});
    }
    t.a("A", {.seq = 4'001, .ack = 1, .after_ms = 200, .stamp = 400, .echo = 140});
    expect_nothing_certain(t);
  }
}

TEST(RefereeHonest, ABlockRecordedBeforeItsText) {
  Conversation t;
  t.open({.mss = 1'460, .sack_permitted = true});
  t.b("A", {.seq = 1, .ack = 1, .after_ms = 10, .sack = {{1'001, 2'001}}});
  t.a("A", {.seq = 1'001, .ack = 1, .text = 1'000, .after_ms = 0, .after_us = 9});
  t.a("A", {.seq = 1, .ack = 1, .text = 1'000, .after_ms = 300});
  t.b("A", {.seq = 1, .ack = 2'001});
  expect_nothing_certain(t);
}

TEST(RefereeHonest, TextRecordedBeforeTheWindowThatLetItGo) {
  Conversation t;
  t.open({.window = 1'000, .mss = 1'460});
  t.a("AP", {.seq = 1, .ack = 1, .text = 1'000, .after_ms = 10});
  t.a("AP", {.seq = 1'001, .ack = 1, .text = 500, .after_ms = 20});
  t.b("A", {.seq = 1, .ack = 1'001, .after_ms = 0, .after_us = 5, .window = 1'000});
  expect_nothing_certain(t);
}

// The capture lacks the pure ACK that opened the window, and nothing else shows that.
TEST(RefereeHonest, AWindowThatWasOpenedByWhatTheCaptureLost) {
  Conversation t;
  t.open({.window = 1'000, .mss = 1'460});
  t.a("AP", {.seq = 1, .ack = 1, .text = 1'000, .after_ms = 10});
  t.a("AP", {.seq = 1'001, .ack = 1, .text = 1'000, .after_ms = 20});
  t.b("A", {.seq = 1, .ack = 2'001, .after_ms = 100, .window = 1'000});
  expect_nothing_certain(t);
}

// The echoed timestamp was on a pure ACK that the capture lacks.
TEST(RefereeHonest, AnEchoOfWhatTheCaptureLost) {
  Conversation t;
  t.open(stamped);
  t.b("AP", {.seq = 1, .ack = 1, .text = 9, .after_ms = 30, .stamp = 150, .echo = 130});
  t.a("A", {.seq = 1, .ack = 10, .after_ms = 30, .stamp = 180, .echo = 150});
  expect_nothing_certain(t);
}

// A middlebox answers in the server's name, with data and a FIN of its own; the server's answer
// follows. The packets differ in their time to live.
TEST(RefereeHonest, WhatAMiddleboxSaidInItsPeersName) {
  for (std::uint8_t const hop_limit : {std::uint8_t{61}, std::uint8_t{64}}) {
    Conversation t;
    t.open({.mss = 1'460});
    t.a("AP", {.seq = 1, .ack = 1, .text = 100});
    t.b("FAP", {.seq = 1, .ack = 101, .text = 50, .hop_limit = hop_limit, .octet = 9});
    t.b("AP", {.seq = 1, .ack = 101, .text = 100, .after_ms = 20});
    t.b("AP", {.seq = 101, .ack = 101, .text = 100});
    EXPECT_EQ(t.found(Rule::text_changed), hop_limit == 61 ? "likely" : "certain");
    EXPECT_EQ(t.found(Rule::beyond_fin), hop_limit == 61 ? "likely" : "certain");
  }
}

// The recorder lost data, and its ACK was lost, too: so the data comes again. An ACK before it,
// which the recorder may have lost as well, had the same timestamp. So an echo of that does not
// show that the ACK of the data arrived.
TEST(RefereeHonest, AnAckOfWhatTheRecorderLost) {
  for (std::uint32_t const echo : {131u, 140u}) {
    Conversation t;
    t.open(stamped);
    t.a("AP", {.seq = 1, .ack = 1, .text = 10, .after_ms = 30, .stamp = 130, .echo = 100});
    t.b("A", {.seq = 1, .ack = 21, .stamp = 131, .echo = 130});
    t.b("A", {.seq = 1, .ack = 21, .after_ms = 9, .stamp = 140, .echo = 130});
    t.b("A", {.seq = 1, .ack = 11, .stamp = 141, .echo = 130});  // it had made that up
    t.a("AP", {.seq = 11, .ack = 1, .text = 10, .after_ms = 180, .stamp = 310, .echo = echo});
    EXPECT_EQ(t.found(Rule::ack_of_unheard), echo == 131 ? "likely" : "certain");
  }
}

// The recorder lost a segment of one octet. A keep-alive with an octet has its number, and comes
// long after its ACK.
TEST(RefereeHonest, AKeepAliveWithAnOctetLooksNew) {
  for (std::uint32_t const text : {1u, 2u}) {
    Conversation t;
    t.open(stamped);
    t.b("A", {.seq = 1, .ack = 1, .after_ms = 30, .stamp = 130, .echo = 100});
    t.b("A", {.seq = 1, .ack = 1 + text, .after_ms = 30, .stamp = 160, .echo = 100});
    t.b("A", {.seq = 1, .ack = 1, .stamp = 161, .echo = 100});  // it had made that up
    t.b("AP", {.seq = 1, .ack = 1 + text, .text = 10, .after_ms = 30, .stamp = 190, .echo = 100});
    t.a("A", {.seq = 1, .ack = 11, .text = text, .after_ms = 9'000, .stamp = 9'200, .echo = 190});
    EXPECT_EQ(t.found(Rule::ack_of_unheard), text == 1 ? "likely" : "certain");
  }
}

// Crossing SYNs, one of which is not in the capture: the SYN-ACK of the other side shows it.
TEST(RefereeHonest, ASynAckRepeatsASynThatWasNotCaptured) {
  for (bool const both : {false, true}) {
    Conversation t;
    t.recorded_early().a("S", {}).b("SA", {.ack = 1, .scale = 2});
    t.a(both ? "SA" : "A", {.seq = both ? 0u : 1u, .ack = 1}).b("A", {.seq = 1, .ack = 1});
    EXPECT_EQ(t.found(Rule::option_unoffered), both ? "likely" : "certain");
  }
}

// A capture of all interfaces beside a transparent proxy: two connections with equal addresses.
TEST(RefereeHonest, TwoConnectionsWithEqualAddresses) {
  Conversation t;
  t.open({.mss = 1'460});
  t.a("AP", {.seq = 1, .ack = 1, .text = 2'000});
  t.a("S", {.seq = 5'000, .mss = 1'460}).b("SA", {.seq = 5'000, .ack = 5'001, .mss = 1'460});
  t.a("A", {.seq = 5'001, .ack = 5'001}).a("AP", {.seq = 5'001, .ack = 5'001, .text = 500});
  t.a("AP", {.seq = 2'001, .ack = 1, .text = 4'000, .octet = 9});
  EXPECT_EQ(t.found(Rule::text_changed), "likely");
}

// An edited or anonymised packet has a wrong checksum, but its original was accepted.
TEST(RefereeHonest, TheEchoOfAPacketWhoseChecksumIsWrong) {
  Conversation t;
  t.open(stamped);
  t.a("AP", {.seq = 1,
             .ack = 1,
             .text = 100,
             .after_ms = 50,
             .stamp = 150,
             .echo = 100,
             .sum = Sum::bad});
  t.b("A", {.seq = 1, .ack = 101, .after_ms = 20, .stamp = 170, .echo = 150});
  t.a("A", {.seq = 101, .ack = 1, .after_ms = 50, .stamp = 220, .echo = 170});
  expect_nothing_certain(t);
  Conversation pure;
  pure.open(stamped).a(
      "A", {.seq = 1, .ack = 1, .after_ms = 50, .stamp = 150, .echo = 100, .sum = Sum::bad});
  pure.b("A", {.seq = 1, .ack = 1, .after_ms = 20, .stamp = 170, .echo = 150});
  pure.a("A", {.seq = 1, .ack = 1, .after_ms = 50, .stamp = 145, .echo = 170});
  expect_nothing_certain(pure);
}

// The window of such a packet counts as well.
TEST(RefereeHonest, TheWindowOfAPacketWhoseChecksumIsWrong) {
  Conversation t;
  t.open({.window = 1'000, .mss = 1'460});
  t.b("A", {.seq = 1, .ack = 1, .after_ms = 10, .window = 3'000, .sum = Sum::bad});
  t.a("AP", {.seq = 1, .ack = 1, .text = 1'400, .after_ms = 10});
  t.b("A", {.seq = 1, .ack = 1, .after_ms = 100, .window = 900});
  EXPECT_EQ(t.found(Rule::beyond_window), "no");
}

// The payload of both sides was replaced without fixing the checksums.
TEST(RefereeHonest, TextThatWasEditedAndAcknowledgedByTextThatWas) {
  for (std::uint32_t const segments : {1u, 3u, 10u}) {
    Conversation t;
    t.open();
    for (std::uint32_t i = 0; i < segments; ++i) {
      t.a("AP", {.seq = 1 + i * 100, .ack = 1, .text = 100, .sum = Sum::bad, .own = true});
    }
    // With several segments the last one is not acknowledged.
    std::uint32_t const heard = segments == 1 ? 1 : segments - 1;
    t.b("AP", {.seq = 1, .ack = 1 + heard * 100, .text = 100, .sum = Sum::bad});
    EXPECT_EQ(t.found(Rule::tcp_checksum), "likely") << segments;
  }
}

// The same, and none of it was acknowledged, because the peer reset the connection or was gone.
TEST(RefereeHonest, TextThatWasEditedAndNeverAcknowledged) {
  for (bool const shown : {false, true}) {
    Conversation t;
    t.open();
    for (std::uint32_t i = 0; i < 6; ++i) {
      t.a("AP", {.seq = 1 + i * 100, .ack = 1, .text = 100, .sum = Sum::bad, .own = true});
    }
    t.b("RA", {.seq = 1, .ack = 1});
    if (shown) {  // not every segment was edited
      t.a("AP", {.seq = 601, .ack = 1, .text = 100, .own = true});
    }
    EXPECT_EQ(t.found(Rule::tcp_checksum), shown ? "certain" : "likely");
  }
  // The segment was retransmitted before the ACK came.
  Conversation twice;
  twice.open();
  for (std::uint32_t i = 0; i < 2; ++i) {
    twice.a("AP", {.seq = 1, .ack = 1, .text = 100, .sum = Sum::bad, .own = true});
  }
  twice.b("AP", {.seq = 1, .ack = 101, .text = 10});
  EXPECT_EQ(twice.found(Rule::tcp_checksum), "likely");
  // The same with reused ports.
  Conversation again;
  again.open().a("AP", {.seq = 1, .ack = 1, .text = 100, .sum = Sum::bad, .own = true});
  again.b("RA", {.seq = 1, .ack = 1}).a("S", {.seq = 70'000, .after_ms = 90'000});
  again.a("AP", {.seq = 70'001, .ack = 1, .text = 100, .own = true});
  EXPECT_EQ(again.found(Rule::tcp_checksum), "likely");
}

// Addresses were replaced, so no checksum of a side is right; the reply to its SYN shows that.
TEST(RefereeHonest, AddressesThatWereEditedAndAnAckThatNothingAnswers) {
  Conversation t;
  t.a("S", {.sum = Sum::bad, .own = true}).b("SA", {.ack = 1, .after_ms = 10, .sum = Sum::bad});
  t.a("A", {.seq = 1, .ack = 1, .sum = Sum::bad, .own = true});
  EXPECT_EQ(t.found(Rule::tcp_checksum), "likely");
}

// The capture lacks the SYNs of a later connection on the same ports.
TEST(RefereeHonest, TextOfAConnectionOfWhichTheHandshakeIsMissing) {
  for (bool const one_side : {false, true}) {
    Conversation t;
    if (one_side) {
      t.a("S", {}).a("A", {.seq = 1, .ack = 1});
    } else {
      t.open();
    }
    t.a("AP", {.seq = 1, .ack = 1, .text = 100});
    t.a("FA", {.seq = 101, .ack = 2});
    if (!one_side) {
      t.b("SA", {.seq = 7'000'000, .ack = 5'000'001, .after_ms = 300});
    }
    t.a("A", {.seq = 5'000'001, .ack = 7'000'001, .after_ms = 300});
    t.a("AP", {.seq = 5'000'001, .ack = 7'000'001, .text = 100});
    t.a("FA", {.seq = 5'000'101, .ack = 7'000'101});
    EXPECT_EQ(t.found(Rule::beyond_fin), "likely") << one_side;
  }
}

// The same for the receiver: the sequence numbers that it acknowledges may begin anywhere.
TEST(RefereeHonest, WindowsOfAConnectionOfWhichTheHandshakeIsMissing) {
  for (bool const answered : {false, true}) {
    Conversation t;
    t.open().a("AP", {.seq = 1, .ack = 1, .text = 100, .window = 60'000, .own = true});
    t.b("FA", {.seq = 1, .ack = 101});
    t.a("FA", {.seq = 101, .ack = 2, .window = 60'000, .own = true});
    t.b("A", {.seq = 2, .ack = 102});
    constexpr std::uint32_t lower = 0u - 1'000'000'000;
    if (answered) {
      t.b("SA", {.seq = lower, .ack = 5'000'001, .after_ms = 300});
    }
    t.a("A", {.seq = 5'000'001, .ack = lower + 1, .window = 60'000, .own = true});
    t.a("AP", {.seq = 5'000'001, .ack = lower + 1, .text = 100, .window = 60'000, .own = true});
    EXPECT_NE(t.found(Rule::edge_moved_left), "certain") << answered;
  }
}

// A later connection on the same ports whose whole handshake is missing: its numbers are below,
// among or far away from those of the previous one.
TEST(RefereeHonest, AConnectionWithoutItsHandshakeBehindOneThatWasClosedOrReset) {
  constexpr std::uint32_t below = 0u - 5'000;
  for (bool const reset : {false, true}) {
    for (std::uint32_t const at : {51u, 101u, below, 900'000'000u}) {
      Conversation t;
      t.open({.mss = 1'460, .stamp = 5'000});
      t.a("AP", {.seq = 1, .ack = 1, .text = 100, .stamp = 5'010, .echo = 5'000, .own = true});
      t.b("AP", {.seq = 1, .ack = 101, .text = 100, .stamp = 5'010, .echo = 5'010});
      if (reset) {
        t.a("RA", {.seq = 101, .ack = 101, .own = true});
      } else {
        t.a("FA", {.seq = 101, .ack = 101, .stamp = 5'020, .echo = 5'010, .own = true});
        t.b("FA", {.seq = 101, .ack = 102, .stamp = 5'020, .echo = 5'020});
        t.a("A", {.seq = 102, .ack = 102, .stamp = 5'030, .echo = 5'020, .own = true});
      }
      t.a("AP", {.seq = at,
                 .ack = at,
                 .text = 100,
                 .after_ms = reset ? 1'000u : 61'000u,
                 .window = 9'000,
                 .stamp = 90,
                 .echo = 7'000,
                 .octet = 9,
                 .own = true});
      t.b("AP", {.seq = at,
                 .ack = at + 100,
                 .text = 90,
                 .window = 500,
                 .stamp = 7'010,
                 .echo = 90,
                 .octet = 9});
      t.a("AP", {.seq = at + 100,
                 .ack = at + 90,
                 .text = 100,
                 .window = 9'000,
                 .stamp = 100,
                 .echo = 7'010,
                 .octet = 9,
                 .own = true});
      t.a("FA", {.seq = at + 200,
                 .ack = at + 90,
                 .window = 9'000,
                 .stamp = 101,
                 .echo = 7'010,
                 .own = true});
      SCOPED_TRACE(at);
      expect_nothing_certain(t);
    }
  }
}

// An error within the new connection is found.
TEST(RefereeHonest, WhatAConnectionWithoutItsHandshakeSaysTwiceIsTheSameStill) {
  Conversation t;
  t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 100, .own = true});
  t.b("FA", {.seq = 1, .ack = 101}).a("FA", {.seq = 101, .ack = 2, .own = true});
  t.a("AP", {.seq = 70'000, .ack = 70'000, .text = 100, .after_ms = 61'000, .own = true});
  t.a("AP", {.seq = 70'000, .ack = 70'000, .text = 100, .octet = 9, .own = true});
  EXPECT_EQ(t.found(Rule::text_changed), "likely");
}

// The end of the previous connection is missing too. An ACK of its unseen FIN and the timestamps of
// another host's clock prove nothing.
TEST(RefereeHonest, AConnectionBehindOneOfWhichTheEndIsMissing) {
  for (std::uint32_t const silent : {61'000u, 400'000u}) {
    Conversation t;
    t.open({.mss = 1'460, .stamp = 5'000});
    t.a("AP", {.seq = 1, .ack = 1, .text = 100, .stamp = 5'010, .echo = 5'000});
    t.b("A", {.seq = 1, .ack = 102, .stamp = 5'020, .echo = 5'013});
    t.a("AP", {.seq = 52,
               .ack = 3'000'000'000,
               .text = 100,
               .after_ms = silent,
               .stamp = 90,
               .echo = 7'000,
               .octet = 9});
    t.b("AP", {.seq = 3'000'000'000, .ack = 152, .text = 10, .stamp = 7'001, .echo = 90});
    t.a("AP",
        {.seq = 152, .ack = 3'000'000'010, .text = 100, .stamp = 95, .echo = 7'001, .octet = 9});
    expect_nothing_certain(t);
  }
}

// Merged captures of both ends with clocks 40 ms apart: the server's replies precede the packets
// that they reply to.
TEST(RefereeHonest, BothEndsByClocksThatDiffer) {
  for (bool const opening : {true, false}) {
    Conversation t;
    t.open({.mss = 1'460, .sack_permitted = true});
    if (opening) {
      t.a("A", {.seq = 1, .ack = 1, .sack = {{1'001, 1'101}}});
      t.a("S", {.after_ms = 90, .mss = 1'460, .sack_permitted = true});
      t.b("AP", {.seq = 1'001, .ack = 1, .text = 100, .after_ms = 1});
    } else {
      t.b("A", {.seq = 1, .ack = 101, .after_ms = 1'000});
      t.a("AP", {.seq = 1, .ack = 1, .text = 100, .after_ms = 37});
      t.b("AP", {.seq = 1, .ack = 101, .text = 10, .after_ms = 300});
      t.a("A", {.seq = 101, .ack = 11, .after_ms = 1});
      t.a("AP", {.seq = 1, .ack = 1, .text = 100, .after_ms = 30});
    }
    expect_nothing_certain(t);
  }
}

// Merged captures of both ends: each packet appears twice, the second time a trip later.
TEST(RefereeHonest, ASynThatIsThereAgainMakesNoTextNew) {
  Conversation t;
  t.open({.stamp = 100}).a("AP", {.seq = 1, .ack = 1, .text = 100, .stamp = 110, .echo = 100});
  t.b("A", {.seq = 1, .ack = 101, .stamp = 120, .echo = 110});
  t.a("AP", {.seq = 101, .ack = 1, .text = 100, .stamp = 150, .echo = 120});
  t.b("A", {.seq = 1, .ack = 201, .stamp = 160, .echo = 150});
  t.a("S", {.after_ms = 100, .stamp = 100});
  t.a("AP", {.seq = 1, .ack = 1, .text = 100, .stamp = 110, .echo = 100});
  t.b("A", {.seq = 1, .ack = 101, .stamp = 120, .echo = 110});
  EXPECT_EQ(t.found(Rule::old_stamp_accepted), "no");
}

// One side's packets are recorded slightly later than the replies to them.
TEST(RefereeHonest, TextThatIsRecordedBehindTheEchoOfALaterStamp) {
  for (std::uint32_t const ms : {10u, 40u}) {
    Conversation t;
    t.open({.stamp = 100}).a("AP", {.seq = 1, .ack = 1, .text = 10, .stamp = 110, .echo = 100});
    t.b("A", {.seq = 1, .ack = 11, .stamp = 120, .echo = 110});
    t.b("A", {.seq = 1, .ack = 11, .after_ms = 50, .stamp = 170, .echo = 160});
    t.a("AP", {.seq = 11, .ack = 1, .text = 10, .after_ms = ms, .stamp = 155, .echo = 120});
    t.b("A", {.seq = 1, .ack = 21, .stamp = 220, .echo = 160});
    EXPECT_EQ(t.found(Rule::old_stamp_accepted), ms == 10 ? "likely" : "certain") << ms;
  }
}

// One end's hardware fills in checksums, so a wrong one does not show whether it was wrong on the
// wire. The pseudo-header's sum alone shows that the packet was captured where it was sent.
TEST(RefereeHonest, TextOfWhichNoChecksumShowsThatItArrivedSo) {
  for (Sum const first : {Sum::good, Sum::partial, Sum::unfilled, Sum::unknown}) {
    for (Sum const second : {Sum::good, Sum::partial, Sum::unfilled, Sum::unknown}) {
      Conversation t;
      t.open().a("AP", {.seq = 1, .ack = 1, .text = 100, .sum = first});
      t.a("AP", {.seq = 1, .ack = 1, .text = 100, .after_ms = 80, .octet = 9, .sum = second});
      auto const tells = [](Sum sum) { return sum == Sum::good || sum == Sum::partial; };
      bool const sure = tells(first) && tells(second);
      EXPECT_EQ(t.found(Rule::text_changed), sure ? "certain" : "likely");
    }
  }
}

// Bits may flip on the way to the capture point, so the sender may have sent it correctly.
TEST(RefereeHonest, AChecksumThatIsWrongSomewhereOnTheWay) {
  Conversation t;
  t.open().a("AP", {.seq = 1, .ack = 1, .text = 100, .sum = Sum::bad});
  t.a("AP", {.seq = 1, .ack = 1, .text = 100, .after_ms = 1'000});
  t.b("A", {.seq = 1, .ack = 101});
  EXPECT_EQ(t.found(Rule::tcp_checksum), "likely");
  Conversation header;
  header.open().a("AP", {.seq = 1, .ack = 1, .text = 100, .ip_sum = Sum::bad});
  EXPECT_EQ(header.found(Rule::ip_checksum), "likely");
}

// A capture at two points, or of both directions of a mirror port, holds each packet twice.
TEST(RefereeHonest, EachPacketTwice) {
  Conversation t;
  t.open({.mss = 1'460});
  for (std::uint32_t i = 0; i < 6; ++i) {
    for (bool const copy : {false, true}) {
      t.a("AP", {.seq = 1 + 1'460 * i, .ack = 1, .text = 1'460, .copy = copy, .own = true});
    }
    for (bool const copy : {false, true}) {
      t.b("A", {.seq = 1, .ack = 1'461 + 1'460 * i, .after_ms = 10, .copy = copy, .own = true});
    }
  }
  EXPECT_THAT(t.all(), ::testing::IsEmpty());
}

// For a round trip after ECE the data seen was sent before ECE arrived.
TEST(RefereeHonest, TextThatWasOnItsWayWhenEcePassed) {
  for (std::uint32_t const after : {5u, 80u}) {
    Conversation t;
    t.a("SEC", {}).b("SAE", {.ack = 1, .after_ms = 30}).a("A", {.seq = 1, .ack = 1});
    t.a("AP", {.seq = 1, .ack = 1, .text = 5, .ecn = 2}).b("AE", {.seq = 1, .ack = 6});
    t.a("AP", {.seq = 6, .ack = 1, .text = 5, .ecn = 2}).b("AE", {.seq = 1, .ack = 11});
    t.a("AP", {.seq = 11, .ack = 1, .text = 5, .after_ms = after, .ecn = 2});
    EXPECT_EQ(t.found(Rule::ece_unheeded), after == 5 ? "no" : "likely");
  }
}

// An echo of a timestamp later than that of the ECE shows that ECE arrived.
TEST(RefereeHonest, AnEchoShowsThatEceWasHeard) {
  for (std::uint32_t const echo : {12u, 14u}) {
    Conversation t;
    t.a("SEC", {.stamp = 10}).b("SAE", {.ack = 1, .stamp = 10, .echo = 10});
    t.a("A", {.seq = 1, .ack = 1, .stamp = 11, .echo = 10});
    t.a("AP", {.seq = 1, .ack = 1, .text = 5, .stamp = 12, .echo = 10, .ecn = 2});
    t.b("AE", {.seq = 1, .ack = 6, .stamp = 13, .echo = 12});
    t.a("AP", {.seq = 6, .ack = 1, .text = 5, .stamp = 13, .echo = 12, .ecn = 2});
    t.b("AE", {.seq = 1, .ack = 11, .stamp = 14, .echo = 13});
    t.a("AP",
        {.seq = 11, .ack = 1, .text = 5, .after_ms = 300, .stamp = 15, .echo = echo, .ecn = 2});
    EXPECT_EQ(t.found(Rule::ece_unheeded), echo == 12 ? "no" : "likely");
  }
}

// Linux closes its window completely when it has no memory left, and later opens a smaller one.
TEST(RefereeHonest, AWindowShutForWantOfMemory) {
  Conversation t;
  t.open({.window = 5'000, .mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 10});
  t.b("A", {.seq = 1, .ack = 11, .window = 0});
  t.a("AP", {.seq = 11, .ack = 1, .text = 10}).b("A", {.seq = 1, .ack = 21, .window = 2'000});
  expect_nothing_certain(t);
}

// The recorder lost an ACK with a larger window before. Nor does a receiver that moves its right
// edge left, or may have done so, show what it had offered.
TEST(RefereeHonest, AWindowIsShutBehindOneThatTheRecorderLost) {
  struct Case {
    std::uint32_t ack;
    std::uint16_t window;
    bool sure;
  };
  for (std::uint32_t const clock : {0u, 100u}) {
    for (auto const& [ack, window, sure] :
         {Case{10'001, 0, false}, Case{18'001, 0, false}, Case{10'001, 7'000, false},
          Case{10'001, 8'000, true}}) {
      Conversation t;
      t.open({.mss = 1'460, .stamp = clock});
      t.a("A", {.seq = 1, .ack = 1, .text = 10'000, .stamp = clock, .echo = clock});
      t.b("A", {.seq = 1, .ack = 8'001, .after_ms = 20, .stamp = clock, .echo = clock});
      t.a("A", {.seq = 10'001, .ack = 1, .text = 10'000, .stamp = clock, .echo = clock});
      for (std::uint32_t const ms : {25u, 1u}) {
        t.b("A", {.seq = 1,
                  .ack = ack,
                  .after_ms = ms,
                  .window = window,
                  .stamp = clock + clock / 4,
                  .echo = clock});
      }
      EXPECT_EQ(t.found(Rule::beyond_window), sure ? "certain" : "likely") << ack << " " << window;
    }
  }
}

// After a timeout the sender forgets what was reported in blocks (RFC 2018, 5). So data that is
// sent from the left edge on may be in a packet that the recorder lost.
TEST(RefereeHonest, ASenderGoesBackToTheLeftEdge) {
  for (std::uint32_t const at_once : {100u, 300u}) {
    Conversation t;
    t.open(stamped).a("AP",
                      {.seq = 1, .ack = 1, .text = 100, .after_ms = 80, .stamp = 200, .echo = 100});
    t.b("A", {.seq = 1, .ack = 101, .stamp = 201, .echo = 200});
    t.b("A",
        {.seq = 1, .ack = 101, .after_ms = 99, .stamp = 300, .echo = 200, .sack = {{201, 301}}});
    t.a("AP", {.seq = 301, .ack = 1, .text = 100, .after_ms = 60, .stamp = 360, .echo = 300});
    t.b("A", {.seq = 1, .ack = 101, .stamp = 361, .echo = 200, .sack = {{201, 401}}});
    for (std::uint32_t sent = 0; sent < 300; sent += at_once) {
      t.a("AP", {.seq = 101 + sent,
                 .ack = 1,
                 .text = at_once,
                 .after_ms = sent == 0 ? 400u : 0u,
                 .stamp = 760,
                 .echo = 361});
    }
    t.b("A", {.seq = 1, .ack = 401, .stamp = 761, .echo = 760});
    EXPECT_EQ(t.found(Rule::sack_of_unheard), "likely");
  }
}

// Each MPTCP subflow advertises the shared window, which moves as data arrives on other subflows.
TEST(RefereeHonest, SubflowsOfMptcpShareOneWindow) {
  std::vector<std::uint8_t> const names{1, 1, 30, 4, 1, 0, 0, 0};
  for (bool const both : {false, true}) {
    Say answer{.ack = 1, .window = 5'000, .mss = 1'460};
    answer.raw = both ? names : answer.raw;
    Conversation t;
    t.a("S", {.mss = 1'460, .raw = names}).b("SA", answer);
    t.a("A", {.seq = 1, .ack = 1}).b("A", {.seq = 1, .ack = 1, .window = 5'000});
    for (std::uint16_t i = 0; i < 3; ++i) {
      t.a("AP", {.seq = 1 + 10u * i, .ack = 1, .text = 10});
      t.b("A",
          {.seq = 1, .ack = 11 + 10u * i, .window = static_cast<std::uint16_t>(2'000 - 20 * i)});
    }
    EXPECT_EQ(t.found(Rule::edge_moved_left), both ? "likely" : "certain");
    Conversation beyond;
    beyond.a("S", {.mss = 1'460, .raw = names}).b("SA", answer);
    beyond.a("A", {.seq = 1, .ack = 1}).a("A", {.seq = 1, .ack = 1, .text = 5'001});
    beyond.b("A", {.seq = 1, .ack = 1, .after_ms = 50, .window = 5'000});
    EXPECT_EQ(beyond.found(Rule::beyond_window), both ? "likely" : "certain");
  }
}

// After the FIN no data can arrive: the window is an old one that TIME-WAIT has kept.
TEST(RefereeHonest, AWindowBehindTheFin) {
  Conversation t;
  t.open({.window = 5'000, .mss = 1'460, .stamp = 10});
  t.a("FA", {.seq = 1, .ack = 1, .stamp = 11, .echo = 10});
  t.b("A", {.seq = 1, .ack = 2, .window = 5'000, .stamp = 12, .echo = 11});
  t.b("A", {.seq = 1, .ack = 2, .window = 900, .stamp = 13, .echo = 11});
  EXPECT_EQ(t.found(Rule::edge_moved_left), "likely");
}

// The capture may lack the SYN that requested ECN. The echo does not tell: some servers echo the
// last SYN's timestamp, but keep what the first one requested.
TEST(RefereeHonest, AnAnswerToASynThatWasNotSeen) {
  for (std::uint32_t const early_ms : {60'000u, 64'000u}) {
    for (std::uint32_t const echo : {9u, 10u}) {
      Conversation t;
      t.recorded_early(early_ms).a("S", {.stamp = 10});
      t.b("SAE", {.ack = 1, .stamp = 50, .echo = echo});
      bool const certain = early_ms == 64'000 && echo == 10;
      EXPECT_EQ(t.found(Rule::ecn_unasked), certain ? "certain" : "likely");
    }
  }
}

// Linux accepts a timestamp one tick older than TS.Recent.
TEST(RefereeHonest, ATimestampThatIsOneTickOld) {
  Conversation t;
  t.open({.mss = 1'460, .stamp = 10});
  t.a("AP", {.seq = 1, .ack = 1, .text = 10, .stamp = 20, .echo = 10});
  t.b("A", {.seq = 1, .ack = 11, .stamp = 11, .echo = 20});
  t.a("AP", {.seq = 11, .ack = 1, .text = 10, .stamp = 19, .echo = 10});
  t.b("A", {.seq = 1, .ack = 21, .stamp = 12, .echo = 20});
  expect_nothing_certain(t);
}

// RFC 9293 3.8.6.1: a closed window is probed with at least one octet.
TEST(RefereeHonest, AProbeMayHaveMoreThanOneOctet) {
  for (std::uint32_t const beyond : {0u, 100u}) {
    Conversation t;
    t.open({.window = 100, .mss = 1'460}).b("A", {.seq = 1, .ack = 1, .window = 100});
    t.a("AP", {.seq = 1, .ack = 1, .text = 100}).b("A", {.seq = 1, .ack = 101, .window = 0});
    t.a("AP", {.seq = 101 + beyond, .ack = 1, .text = 100, .after_ms = 5'000});
    t.b("A", {.seq = 1, .ack = 101, .after_ms = 50, .window = 50});
    EXPECT_EQ(t.found(Rule::beyond_window), beyond == 0 ? "likely" : "certain");
  }
}

// The peer drops a keep-alive, its ACK field included, so the delayed ACK is still due, with the
// timestamp of the data that it acknowledges (RFC 7323 4.3).
TEST(RefereeHonest, AKeepAliveSettlesNoDelayedAck) {
  for (bool const asks : {false, true}) {
    Terms terms;
    terms.whole = true;
    Conversation t(terms);
    t.open({.mss = 1'460, .stamp = 10});
    t.a("AP", {.seq = 1, .ack = 1, .text = 100, .stamp = 20, .echo = 10});
    t.b("A", {.seq = asks ? 0u : 1u, .ack = 101, .stamp = 21, .echo = 20});
    t.a("AP", {.seq = 101, .ack = 1, .text = 100, .stamp = 30, .echo = 10});
    t.b("A", {.seq = 1, .ack = 201, .stamp = 31, .echo = 20});
    EXPECT_EQ(t.found(Rule::echo_old), asks ? "no" : "certain");
  }
}

// A timestamp clock of 1 ms a tick advances by 2^31 in 25 days.
TEST(RefereeHonest, TimestampsAreNotComparedAfterALongSilence) {
  for (auto const& [days, deployed] : {std::pair{0u, true}, {30u, true}, {30u, false}}) {
    Terms terms;
    terms.whole = true;
    terms.deployed = deployed;
    Conversation t(terms);
    t.open({.mss = 1'460, .stamp = 10});
    t.a("AP", {.seq = 1, .ack = 1, .text = 10, .stamp = 20, .echo = 10});
    t.b("A", {.seq = 1, .ack = 11, .stamp = 20, .echo = 20});
    std::uint32_t const ms = days == 0 ? 1 : 30u * 86'400'000u;
    std::uint32_t const stamp = 20u + 30u * 86'400'000u;
    t.a("AP", {.seq = 11, .ack = 1, .text = 10, .after_ms = ms, .stamp = stamp, .echo = 20});
    t.b("A", {.seq = 1, .ack = 21, .stamp = stamp, .echo = stamp});
    EXPECT_EQ(t.found(Rule::stamp_backward), days == 30 && deployed ? "no" : "certain");
  }
}

// What Linux is known to do is not certain in a capture that lacks nothing, either. Of our own TCP
// it would be.
TEST(RefereeHonest, WhatLinuxDoesInACaptureThatLacksNothing) {
  for (bool const deployed : {true, false}) {
    Terms terms;
    terms.whole = true;
    terms.deployed = deployed;
    std::string_view const moved = deployed ? "likely" : "certain";
    for (bool const fin : {true, false}) {
      Conversation t(terms);
      t.open({.window = 5'000, .mss = 1'460, .stamp = 10});
      t.a(fin ? "FA" : "AP", {.seq = 1, .ack = 1, .text = fin ? 0u : 1u, .stamp = 11, .echo = 10});
      t.b("A", {.seq = 1, .ack = 2, .window = 5'000, .stamp = 12, .echo = 11});
      std::uint16_t const window = fin ? 900 : 0;  // kept in TIME-WAIT; for want of memory
      t.b("A", {.seq = 1, .ack = 2, .window = window, .stamp = 13, .echo = 11});
      EXPECT_EQ(t.found(Rule::edge_moved_left), moved);
    }
    Conversation damaged(terms);  // on the way to the capture point
    damaged.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 10, .sum = Sum::bad});
    EXPECT_EQ(damaged.found(Rule::tcp_checksum), moved);
    Conversation opened(terms);  // with data, without a cookie (tcp_fastopen, bit 4)
    opened.a("S", {.text = 10, .mss = 1'460}).b("SA", {.ack = 11, .mss = 1'460});
    EXPECT_EQ(opened.found(Rule::beyond_window), deployed ? "no" : "certain");
    Conversation t(terms);
    t.open({.mss = 1'460, .stamp = 10});
    t.a("AP", {.seq = 1, .ack = 1, .text = 10, .stamp = 20, .echo = 10});
    t.b("AP", {.seq = 1, .ack = 11, .text = 5, .stamp = 11, .echo = 20});
    t.a("AP", {.seq = 11, .ack = 6, .text = 10, .stamp = 19, .echo = 11});
    t.b("A", {.seq = 6, .ack = 21, .stamp = 12, .echo = 19});
    EXPECT_EQ(t.found(Rule::echo_old) == "certain", !deployed);
    EXPECT_EQ(t.found(Rule::old_stamp_accepted) == "certain", !deployed);
    EXPECT_EQ(t.found(Rule::stamp_backward) == "certain", !deployed);
  }
}

// At a host whose NIC joins arriving segments, there are more ACKs than segments in the capture.
TEST(RefereeHonest, MoreAcksThanTheCaptureHasSegments) {
  Conversation t;
  t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 9'000});
  for (std::uint32_t i = 1; i < 5; ++i) {
    t.b("A", {.seq = 1, .ack = 1 + 1'800 * i, .own = true});
  }
  expect_nothing_certain(t);
}

}  // namespace
}  // namespace lockstep::sim::referee
