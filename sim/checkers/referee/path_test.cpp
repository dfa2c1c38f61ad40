// What the path to and behind the capture point does to packets must not cause certain findings.
#include <gtest/gtest.h>

#include "sim/checkers/referee/conversation.hpp"

namespace lockstep::sim::referee {
namespace {

Say const stamped{.mss = 1'460, .scale = 7, .sack_permitted = true, .stamp = 100};

// A capture of all interfaces of a router holds each packet twice, the second time as forwarded.
TEST(RefereePath, APacketThatIsThereAgainAsForwarded) {
  for (bool const twice : {false, true}) {
    Conversation t;
    t.open({.mss = 1'460});
    for (std::uint8_t const octet : {std::uint8_t{7}, std::uint8_t{9}}) {
      Say text{.seq = 1, .ack = 1, .text = 100, .after_ms = 80, .octet = octet};
      t.a("AP", text);
      text.hop_limit = 63;
      text.copy = true;
      if (twice) {
        t.a("AP", text);
      }
    }
    EXPECT_EQ(t.found(Rule::text_changed), "certain");
  }
}

// The router changes the MSS, so that the forwarded SYN is no copy. Or it joins what arrives, and
// splits it again: the identifications of the parts follow one another. What another host sends has
// numbers of its own.
TEST(RefereePath, APacketThatIsThereAgainAsTheRouterChangedIt) {
  for (std::uint16_t const parts_from : {std::uint16_t{21}, std::uint16_t{9'000}}) {
    Conversation t;
    t.a("S", {.mss = 1'460, .identification = 19});
    t.a("S", {.after_ms = 0, .after_us = 20, .mss = 1'412, .hop_limit = 63, .identification = 19});
    t.b("SA", {.ack = 1, .after_ms = 10, .mss = 1'460}).a("A", {.seq = 1, .ack = 1});
    for (std::uint8_t const octet : {std::uint8_t{7}, std::uint8_t{9}}) {
      t.a("AP", {.seq = 1,
                 .ack = 1,
                 .text = 2'800,
                 .after_ms = 80,
                 .identification = 21,
                 .octet = octet});
      for (std::uint16_t part = 0; part < 2; ++part) {
        t.a(part == 0 ? "A" : "AP",
            {.seq = 1 + 1'400u * part,
             .ack = 1,
             .text = 1'400,
             .after_ms = 0,
             .after_us = 5,
             .hop_limit = 63,
             .identification = static_cast<std::uint16_t>(parts_from + part),
             .octet = octet});
      }
    }
    EXPECT_EQ(t.found(Rule::text_changed), parts_from == 21 ? "certain" : "likely");
  }
}

// A capture of all interfaces of a transparent proxy: two connections with equal addresses. The
// recorder lost the ACK of the first one's SYN-ACK, the second one's SYN, both, or the SYNs of one.
TEST(RefereePath, ATransparentProxyHasTwoConnections) {
  enum class Lost : std::uint8_t { all_of_second, ack, syn, ack_and_syn, first, second };
  for (Lost const lost :
       {Lost::all_of_second, Lost::ack, Lost::syn, Lost::ack_and_syn, Lost::first, Lost::second}) {
    Conversation t;
    if (lost != Lost::first) {
      t.a("S", {.mss = 1'460}).b("SA", {.ack = 1, .mss = 1'460});
    }
    if (lost == Lost::all_of_second || lost == Lost::syn || lost == Lost::second) {
      t.a("A", {.seq = 1, .ack = 1});
    }
    if (lost == Lost::ack || lost == Lost::first) {
      t.a("S", {.seq = 50, .mss = 1'460});
    }
    if (lost != Lost::all_of_second && lost != Lost::second) {
      t.b("SA", {.seq = 70, .ack = 51, .mss = 1'460});
    }
    if (lost != Lost::all_of_second) {
      t.a("A", {.seq = 51, .ack = 71});
    }
    t.a("AP", {.seq = 1, .ack = 1, .text = 100});
    t.a("AP", {.seq = 51, .ack = 71, .text = 100, .octet = 9});
    EXPECT_EQ(t.found(Rule::text_changed), lost == Lost::all_of_second ? "certain" : "likely");
  }
}

// A proxy makes the handshake in the client's name and sends on with its own hop limit. What was
// found before the client's first packet passed is no surer than what is found later, unless it is
// about the connection before.
TEST(RefereePath, AProxySentTheFirstPacketsInTheClientsName) {
  for (std::uint8_t const hop_limit : {std::uint8_t{64}, std::uint8_t{63}}) {
    for (bool const former : {false, true}) {
      Conversation t;
      t.open({.mss = 1'460});
      for (std::uint8_t const octet : {std::uint8_t{7}, std::uint8_t{9}}) {
        t.a("AP", {.seq = 1, .ack = 1, .text = 100, .after_ms = 80, .octet = octet});
      }
      if (former) {
        t.b("RA", {.seq = 1, .ack = 101}).a("S", {.seq = 90'000, .after_ms = 5'000, .mss = 1'460});
        t.b("SA", {.seq = 90'000, .ack = 90'001, .mss = 1'460});
      }
      std::uint32_t const base = former ? 90'000 : 100;
      t.a("AP", {.seq = base + 1,
                 .ack = former ? 90'001u : 1u,
                 .text = 100,
                 .after_ms = 80,
                 .hop_limit = hop_limit});
      EXPECT_EQ(t.found(Rule::text_changed), hop_limit == 64 || former ? "certain" : "likely");
    }
  }
}

// A router that does not know the connection resets it in the host's name, with garbage in the
// header. A firewall does so before the host has sent anything.
TEST(RefereePath, ARouterResetsInTheHostsName) {
  for (std::uint8_t const hop_limit : {std::uint8_t{64}, std::uint8_t{126}}) {
    for (bool const all : {false, true}) {
      Terms terms;
      terms.whole = terms.deployed = all;
      Conversation t(terms);
      t.open({.mss = 1'460});
      t.b("R", {.seq = 1, .reserved = 14, .hop_limit = hop_limit});
      EXPECT_EQ(t.found(Rule::reserved_bits), hop_limit == 64 ? "certain" : "likely");
    }
    Conversation own;
    own.open({.mss = 1'460});
    own.b("R", {.seq = 1, .reserved = 14, .hop_limit = hop_limit, .own = true});
    EXPECT_EQ(own.found(Rule::reserved_bits), "certain");
  }
  Conversation lone;
  lone.a("S", {.mss = 1'460}).b("RA", {.ack = 1, .reserved = 14});
  EXPECT_EQ(lone.found(Rule::reserved_bits), "likely");
}

// The recorder lost an ACK that had overtaken those before it, which are recorded `us` later and
// offer less.
Conversation overtaken(std::uint32_t us, std::uint32_t acks, std::uint32_t stamp = 0) {
  bool const clocks = stamp != 0;
  auto const at = [clocks](std::uint32_t ticks) { return clocks ? ticks : 0u; };
  Conversation t;
  t.open({.window = 8'000, .mss = 1'460, .stamp = at(100)});
  t.a("A", {.seq = 1, .ack = 1, .text = 7'300, .stamp = at(120), .echo = at(100)});
  t.b("A",
      {.seq = 1, .ack = 2'921, .after_ms = 20, .window = 8'000, .stamp = at(130), .echo = at(120)});
  t.a("A", {.seq = 7'301,
            .ack = 1,
            .text = 7'000,
            .after_ms = 6,
            .stamp = at(147),
            .echo = at(stamp == 140 ? 130 : 136)});
  for (std::uint32_t i = 0; i < acks; ++i) {
    t.b("A", {.seq = 1,
              .ack = 5'841,
              .after_ms = 0,
              .after_us = us,
              .window = 8'000,
              .stamp = at(stamp),
              .echo = at(120)});
  }
  t.b("A", {.seq = 1,
            .ack = 14'301,
            .after_ms = 15,
            .window = 8'000,
            .stamp = at(170),
            .echo = at(147)});
  return t;
}

TEST(RefereePath, AcksThatWereOvertakenOfferLess) {
  EXPECT_EQ(overtaken(300, 1).found(Rule::beyond_window), "likely");
  EXPECT_EQ(overtaken(25'000, 1).found(Rule::beyond_window), "likely");
  EXPECT_EQ(overtaken(50'000, 1).found(Rule::beyond_window), "certain");  // after a round trip
  EXPECT_EQ(overtaken(25'000, 2).found(Rule::beyond_window), "certain");
  EXPECT_EQ(overtaken(25'000, 2, 133).found(Rule::beyond_window), "likely");
  EXPECT_EQ(overtaken(25'000, 1, 140).found(Rule::beyond_window), "certain");
}

// The recorder lost the packet with the echoed timestamp, which had overtaken another one. That one
// is recorded later, and has an earlier timestamp. It echoes `echo`.
TEST(RefereePath, AnEchoOfWhatOvertookAnother) {
  for (std::uint32_t const echo : {100u, 140u}) {
    Conversation t;
    t.open(stamped);
    t.a("A", {.seq = 1, .ack = 1, .after_ms = 30, .stamp = 130, .echo = 150});
    t.a("A", {.seq = 1, .ack = 1, .stamp = 140, .echo = 100});
    t.b("AP", {.seq = 1, .ack = 1, .text = 9, .after_ms = 25, .stamp = 145, .echo = echo});
    t.a("A", {.seq = 1, .ack = 10, .after_ms = 2, .stamp = 180, .echo = 145});
    t.b("AP", {.seq = 10, .ack = 1, .text = 9, .after_ms = 25, .stamp = 190, .echo = 180});
    EXPECT_EQ(t.found(Rule::echo_unheard), echo == 140 ? "certain" : "likely");
  }
}

// A box beside the path sends the client a page in the server's name. The recorder is at the server
// and does not see that, but it sees the ACK, which the client never takes back.
TEST(RefereePath, AnAckOfWhatWasInjectedBehindTheRecorder) {
  enum class Then : std::uint8_t { stays, goes_back, makes_up_more };
  for (Then const then : {Then::stays, Then::goes_back, Then::makes_up_more}) {
    Conversation t;
    t.open(stamped);
    t.a("AP", {.seq = 1, .ack = 1, .text = 100, .stamp = 110, .echo = 100});
    t.b("A", {.seq = 1, .ack = 101, .stamp = 120, .echo = 110});
    t.a("A", {.seq = 101, .ack = 71, .after_ms = 25, .stamp = 150, .echo = 120});
    t.b("A", {.seq = 1, .ack = 101, .stamp = 160, .echo = 150});
    std::uint32_t const ack = then == Then::stays ? 71 : then == Then::goes_back ? 1 : 91;
    t.a("A", {.seq = 101, .ack = ack, .after_ms = 90, .stamp = 250, .echo = 120});
    t.b("AP", {.seq = 1, .ack = 101, .text = 1'400, .after_ms = 90, .stamp = 340, .echo = 250});
    t.a("A", {.seq = 101, .ack = 1'401, .stamp = 350, .echo = 340});
    EXPECT_EQ(t.found(Rule::ack_of_unheard), then == Then::stays ? "likely" : "certain");
  }
}

// The same for its timestamp, which is ahead of the server's clock, and for data beyond a gap.
TEST(RefereePath, AnEchoOfWhatWasInjectedBehindTheRecorder) {
  for (bool const back : {false, true}) {
    Conversation t;
    t.open(stamped);
    t.a("AP", {.seq = 1, .ack = 1, .text = 100, .stamp = 110, .echo = 100});
    t.b("A", {.seq = 1, .ack = 101, .stamp = 120, .echo = 110});
    t.a("A", {.seq = 101,
              .ack = 1,
              .after_ms = 25,
              .stamp = 150,
              .echo = 5'000'000,
              .sack = {{501, 601}}});
    t.a("A", {.seq = 101, .ack = 1, .stamp = 151, .echo = 5'000'000, .sack = {{501, 601}}});
    t.b("A", {.seq = 1, .ack = 101, .text = 400, .after_ms = 90, .stamp = 240, .echo = 151});
    t.b("AP", {.seq = 401, .ack = 101, .text = 1'000, .stamp = 240, .echo = 151});
    t.a("A",
        {.seq = 101, .ack = back ? 1u : 1'401u, .stamp = 350, .echo = back ? 240u : 5'000'000u});
    EXPECT_EQ(t.found(Rule::echo_unheard), back ? "certain" : "likely");
    EXPECT_EQ(t.found(Rule::sack_of_unheard), back ? "certain" : "likely");
  }
}

// A block that grows by data that passed is not made up anew.
TEST(RefereePath, ABlockOfInjectedDataGrows) {
  for (std::uint32_t const end : {701u, 751u}) {
    Conversation t;
    t.open(stamped);
    t.a("A", {.seq = 1, .ack = 1, .after_ms = 5, .stamp = 110, .echo = 100, .sack = {{501, 601}}});
    t.b("AP", {.seq = 601, .ack = 1, .text = 100, .after_ms = 50, .stamp = 160, .echo = 110});
    for (std::uint32_t const stamp : {161u, 165u}) {
      t.a("A", {.seq = 1, .ack = 1, .stamp = stamp, .echo = 100, .sack = {{501, end}}});
    }
    t.b("A", {.seq = 1, .ack = 1, .text = 400, .after_ms = 50, .stamp = 211, .echo = 165});
    t.b("AP", {.seq = 401, .ack = 1, .text = 400, .stamp = 211, .echo = 165});
    EXPECT_EQ(t.found(Rule::sack_of_unheard), end == 701 ? "likely" : "certain");
  }
}

// A sender ignores a closed window. One may have been opened and closed again by what the recorder
// lost, but not each time.
TEST(RefereePath, AClosedWindowStaysClosed) {
  for (std::uint32_t const times : {2u, 5u}) {
    Conversation t;
    t.open({.window = 1'000, .mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 1'000});
    t.b("A", {.seq = 1, .ack = 1'001, .window = 0});
    for (std::uint32_t i = 1; i <= times; ++i) {
      t.a("A", {.seq = 1'001 + 100 * i, .ack = 1, .text = 100});
      t.b("A", {.seq = 1, .ack = 1'001, .after_ms = 50, .window = 0});
    }
    EXPECT_EQ(t.found(Rule::beyond_window), times == 2 ? "likely" : "certain");
  }
}

// A receiver that takes a part of a segment shows where its window ended.
TEST(RefereePath, AClosedWindowEndsWithinASegment) {
  for (std::uint32_t const ack : {701u, 1'001u}) {
    Conversation t;
    t.open({.window = 1'000, .mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 700});
    t.b("A", {.seq = 1, .ack = 701, .after_ms = 5, .window = 300});
    t.a("A", {.seq = 701, .ack = 1, .text = 700});
    t.b("A", {.seq = 1, .ack = ack, .after_ms = 50, .window = 0});
    EXPECT_EQ(t.found(Rule::beyond_window), ack == 701 ? "likely" : "certain");
  }
}

// The timestamp of a damaged packet seems to be later than all others, and all others than it.
TEST(RefereePath, TheTimestampOfAPacketThatWasDamaged) {
  Conversation t;
  t.open(stamped);
  t.a("AP", {.seq = 1, .ack = 1, .text = 100, .after_ms = 98, .stamp = 198, .echo = 100});
  t.a("AP", {.seq = 101, .ack = 1, .text = 100, .after_ms = 2, .stamp = 200, .echo = 100});
  t.a("AP", {.seq = 201,
             .ack = 1,
             .text = 100,
             .after_ms = 1,
             .stamp = 0x8000'0000 + 199,
             .echo = 100,
             .sum = Sum::bad});
  t.b("A", {.seq = 1, .ack = 101, .after_ms = 20, .stamp = 210, .echo = 198});
  t.b("A", {.seq = 1, .ack = 201, .after_ms = 40, .stamp = 250, .echo = 198});
  EXPECT_EQ(t.found(Rule::echo_unheard), "no");
  EXPECT_EQ(t.found(Rule::echo_old), "no");
}

// The snap length cut the packet, so that its checksum does not show whether it was damaged.
TEST(RefereePath, APacketThatMayHaveBeenDamaged) {
  for (Sum const sum : {Sum::good, Sum::unknown}) {
    Conversation t;
    t.open(stamped);
    t.a("AP",
        {.seq = 1, .ack = 1, .text = 100, .stamp = 110, .echo = 100, .reserved = 4, .sum = sum});
    t.b("A", {.seq = 1, .ack = 101, .stamp = 120, .echo = 110, .sum = sum});
    for (std::uint32_t i = 0; i < 2; ++i) {
      t.a("AP", {.seq = 101 + 100 * i, .ack = 1, .text = 100, .stamp = 150 + 9 * i, .echo = 120});
      t.b("A", {.seq = 1, .ack = 201 + 100 * i, .stamp = 160, .echo = i == 0 ? 150u : 90u});
    }
    EXPECT_EQ(t.found(Rule::reserved_bits), sum == Sum::good ? "certain" : "likely");
    EXPECT_EQ(t.found(Rule::echo_old), sum == Sum::good ? "certain" : "likely");
  }
}

// Crossing SYNs: the SYN-ACK is retransmitted, and repeats the options of its sender's SYN again.
TEST(RefereePath, ASynAckOfCrossingSynsIsRetransmitted) {
  Conversation t;
  t.a("S", {}).b("S", {.scale = 2});
  t.a("SA", {.ack = 1}).b("SA", {.ack = 1, .scale = 2});
  t.b("SA", {.ack = 1, .after_ms = 1'000, .scale = 2}).a("A", {.seq = 1, .ack = 1});
  EXPECT_EQ(t.found(Rule::option_unoffered), "no");
}

// The SYN of a client may be lost before the capture point, as in hole punching. Nobody connects
// from the port of a service.
TEST(RefereePath, ASynAckRepeatsASynThatWasLost) {
  for (std::uint16_t const port : {std::uint16_t{443}, std::uint16_t{5'000}}) {
    Conversation t;
    t.recorded_early().from_port(port);
    t.b("S", {}).a("SA", {.ack = 1, .scale = 2}).b("A", {.seq = 1, .ack = 1});
    EXPECT_EQ(t.found(Rule::option_unoffered), port == 443 ? "certain" : "likely");
  }
}

// It echoes the other side's SYN then, which has reached its sender. With --whole its own SYN may
// still have been lost before the capture point.
TEST(RefereePath, ASynAckRepeatsALostSynAndEchoesTheOther) {
  Terms terms;
  terms.whole = true;
  for (std::uint16_t const port : {std::uint16_t{443}, std::uint16_t{5'000}}) {
    std::string_view const expected = port == 443 ? "certain" : "likely";
    Conversation t;
    t.from_port(port).b("S", {.stamp = 70});
    t.a("SA", {.ack = 1, .scale = 2, .stamp = 900, .echo = 70});
    t.b("A", {.seq = 1, .ack = 1, .stamp = 80, .echo = 900});
    EXPECT_EQ(t.found(Rule::option_unoffered), expected);
    Conversation all(terms);
    all.from_port(port).b("S", {}).a("SA", {.ack = 1, .stamp = 900});
    EXPECT_EQ(all.found(Rule::stamp_unnegotiated), expected);
  }
}

// A NAT has given the port of a refused connection to another client, whose SYN is missing.
TEST(RefereePath, ASynAckOfASynThatIsMissing) {
  for (std::uint32_t const answered : {1u, 70'001u}) {
    Conversation t;
    t.recorded_early().a("S", {.mss = 1'460}).b("RA", {.ack = 1, .hop_limit = 0});
    std::uint32_t const echo = answered == 1 ? 0 : 7;
    t.b("SA", {.seq = 9'000,
               .ack = answered,
               .after_ms = 30'000,
               .mss = 1'460,
               .stamp = 50,
               .echo = echo});
    t.a("A", {.seq = answered, .ack = 9'001, .stamp = 9, .echo = 50});
    t.b("AP", {.seq = 9'001, .ack = answered, .text = 100, .stamp = 60, .echo = 9});
    EXPECT_EQ(t.found(Rule::stamp_unnegotiated), answered == 1 ? "certain" : "likely");
  }
}

// A client drops its options at later SYNs, and the capture begins after the first one, which the
// SYN-ACK answers: it echoes a timestamp that is not in the capture.
TEST(RefereePath, ASynAckAnswersAnEarlierSyn) {
  for (std::uint32_t const echo : {0u, 100u}) {
    Conversation t;
    t.recorded_early().from_port(443).b("S", {.mss = 1'460});
    t.a("SA", {.ack = 1, .mss = 1'460, .scale = 7, .stamp = 900, .echo = echo});
    t.b("A", {.seq = 1, .ack = 1});
    EXPECT_EQ(t.found(Rule::option_unoffered), echo == 0 ? "certain" : "likely");
  }
}

// The same without timestamps, as on Windows, which leaves the window scale out of its third SYN.
// The capture began less than the time of a retransmission before.
TEST(RefereePath, ASynAckAnswersAnEarlierSynWithoutTimestamps) {
  for (std::uint32_t const before_ms : {0u, 63'998u, 64'000u}) {
    Conversation t;
    t.recorded_early(before_ms).from_port(443).b("S", {.mss = 1'460});
    t.a("SA", {.ack = 1, .mss = 1'460, .scale = 7}).b("A", {.seq = 1, .ack = 1});
    EXPECT_EQ(t.found(Rule::option_unoffered), before_ms == 64'000 ? "certain" : "likely");
  }
  Terms terms;
  terms.whole = true;
  Conversation whole(terms);
  whole.from_port(443).b("S", {.mss = 1'460}).a("SA", {.ack = 1, .mss = 1'460, .scale = 7});
  EXPECT_EQ(whole.found(Rule::option_unoffered), "certain");
}

// After a quiet minute the connection goes on, or another one may have begun.
TEST(RefereePath, AConnectionMayBeQuietForLong) {
  for (std::uint32_t const seq : {101u, 100u, 901u}) {
    Conversation t;
    t.open({.mss = 1'460}).a("AP", {.seq = 1, .ack = 1, .text = 100});
    t.b("A", {.seq = 1, .ack = 101, .after_ms = 20});
    t.a("AP", {.seq = seq, .ack = 1, .text = seq == 100 ? 1u : 100u, .after_ms = 61'000});
    t.b("A", {.seq = 1, .ack = 101, .after_ms = 20});
    for (std::uint8_t const octet : {std::uint8_t{7}, std::uint8_t{9}}) {
      t.a("AP", {.seq = 201, .ack = 1, .text = 100, .after_ms = 50, .octet = octet});
    }
    EXPECT_EQ(t.found(Rule::text_changed), seq == 901 ? "likely" : "certain");
  }
}

// A finding that has turned likely takes no place from one about the next connection.
TEST(RefereePath, WhatTurnsLikelyHidesNothingOfTheNextConnection) {
  Terms terms;
  terms.reported_max = 3;
  Conversation t(terms);
  t.open({.mss = 1'460});
  for (std::uint32_t i = 0; i < 4; ++i) {
    t.a("A", {.seq = 1, .ack = 1, .reserved = 4});
  }
  t.a("A", {.seq = 1, .ack = 1, .hop_limit = 61});  // the way has changed
  EXPECT_EQ(t.found(Rule::reserved_bits), "likely");
  t.b("RA", {.seq = 1, .ack = 1}).a("S", {.seq = 90'000, .after_ms = 5'000, .mss = 1'460});
  t.b("SA", {.seq = 90'000, .ack = 90'001, .mss = 1'460});
  t.a("A", {.seq = 90'001, .ack = 90'001, .reserved = 4});
  EXPECT_EQ(t.found(Rule::reserved_bits), "certain");
}

// The capture lacks the end of one connection and the beginning of the next one on the same ports,
// whose numbers overlap by chance. Its clock or its acknowledgments do not.
TEST(RefereePath, NumbersMayOverlapByChance) {
  struct Case {
    std::uint32_t stamp, ack;
    bool goes_on;
  };
  for (Case const& next : {Case{3'400, 1, true}, Case{90'000'000, 1, false},
                           Case{4'000'000'000, 1, false}, Case{3'400, 90'000'000, false}}) {
    Conversation t;
    t.open({.mss = 1'460, .stamp = 1'000});
    t.a("AP", {.seq = 1, .ack = 1, .text = 100, .stamp = 1'020, .echo = 1'000});
    t.b("A", {.seq = 1, .ack = 101, .stamp = 1'020, .echo = 1'020});
    t.a("AP", {.seq = 1,
               .ack = next.ack,
               .text = 100,
               .after_ms = 2'380,
               .stamp = next.stamp,
               .echo = 1'020,
               .octet = 9});
    EXPECT_EQ(t.found(Rule::text_changed), next.goes_on ? "certain" : "likely") << next.stamp;
  }
}

// A firewall behind the capture point takes an option out of one SYN: the other side does not use
// it.
TEST(RefereePath, AnOptionThatDidNotArriveIsNotUsed) {
  for (std::uint16_t const less : {std::uint16_t{1'000}, std::uint16_t{2'000}}) {
    Conversation t;
    t.open({.mss = 1'460, .scale = 7});
    for (std::uint16_t i = 0; i < 8; ++i) {
      t.b("A", {.seq = 1 + i * 1'000u, .ack = 1, .text = 1'000});
      t.a("A", {.seq = 1,
                .ack = 1'001 + i * 1'000u,
                .window = static_cast<std::uint16_t>(60'000 - i * less)});
    }
    EXPECT_EQ(t.found(Rule::edge_moved_left), less == 1'000 ? "likely" : "certain");
  }
  for (bool const uses : {false, true}) {
    Conversation t;
    t.open({.mss = 1'460, .stamp = 1'000});
    if (uses) {
      t.b("A", {.seq = 1, .ack = 1, .stamp = 1'010, .echo = 1'000});
    }
    t.a("AP", {.seq = 1, .ack = 1, .text = 100, .stamp = 1'020, .echo = 1'000});
    t.b("A", {.seq = 1, .ack = 101, .after_ms = 20});
    EXPECT_EQ(t.found(Rule::stamp_missing), uses ? "certain" : "likely");
  }
}

}  // namespace
}  // namespace lockstep::sim::referee
