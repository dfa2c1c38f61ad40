// What a capture does not show must not cause certain findings: a lost packet that closed a window,
// data that a filter left out, a connection that is older than the capture.
#include <gtest/gtest.h>

#include "sim/checkers/referee/conversation.hpp"
#include "sim/checkers/referee/referee.hpp"

namespace lockstep::sim::referee {
namespace {

Terms whole() {
  Terms terms;
  terms.whole = terms.deployed = true;
  return terms;
}

// Linux closes its window if it has no memory. If that ACK is lost, the right edge has moved left
// once, or twice; a host that moves it time and again breaks the rule.
TEST(RefereeHidden, TheAckThatClosedTheWindow) {
  for (std::uint32_t const moves : {1u, 2u, 3u}) {
    for (bool const all : {false, true}) {
      Conversation t(all ? whole() : Terms{});
      t.open({.mss = 1'460});
      for (std::uint32_t i = 0; i < moves; ++i) {
        t.a("AP", {.seq = 1 + 10 * i, .ack = 1, .text = 10});
        t.b("A", {.seq = 1,
                  .ack = 11 + 10 * i,
                  .after_ms = 20,
                  .window = static_cast<std::uint16_t>(9'000 - 1'000 * i)});
        t.b("A", {.seq = 1,
                  .ack = 11 + 10 * i,
                  .after_ms = 20,
                  .window = static_cast<std::uint16_t>(9'000 - 1'000 * i)});
      }
      EXPECT_EQ(t.found(Rule::edge_moved_left), moves == 3 ? "certain" : "likely") << moves;
    }
  }
}

// The peer has sent a segment again while its window was closed, so that it came with an old
// number.
TEST(RefereeHidden, AProbeMayHaveMoreThanOneOctetAfterARetransmission) {
  for (std::uint32_t const beyond : {0u, 100u}) {
    Conversation t(whole());
    t.open({.window = 100, .mss = 1'460}).b("A", {.seq = 1, .ack = 1, .window = 100});
    t.b("AP", {.seq = 1, .ack = 1, .text = 10, .window = 100});
    t.a("AP", {.seq = 1, .ack = 1, .text = 100}).b("A", {.seq = 11, .ack = 101, .window = 0});
    t.b("AP", {.seq = 1, .ack = 101, .text = 10, .after_ms = 300, .window = 0});
    t.a("AP", {.seq = 101 + beyond, .ack = 11, .text = 110, .after_ms = 5'000});
    t.b("A", {.seq = 11, .ack = 101, .after_ms = 50, .window = 0});
    EXPECT_EQ(t.found(Rule::beyond_window), beyond == 0 ? "likely" : "certain");
  }
}

// With an equal acknowledgment number the smaller window may be the older one.
TEST(RefereeHidden, AWindowThatSeemsShrunkMayHaveBeenOvertaken) {
  Conversation t;
  t.open({.window = 500}).b("A", {.seq = 1, .ack = 1, .window = 400});
  EXPECT_EQ(t.found(Rule::edge_moved_left), "likely");
  Conversation stamped;
  stamped.open({.window = 500, .stamp = 10});
  stamped.b("A", {.seq = 1, .ack = 1, .window = 500, .stamp = 10, .echo = 10});
  for (std::uint32_t i = 1; i < 4; ++i) {
    stamped.b("A", {.seq = 1,
                    .ack = 1,
                    .window = static_cast<std::uint16_t>(500 - 100 * i),
                    .stamp = 10 + i,
                    .echo = 10});
  }
  EXPECT_EQ(stamped.found(Rule::edge_moved_left), "certain");
}

// A sidecar redirects a pod's requests to a local port: in a whole capture of the pod, replies have
// another source, so one direction of each pair of addresses is empty.
TEST(RefereeHidden, ADirectionThatHasOtherAddresses) {
  for (bool const answered : {false, true}) {
    Conversation t(whole());
    t.a("S", {.mss = 1'460});
    if (answered) {
      t.b("SA", {.ack = 1, .window = 10, .mss = 1'460});
    }
    t.a("A", {.seq = 1, .ack = 1});
    t.a("AP", {.seq = 1, .ack = 1, .text = 100, .own = true});
    t.a("A", {.seq = 101, .ack = 1, .own = true}).a("A", {.seq = 101, .ack = 1, .own = true});
    EXPECT_EQ(t.found(Rule::beyond_window), answered ? "certain" : "likely");
    EXPECT_EQ(t.found(Rule::too_many_acks), answered ? "certain" : "likely");
  }
}

// One direction is recorded later than its receiver reacts: each ACK comes before its data, from
// the SYN-ACK on. At the sender itself the order is true.
TEST(RefereeHidden, ADirectionThatIsRecordedLate) {
  for (bool const own : {false, true}) {
    Conversation t(whole());
    t.a("S", {.window = 1'000, .mss = 1'460}).a("A", {.seq = 1, .ack = 1, .window = 60'000});
    t.b("SA", {.ack = 1, .window = 1'000, .mss = 1'460});
    t.b("AP", {.seq = 1, .ack = 1, .text = 1'400, .own = own});
    EXPECT_EQ(t.found(Rule::beyond_window), own ? "certain" : "likely");
    Conversation late(whole());
    late.open({.mss = 1'460, .stamp = 1'000});
    late.b("A", {.seq = 1, .ack = 11, .stamp = 2'000, .echo = 1'020});  // of both
    late.a("AP", {.seq = 11, .ack = 1, .text = 10, .stamp = 1'020, .echo = 1'000});
    late.a("AP", {.seq = 1, .ack = 1, .text = 10, .stamp = 1'010, .echo = 1'000});
    late.b("A", {.seq = 1, .ack = 21, .stamp = 2'001, .echo = 1'020, .own = own});
    EXPECT_NE(late.found(Rule::old_stamp_accepted), own ? "likely" : "certain");
  }
}

// Moves that reordering explains do not add up to a certain one.
TEST(RefereeHidden, WindowsThatWereOvertakenAreNoMoves) {
  for (bool const overtaken : {true, false}) {
    Conversation t(whole());
    t.open({.mss = 1'460});
    for (std::uint32_t i = 0; i < 2; ++i) {
      t.a("AP", {.seq = 1 + 10 * i, .ack = 1, .text = 10});
      t.b("A", {.seq = 1, .ack = 11 + 10 * i, .after_ms = 20, .window = 9'000});
      if (overtaken) {
        t.b("A", {.seq = 1, .ack = 11 + 10 * i, .window = 8'000});
      }
    }
    t.a("AP", {.seq = 21, .ack = 1, .text = 10});
    t.b("A", {.seq = 1, .ack = 31, .after_ms = 20, .window = 5'000});
    EXPECT_EQ(t.found(Rule::edge_moved_left), "likely") << overtaken;
  }
}

// A firewall or load balancer answers the SYN in place of the server, with a window of its own.
TEST(RefereeHidden, AProxyAnsweredTheSyn) {
  for (bool const proxied : {true, false}) {
    Conversation t;
    t.open({.window = 14'600, .mss = 1'460});
    if (!proxied) {
      t.a("AP", {.seq = 1, .ack = 1, .text = 10}).b("A", {.seq = 1, .ack = 11, .window = 14'600});
    }
    for (std::uint32_t next = proxied ? 1 : 11; next < (proxied ? 10u : 40u); next += 10) {
      auto const window = static_cast<std::uint16_t>(7'300 - 20 * next);
      t.a("AP", {.seq = next, .ack = 1, .text = 10});
      t.b("A", {.seq = 1, .ack = next + 10, .window = window});
    }
    EXPECT_EQ(t.found(Rule::edge_moved_left), proxied ? "likely" : "certain");
  }
}

// At the host itself nothing is lost before the capture point.
TEST(RefereeHidden, TheHostsOwnEdgeInAWholeCapture) {
  Conversation t(whole());
  t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 10});
  t.b("A", {.seq = 1, .ack = 11, .window = 9'000, .own = true});
  EXPECT_EQ(t.found(Rule::edge_moved_left), "certain");
}

// With scales of 1 to 3 a host never receives more than the unscaled window between two ACKs.
TEST(RefereeHidden, TheHostKnowsItsOwnScale) {
  Conversation t;
  t.a("S", {.mss = 1'460, .scale = 7});
  t.b("SA", {.ack = 1, .window = 40'000, .mss = 1'460, .scale = 2, .own = true});
  t.a("A", {.seq = 1, .ack = 1});
  for (std::uint32_t i = 0; i < 10; ++i) {
    t.a("AP", {.seq = 1 + 1'460 * i, .ack = 1, .text = 1'460});
    t.b("A", {.seq = 1,
              .ack = 1'461 + 1'460 * i,
              .window = static_cast<std::uint16_t>(19'000 - 1'000 * i),
              .own = true});
  }
  EXPECT_EQ(t.found(Rule::edge_moved_left), "certain");
}

// The window was closed, and the ACK that opened it is missing. One ACK that takes nothing of four
// segments shows no more than that.
TEST(RefereeHidden, OneAckShowsAClosedWindowOnce) {
  for (std::uint32_t const rounds : {1u, 4u}) {
    Conversation t;
    t.open({.window = 2'920, .mss = 1'460});
    t.a("A", {.seq = 1, .ack = 1, .text = 1'460}).a("A", {.seq = 1'461, .ack = 1, .text = 1'460});
    t.b("A", {.seq = 1, .ack = 2'921, .after_ms = 20, .window = 0});
    for (std::uint32_t i = 0; i < 4; ++i) {
      t.a("A", {.seq = 2'921 + 1'460 * i,
                .ack = 1,
                .text = 1'460,
                .after_ms = i == 0        ? 900u
                            : rounds == 1 ? 0u
                                          : 1u});
      for (std::uint32_t each = 0; each < (rounds == 1 ? (i == 3 ? 2u : 0u) : 2u); ++each) {
        t.b("A", {.seq = 1, .ack = 2'921, .after_ms = 40, .window = 0});
      }
    }
    EXPECT_EQ(t.found(Rule::beyond_window), rounds == 4 ? "certain" : "likely");
  }
}

// A SYN-ACK that echoes no SYN of the capture answers one that is missing, whose options count.
TEST(RefereeHidden, TheSynThatASynAckAnswers) {
  for (bool const missing : {false, true}) {
    Conversation t;
    t.a("S", {.mss = 1'460});
    t.b("SA",
        {.ack = 1, .mss = 1'460, .stamp = missing ? 9'000u : 0u, .echo = missing ? 100u : 0u});
    t.a("A", {.seq = 1, .ack = 1, .stamp = 120, .echo = 9'000});
    t.b("AP", {.seq = 1, .ack = 1, .text = 10, .stamp = 9'010, .echo = 120});
    t.b("AP", {.seq = 11, .ack = 1, .text = 10, .stamp = 9'020, .echo = 120});
    EXPECT_EQ(t.found(Rule::stamp_unnegotiated), missing ? "likely" : "certain");
  }
}

// With --whole a capture still begins somewhere.
TEST(RefereeHidden, AWholeCaptureOfAnOlderConnection) {
  Conversation reset(whole());
  reset.a("AP", {.seq = 500, .ack = 9'000, .text = 300});
  reset.b("AP", {.seq = 9'000, .ack = 800, .text = 31, .own = true});
  reset.b("RA", {.seq = 9'031, .ack = 800, .own = true});
  EXPECT_NE(reset.found(Rule::reset_outside), "certain");
  Conversation t(whole());
  t.b("SA", {.ack = 1, .mss = 1'460}).a("A", {.seq = 1, .ack = 1});
  t.a("AP", {.seq = 1, .ack = 1, .text = 100});
  t.b("A", {.seq = 1, .ack = 101});
  EXPECT_NE(t.found(Rule::ack_of_unheard), "certain");
}

// The queues of the NIC behind a mirror port are read in turn, so a reply is recorded before the
// packet that it replies to. No packet is missing; but at a host the order is exact.
TEST(RefereeHidden, AWholeCaptureOfAMirrorPort) {
  for (std::uint32_t const late_ms : {1u, 19u, 30u}) {
    for (bool const own : {false, true}) {
      bool const certain = late_ms == 30 || own;
      std::string_view const sure = certain ? "certain" : "likely";
      Conversation ack(whole());
      ack.open({.mss = 1'460});
      ack.b("A", {.seq = 1, .ack = 201, .own = own});
      ack.a("AP", {.seq = 1, .ack = 1, .text = 100, .after_ms = late_ms});
      ack.a("AP", {.seq = 101, .ack = 1, .text = 100, .after_ms = 0});
      EXPECT_EQ(ack.found(Rule::ack_of_unheard), sure);
      Conversation gap(whole());
      gap.open({.mss = 1'460}).a("AP", {.seq = 101, .ack = 1, .text = 100});
      gap.b("A", {.seq = 1, .ack = 201, .own = own});
      gap.a("AP", {.seq = 1, .ack = 1, .text = 100, .after_ms = late_ms});
      EXPECT_EQ(gap.found(Rule::ack_of_unheard), sure);
      Conversation block(whole());
      block.open({.mss = 1'460, .sack_permitted = true});
      block.b("A", {.seq = 1, .ack = 1, .sack = {{101, 201}}, .own = own});
      block.a("AP", {.seq = 101, .ack = 1, .text = 100, .after_ms = late_ms});
      EXPECT_EQ(block.found(Rule::sack_of_unheard), sure);
      for (std::uint32_t const text : {100u, 0u}) {  // the block ends with a FIN, or is that alone
        Conversation fin(whole());
        fin.open({.mss = 1'460, .sack_permitted = true});
        fin.a("AP", {.seq = 101, .ack = 1, .text = 100 - text});
        fin.b("A", {.seq = 1, .ack = 1, .sack = {{201 - text, 202}}, .own = own});
        fin.a("FA", {.seq = 201 - text, .ack = 1, .text = text, .after_ms = late_ms});
        EXPECT_EQ(fin.found(Rule::sack_of_unheard), sure) << text;
      }
      Conversation echo(whole());
      echo.open({.mss = 1'460, .stamp = 10});
      echo.b("A", {.seq = 1, .ack = 1, .stamp = 12, .echo = 15, .own = own});
      echo.a("AP", {.seq = 1, .ack = 1, .text = 10, .after_ms = late_ms, .stamp = 15, .echo = 10});
      EXPECT_EQ(echo.found(Rule::echo_unheard), sure);
      Conversation edge(whole());
      edge.open({.window = 500, .mss = 1'460});
      edge.a("AP", {.seq = 1, .ack = 1, .text = 600, .own = own});
      edge.b("A", {.seq = 1, .ack = 1, .after_ms = late_ms, .window = 600});
      EXPECT_EQ(edge.found(Rule::beyond_window), sure);
    }
  }
}

// The window of an ACK that is recorded before the data counts.
TEST(RefereeHidden, TheWindowOfAnEarlyAck) {
  Conversation t(whole());
  t.open({.window = 500, .mss = 1'460});
  t.b("A", {.seq = 1, .ack = 401, .window = 500});
  t.a("AP", {.seq = 1, .ack = 1, .text = 400}).a("AP", {.seq = 401, .ack = 1, .text = 500});
  t.b("A", {.seq = 1, .ack = 901, .after_ms = 200, .window = 500});
  EXPECT_EQ(t.found(Rule::beyond_window), "no");
}

// What is open at the end is as sure as the capture is whole.
TEST(RefereeHidden, AWholeCaptureWithoutTheData) {
  for (std::uint32_t const acks : {1u, 12u}) {
    Conversation t(whole());
    t.open({.mss = 1'460});
    for (std::uint32_t i = 0; i < acks; ++i) {
      t.b("A", {.seq = 1, .ack = 101 + i, .after_ms = 3});
    }
    EXPECT_EQ(t.found(Rule::ack_of_unheard), "certain");
  }
}

// A filter for SYN, FIN and RST, or for RST alone, at the host that resets.
TEST(RefereeHidden, TheDataBeforeAReset) {
  Conversation t;
  t.open({.mss = 1'460});
  t.b("RA", {.seq = 20'000'001, .ack = 301, .after_ms = 3'000, .own = true});
  EXPECT_EQ(t.found(Rule::reset_outside), "likely");
  Conversation other;
  other.a("RA", {.seq = 777, .ack = 5'001});
  other.b("RA", {.seq = 885'001, .ack = 991'234, .after_ms = 600'000, .own = true});
  EXPECT_EQ(other.found(Rule::reset_outside), "likely");
  Conversation reply;
  reply.a("RA", {.seq = 777, .ack = 5'001});
  reply.b("R", {.seq = 5'001, .after_ms = 1'800'000, .own = true});
  EXPECT_EQ(reply.found(Rule::reset_answers_reset), "likely");
}

// A packet that is missing in a later connection on the same ports says nothing of the first.
TEST(RefereeHidden, AGapInALaterConnection) {
  for (bool const gap : {false, true}) {
    Conversation t;
    t.open({.mss = 1'460});
    for (std::uint32_t i = 0; i < 4; ++i) {
      t.a("AP", {.seq = 1 + 10 * i, .ack = 1, .text = 10});
      t.b("A",
          {.seq = 1, .ack = 11 + 10 * i, .window = static_cast<std::uint16_t>(9'000 - 1'000 * i)});
    }
    t.a("AF", {.seq = 41, .ack = 1}).b("AF", {.seq = 1, .ack = 42}).a("A", {.seq = 42, .ack = 2});
    t.a("S", {.seq = 70'000, .after_ms = 5'000, .mss = 1'460});
    t.b("SA", {.seq = 90'000, .ack = 70'001, .mss = 1'460});
    t.a("A", {.seq = 70'001, .ack = 90'001});
    if (!gap) {
      t.a("AP", {.seq = 70'001, .ack = 90'001, .text = 10});
    }
    t.a("AP", {.seq = 70'011, .ack = 90'001, .text = 10});
    t.b("A", {.seq = 90'001, .ack = 70'021});
    EXPECT_EQ(t.found(Rule::edge_moved_left), "certain");
  }
}

// A paced segment carries its departure time, and so do Linux's ACKs, until the socket is one of
// TIME-WAIT: its ACK carries the present, here 623 ms less.
TEST(RefereeHidden, APacedSenderThatHasClosedGoesBackToThePresent) {
  for (bool const closed : {true, false}) {
    // The same with a clock of 1 us a tick, 349 ms.
    Conversation micro;
    micro.open({.stamp = 1'000});
    micro.a(
        "AP",
        {.seq = 1, .ack = 1, .text = 1'000, .after_ms = 1'000, .stamp = 1'350'000, .echo = 1'000});
    micro.b("A", {.seq = 1, .ack = 1'001, .stamp = 1'001'000, .echo = 1'350'000});
    micro.a(closed ? "FA" : "A", {.seq = 1'001, .ack = 1, .stamp = 1'351'000, .echo = 1'001'000});
    std::uint32_t const after = closed ? 1'002 : 1'001;
    micro.b("AP", {.seq = 1, .ack = after, .text = 10, .stamp = 1'003'000, .echo = 1'351'000});
    micro.a("A", {.seq = after, .ack = 11, .stamp = 1'002'000, .echo = 1'003'000});
    micro.b("AP", {.seq = 11, .ack = after, .text = 10, .stamp = 1'004'000, .echo = 1'351'000});
    EXPECT_EQ(micro.found(Rule::stamp_backward), closed ? "likely" : "certain");
    Conversation t;
    t.open({.stamp = 1'000});
    t.a("AP", {.seq = 1, .ack = 1, .text = 1'000, .stamp = 2'000, .echo = 1'000});
    t.b("A", {.seq = 1, .ack = 1'001, .stamp = 1'400, .echo = 2'000});
    t.a(closed ? "FA" : "A", {.seq = 1'001, .ack = 1, .stamp = 2'000, .echo = 1'400});
    std::uint32_t const next = closed ? 1'002 : 1'001;
    t.b("AP", {.seq = 1, .ack = next, .text = 10, .stamp = 1'500, .echo = 2'000});
    t.a("A", {.seq = next, .ack = 11, .stamp = 1'377, .echo = 1'500});
    t.b("AP", {.seq = 11, .ack = next, .text = 10, .stamp = 1'600, .echo = 2'000});
    EXPECT_EQ(t.found(Rule::stamp_backward), closed ? "likely" : "certain");
  }
}

// A server ignores an option of illegal length and takes the data: RFC 9293 3.1 only suggests a
// reset (MUST-7). Nobody may acknowledge what did not arrive at all.
TEST(RefereeHidden, DataWithAnIllegalOptionMayHaveBeenTaken) {
  for (bool const sent : {true, false}) {
    Conversation t(whole());
    t.open();
    if (sent) {
      t.a("AP", {.seq = 1, .ack = 1, .text = 100, .options_good = false});
    }
    t.b("A", {.seq = 1, .ack = 101});
    t.a("AP", {.seq = 101, .ack = 1, .text = 100});
    EXPECT_EQ(t.found(Rule::ack_of_unheard), sent ? "likely" : "certain");
  }
}

// A whole capture may begin after the SYN that tells how the client's windows are scaled.
TEST(RefereeHidden, AWholeCaptureMayBeginAfterTheSyn) {
  for (bool const begun : {false, true}) {
    Conversation t(whole());
    if (begun) {
      t.a("S", {.window = 1'000, .mss = 1'460, .scale = 0});
    }
    t.b("SA", {.ack = 1, .mss = 1'460, .scale = 7});
    t.a("A", {.seq = 1, .ack = 1, .window = 1'000});
    t.b("A", {.seq = 1, .ack = 1, .text = 1'001});
    t.a("A", {.seq = 1, .ack = 1, .after_ms = 50, .window = 1'000});
    EXPECT_EQ(t.found(Rule::beyond_window), begun ? "certain" : "likely");
  }
}

// A device that starts again has the same first port and number: nothing was retransmitted. If it
// did not close before, the answer shows that the SYN is no late copy.
TEST(RefereeHidden, ALaterConnectionMayBeginWithTheSameNumber) {
  enum class Before { goes_on, copied, silent, closed };
  for (Before const before : {Before::goes_on, Before::copied, Before::silent, Before::closed}) {
    Conversation t(whole());
    t.open().a("AP", {.seq = 1, .ack = 1, .text = 50, .octet = 3});
    t.b("A", {.seq = 1, .ack = 51});
    std::uint32_t iss = 0;
    if (before == Before::closed) {
      t.a("FA", {.seq = 51, .ack = 1}).b("FA", {.seq = 1, .ack = 52}).a("A", {.seq = 52, .ack = 2});
    }
    if (before != Before::goes_on) {
      t.a("S", {.after_ms = 10'000});
    }
    if (before == Before::copied) {
      t.b("A", {.seq = 1, .ack = 51});
    } else if (before != Before::goes_on) {
      iss = 90'000;
      t.b("SA", {.seq = iss, .ack = 1}).a("A", {.seq = 1, .ack = iss + 1});
    }
    t.a("AP", {.seq = 1, .ack = iss + 1, .text = 50, .octet = 4});
    bool const another = before == Before::silent || before == Before::closed;
    EXPECT_EQ(t.found(Rule::text_changed), another ? "no" : "certain");
  }
}

// The same copy takes nothing back.
TEST(RefereeHidden, ALateCopyOfASynChangesNothing) {
  Conversation t(whole());
  t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 50});
  t.b("A", {.seq = 1, .ack = 51}).a("S", {.after_ms = 5'000, .mss = 1'460});
  t.b("A", {.seq = 1, .ack = 51}).a("AP", {.seq = 51, .ack = 1, .text = 50});
  t.b("A", {.seq = 1, .ack = 101, .after_ms = 50});
  EXPECT_EQ(t.found(Rule::beyond_window), "no");
  EXPECT_EQ(t.found(Rule::ack_of_unheard), "no");
}

// The ports are used again, and the SYN-ACK is recorded just before its SYN.
TEST(RefereeHidden, ASynAckMayBeRecordedBeforeItsSyn) {
  for (std::uint32_t const late_ms : {1u, 30u}) {
    Conversation t(whole());
    t.open({.mss = 1'460}).a("FA", {.seq = 1, .ack = 1}).b("FA", {.seq = 1, .ack = 2});
    t.a("A", {.seq = 2, .ack = 2});
    t.b("SA", {.seq = 90'000, .ack = 80'001, .after_ms = 70'000, .mss = 1'460});
    t.a("S", {.seq = 80'000, .after_ms = late_ms, .mss = 1'460});
    t.a("A", {.seq = 80'001, .ack = 90'001});
    EXPECT_EQ(t.found(Rule::ack_of_unheard), late_ms == 1 ? "likely" : "certain");
  }
}

}  // namespace
}  // namespace lockstep::sim::referee
