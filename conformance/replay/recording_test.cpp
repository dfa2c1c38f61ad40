// What a recorder loses, doubles or swaps, and what is lost behind it, accuses nobody: each is a
// capture of an obeying stack that the test writes itself, beside one that the same edit leaves
// guilty.
#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/replay/conversation.hpp"
#include "conformance/replay/replay.hpp"
#include "conformance/replay/report.hpp"
#include "conformance/replay/unaided.hpp"
#include "tools/capture/octets.hpp"

namespace lockstep::conformance {
namespace {

Replayed replayed(const Conversation& conversation) {
  return replay_flow(conversation.flow(), conversation.device_side(), nullptr);
}

std::string verdict_of(const Conversation& conversation) {
  return verdict_text(replayed(conversation).verdict);
}

/// The clauses that the device of this capture violates.
std::string accused_of(const Flow& flow, const Endpoint& device) {
  std::string out;
  Replayed const result = replay_flow(flow, device, nullptr);
  for (const Violation& violation : result.verdict.violations) {
    out += (out.empty() ? "" : " ") + violation.clause;
  }
  return out;
}

std::string accused_of(const Conversation& conversation) {
  return accused_of(conversation.flow(), conversation.device_side());
}

Conversation request() {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
  return c;
}

/// The device fills a window of 2,000 octets again and again; `lost` tells of which of its ACKs the
/// capture knows nothing, and `shut` whether the peer never offers more.
Conversation window_filled(bool lost, bool shut) {
  Conversation c;
  c.peer(0, "S", {0, 0, 0, 2000}).device(0, "SA", {0, 1}).peer(10, "A", {1, 1, 0, 2000});
  c.peer(11, "PA", {1, 1, 100, 2000}).device(11, "A", {1, 101});
  std::uint32_t next = 1;
  for (std::uint64_t ms = 12; ms < 212; ms += 10) {
    c.device(ms, "A", {next, 101, 1000}).device(ms, "PA", {next + 1000, 101, 1000});
    next += 2000;
    bool const recorded = !lost || (ms != 52 && ms != 132);
    if (recorded) {
      c.peer(ms + 10, "A", {101, shut ? 1 : next, 0, 2000});
    }
  }
  return c;
}

TEST(Recording, AnAckThatOfferedMoreMayBeMissing) {
  EXPECT_EQ(accused_of(window_filled(false, false)), "");
  EXPECT_EQ(accused_of(window_filled(true, false)), "");
  EXPECT_EQ(accused_of(window_filled(false, true)), "9293:P-WND-FIT")
      << verdict_of(window_filled(false, true));
}

TEST(Recording, OfOneSideAloneNobodyKnowsWhatDrewItsAcks) {
  for (bool const both : {true, false}) {
    Conversation c;
    c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
    for (std::uint32_t i = 0; i < 60; ++i) {
      c.device(20 + i, "A", {1, 101});
    }
    Flow flow = c.flow();
    std::erase_if(flow.segments, [&](const tools::Segment& segment) {
      return !both && segment.source != c.device_side();
    });
    EXPECT_EQ(accused_of(flow, c.device_side()), both ? "5681:CC-28" : "");
  }
}

// The recorder had no room for what came above a gap: the jump of the ACK shows it later.
TEST(Recording, AJumpOfTheAckShowsWhatDrewItsDuplicates) {
  Conversation c = request();
  for (std::uint32_t i = 0; i < 60; ++i) {
    c.device(20 + i, "A", {1, 101});
  }
  EXPECT_EQ(accused_of(c), "5681:CC-28");
  c.peer(90, "PA", {101, 1, 100}).device(90, "A", {1, 40'101});
  EXPECT_EQ(accused_of(c), "");
}

TEST(Recording, AnAckMayShowThatTextIsMissing) {
  for (bool const shown : {false, true}) {
    Conversation c;
    c.peer(0, "S", {0, 0});
    c.last().options.insert(c.last().options.end(),
                            {std::byte{1}, std::byte{1}, std::byte{4}, std::byte{2}});
    c.device(0, "SA", {0, 1});
    c.last().options.insert(c.last().options.end(),
                            {std::byte{1}, std::byte{1}, std::byte{4}, std::byte{2}});
    c.peer(10, "A", {1, 1}).peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
    c.device(50, "A", {1, 101});
    std::vector<std::byte>& options = c.last().options;
    options = {std::byte{1}, std::byte{1}, std::byte{5}, std::byte{10}};
    tools::put_long(options, Conversation::peer_isn + 301);
    tools::put_long(options, Conversation::peer_isn + 401);
    if (shown) {
      c.peer(60, "A", {401, 1});  // what was reported had been sent before
    }
    c.peer(200, "PA", {101, 1, 300}).peer(210, "PA", {401, 1, 300}).device(210, "A", {1, 701});
    EXPECT_EQ(accused_of(c).find("SACK-14") != std::string::npos, !shown) << accused_of(c);
  }
}

// --- A timer that runs out ---

/// The device's 100 octets are acknowledged four seconds later and never sent again; its clock of
/// timestamps has gone `ticks` meanwhile. `ends`: what it says at the end, if anything.
Conversation never_again(std::uint32_t ticks, std::string_view ends) {
  Conversation c;
  c.peer(0, "S", {0, 0}).stamp(100, 0);
  c.device(0, "SA", {0, 1}).stamp(1000, 100);
  c.peer(10, "A", {1, 1}).stamp(110, 1000);
  c.device(100, "PA", {1, 1, 100}).stamp(1100, 110);
  c.peer(110, "A", {1, 101}).stamp(210, 1100);
  c.device(120, "PA", {101, 1, 100}).stamp(1120, 210);
  c.peer(4120, "A", {1, 201}).stamp(210 + ticks, 1120);
  if (!ends.empty()) {
    c.device(4130, ends, {201, 1});
    if (ends != "R") {
      c.stamp(1120 + ticks, 210 + ticks);
    }
  }
  return c;
}

TEST(Recording, AClockThatStepsIsNoTimerThatRanOut) {
  EXPECT_EQ(accused_of(never_again(4000, "FA")), "9293:P-RTO");
  EXPECT_EQ(accused_of(never_again(10, "FA")), "");
}

// An application may give up after a second, and a machine may lose its power.
TEST(Recording, WhoIsNotHeardOfAgainMayHaveGivenUp) {
  EXPECT_EQ(accused_of(never_again(4000, "")), "");
  EXPECT_EQ(accused_of(never_again(4000, "R")), "");
}

/// The device sends its second segment `times` times, and the third once: the ACK of that comes
/// seven seconds later.
Conversation backed_off(unsigned times) {
  Conversation c;
  c.peer(0, "S", {0, 0}).stamp(100, 0).device(0, "SA", {0, 1}).stamp(1000, 100);
  c.peer(10, "A", {1, 1}).stamp(110, 1000);
  c.device(100, "PA", {1, 1, 100}).stamp(1100, 110).peer(110, "A", {1, 101}).stamp(210, 1100);
  std::uint32_t ms = 120;
  for (unsigned i = 0; i < times; ++i) {
    c.device(ms, "PA", {101, 1, 100}).stamp(1000 + ms, 210);
    ms += 400u << i;
  }
  c.peer(ms, "A", {1, 201}).stamp(100 + ms, 1000 + ms);
  c.device(ms, "PA", {201, 1, 100}).stamp(1000 + ms, 100 + ms);
  c.peer(ms + 7'000, "A", {1, 301}).stamp(7'100 + ms, 1000 + ms);
  return c.device(ms + 7'010, "FA", {301, 1}).stamp(8'010 + ms, 7'100 + ms);
}

TEST(Recording, ATimerStaysAsLongAsItHasGrown) {
  EXPECT_EQ(accused_of(backed_off(1)), "9293:P-RTO");
  EXPECT_EQ(accused_of(backed_off(4)), "");
}

// A SYN,ACK with a cookie is sent once for each SYN (RFC 4987, 3.6).
TEST(Recording, ACookieIsNotSentAgain) {
  Conversation c;
  c.peer(0, "S", {0, 0}).stamp(100, 0);
  c.device(0, "SA", {0, 1}).stamp(1000, 100);
  c.peer(20'000, "FA", {1, 1}).stamp(20'100, 1000);
  c.device(20'000, "R", {1, 0});
  EXPECT_EQ(accused_of(c), "");
}

TEST(Recording, OneTransmissionMayBeMissing) {
  for (unsigned const missing : {0u, 3u}) {
    Conversation c = request();
    c.device(20, "PA", {1, 101, 300});
    std::uint64_t ms = 20;
    for (unsigned i = 1; i < 6; ++i) {
      ms += 200u << i;
      if (i != missing) {
        c.device(ms, "PA", {1, 101, 300});
      }
    }
    c.peer(ms + 10, "A", {101, 301});
    EXPECT_EQ(accused_of(c), "") << missing;
  }
  Conversation even = request();
  even.device(20, "PA", {1, 101, 300});
  for (std::uint64_t ms = 1020; ms <= 5020; ms += 1000) {
    even.device(ms, "PA", {1, 101, 300});
  }
  even.peer(5030, "A", {101, 301});
  EXPECT_EQ(accused_of(even), "6298:RTO-14");
}

/// Two segments are lost; `after` behind the timeout the device sends what follows.
Conversation timed_out(Duration after) {
  Conversation c = request();
  c.device(12, "A", {1, 101, 1460}).device(12, "PA", {1461, 101, 1460});
  c.device(312, "A", {1, 101, 1460}).device(312, "A", {1461, 101, 1460});
  c.last().time = c.last().time + after;
  return c.peer(332, "A", {101, 2921});
}

TEST(Recording, TheAckOfARetransmissionMayBeMissing) {
  EXPECT_EQ(accused_of(timed_out(Duration::microseconds(100))), "5681:CC-12");
  EXPECT_EQ(accused_of(timed_out(Duration::milliseconds(12))), "");
}

// --- Doubled ---

TEST(Recording, APacketMayBeThereTwiceOrThrice) {
  for (std::size_t const copies : {2u, 3u, 4u}) {
    Conversation c = request();
    c.device(12, "PA", {1, 101, 300}).device(312, "PA", {1, 101, 300}).peer(322, "A", {101, 301});
    for (std::uint32_t i = 0; i < 5; ++i) {
      std::uint64_t const ms = 400 + 20 * i;
      c.device(ms, "PA", {301 + i * 300, 101, 300}).peer(ms + 10, "A", {101, 601 + i * 300});
    }
    Flow flow;
    flow.first = c.flow().first;
    flow.second = c.flow().second;
    for (const tools::Segment& segment : c.flow().segments) {
      for (std::size_t copy = 0; copy < copies; ++copy) {
        flow.segments.push_back(segment);
        flow.segments.back().time = segment.time + Duration::microseconds(50 * copy);
      }
    }
    EXPECT_EQ(accused_of(flow, c.device_side()), "") << copies;
    static_cast<void>(normalise(flow));
    EXPECT_EQ(flow.segments.size(), c.flow().segments.size()) << copies;
  }
}

// A port that mirrors both ways has what passes through it twice, and the rest once.
TEST(Recording, ARetransmissionMayBeRecordedTwice) {
  Conversation c = request();
  c.device(12, "PA", {1, 101, 300}).device(312, "PA", {1, 101, 300});
  c.device(318, "PA", {1, 101, 300}).peer(322, "A", {101, 301});
  EXPECT_EQ(accused_of(c), "");
}

// --- Acknowledged ---

/// A request is answered after `ms` by what `flags`, a sequence number and a length say; of the
/// ACK between the recorder knows nothing.
Conversation answered(std::uint64_t ms, std::string_view flags, Conversation::Numbers numbers) {
  Conversation c = request();
  c.device(12, "PA", {1, 101, 50}).peer(22, "A", {101, 51});
  c.peer(100, "PA", {101, 51, 100}).device(100 + ms, flags, numbers);
  c.peer(2'000, "A", {201, numbers.seq + numbers.bytes});
  c.peer(2'100, "PA", {201, numbers.seq + numbers.bytes, 10});
  return c.device(2'100, "A", {numbers.seq + numbers.bytes, 211});
}

TEST(Recording, AnAckMayBeMissingBeforeWhatComesAnyway) {
  EXPECT_EQ(accused_of(answered(800, "A", {51, 201})), "9293:MUST-40");
  EXPECT_EQ(accused_of(answered(800, "PA", {51, 201, 50})), "");
  EXPECT_EQ(accused_of(answered(800, "A", {50, 201})), "");  // a keep-alive
}

/// The device sends again what two ACKs cover; `known`: it has acknowledged what came with one.
Conversation sent_again(bool known) {
  Conversation c = request();
  c.device(12, "PA", {1, 101, 300});
  c.peer(22, "A", {101, 301}).peer(30, "PA", {101, 301, 100});
  if (known) {
    c.device(30, "A", {301, 201});
  }
  c.device(312, "PA", {1, known ? 201u : 101u, 300});
  c.peer(330, "PA", {101, 301, 100}).device(330, "A", {301, 201});
  return c;
}

TEST(Recording, SeveralAcksMayBeLostBehindTheCapture) {
  EXPECT_EQ(accused_of(sent_again(true)), "6298:RTO-11");
  EXPECT_EQ(accused_of(sent_again(false)), "") << verdict_of(sent_again(false));
}

// Of two ACKs the reset answers the one that arrived, or that arrived first.
TEST(Recording, AResetAnswersAnyAck) {
  for (std::uint32_t const number : {21u, 301u, 77u}) {
    Conversation c;
    c.handshake().device(12, "PA", {1, 1, 300}).device(13, "FA", {301, 1});
    c.peer(22, "A", {1, 21}).peer(23, "A", {1, 301}).peer(24, "A", {1, 302});
    c.device(24, "R", {number, 0});
    EXPECT_EQ(accused_of(c).find("LISTEN") != std::string::npos, false) << accused_of(c);
  }
}

}  // namespace
}  // namespace lockstep::conformance
