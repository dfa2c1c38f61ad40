// Causes of false violations that were found, each as a capture that the test writes; and
// violations that no allowed difference may hide.
#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/replay/conversation.hpp"
#include "conformance/replay/replay.hpp"
#include "conformance/replay/report.hpp"
#include "conformance/replay/watch.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {
namespace {

Replayed replayed(const Conversation& conversation) {
  return replay_flow(conversation.flow(), conversation.device_side(), nullptr);
}

std::string verdict_of(const Conversation& conversation) {
  return verdict_text(replayed(conversation).verdict);
}

bool accuses(const Conversation& conversation) {
  Judgement const judgement = replayed(conversation).verdict.judgement;
  return judgement == Judgement::violates || judgement == Judgement::core_differs;
}

/// The device was judged, and no violation was found.
bool obeys(const Conversation& conversation) {
  Judgement const judgement = replayed(conversation).verdict.judgement;
  return judgement == Judgement::agrees || judgement == Judgement::differs_allowed;
}

Conversation request() {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
  return c;
}

// --- False violations ---

// Before: super-segments were split into pieces of no octets, for ever.
TEST(Truth, AnMssOfZeroDoesNotCount) {
  for (std::uint16_t const mss : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{48}}) {
    Conversation c;
    c.device(0, "S", {0, 0});
    tools::put_word(c.last().options, 0x0204);
    tools::put_word(c.last().options, mss);
    c.peer(10, "SA", {0, 1}).device(20, "A", {1, 1}).peer(30, "PA", {1, 1, 600});
    c.device(31, "A", {1, 601});
    EXPECT_FALSE(accuses(c)) << verdict_of(c);
    EXPECT_LE(replayed(c).script.steps.size(), 14u) << mss;
  }
}

// The peer's packets are recorded 1 ms late, as other packets show: so was the ACK that released
// the second segment.
TEST(Truth, AnAckRecordedLateReleasesASecondSegment) {
  for (bool const late : {true, false}) {
    Conversation c = request();
    c.device(12, "A", {1, 101, 1460}).peer(22, "A", {101, 1461});
    if (late) {
      c.device(30, "A", {1461, 201}).peer(31, "PA", {101, 1461, 100});
    } else {
      c.peer(30, "PA", {101, 1461, 100}).device(31, "A", {1461, 201});
    }
    c.device(100, "A", {1461, 201, 1460}).device(100, "PA", {2921, 201, 1460});
    c.device(1200, "A", {1461, 201, 1460}).device(1200, "PA", {2921, 201, 1460});
    c.last().time = c.last().time + Duration::microseconds(100);
    c.peer(1201, "A", {201, 2921}).peer(1220, "A", {201, 4381});
    EXPECT_EQ(accuses(c), !late) << verdict_of(c);
  }
}

TEST(Truth, AWrongChecksumThatWasAcknowledgedWasReceived) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100});
  c.last().sum = tools::SumState::bad;
  c.device(11, "A", {1, 101}).device(12, "PA", {1, 101, 300}).peer(22, "A", {101, 301});
  EXPECT_TRUE(obeys(c)) << verdict_of(c);
}

TEST(Truth, AWrongChecksumThatWasSentAgainWasNot) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100});
  c.last().sum = tools::SumState::bad;
  c.peer(230, "PA", {1, 1, 100}).device(230, "A", {1, 101});
  Replayed const result = replayed(c);
  EXPECT_EQ(result.run.steps[result.run.steps.size() - 2].dropped, Drop::tcp_checksum)
      << divergence_text(result);
}

TEST(Truth, AKeepAliveMayCarryAnOctet) {
  Conversation c = request();
  c.device(12, "PA", {1, 101, 300}).peer(22, "A", {101, 301});
  for (std::uint64_t const ms : {7000u, 14'000u}) {
    c.device(ms, "A", {300, 101, 1}).peer(ms + 10, "A", {101, 301});
  }
  EXPECT_TRUE(obeys(c)) << verdict_of(c);
}

// SND.NXT - 1 is the sequence number of the FIN.
TEST(Truth, AKeepAliveBehindAFinMayCarryAnOctet) {
  Conversation c = request();
  c.device(12, "FPA", {1, 101, 300}).peer(22, "A", {101, 302});
  c.device(2'000, "A", {301, 101, 1}).peer(2'010, "A", {101, 302});
  EXPECT_FALSE(accuses(c)) << verdict_of(c);
  c.device(2'020, "A", {301, 101, 2}).peer(2'030, "A", {101, 302});
  EXPECT_TRUE(accuses(c)) << verdict_of(c);
}

// No TCP waits an hour for an ACK without retransmitting: the clock of the capture was set.
TEST(Truth, AClockThatStepsIsNoDelay) {
  for (std::uint64_t const late : {800u, 3'600'000u}) {
    Conversation c = request();
    c.peer(100, "PA", {101, 1, 100}).device(100 + late, "A", {1, 201});
    c.peer(200 + late, "PA", {201, 1, 100}).device(200 + late, "A", {1, 301}).clocks();
    EXPECT_EQ(accuses(c), late == 800) << verdict_of(c);
  }
}

// A queue between the device and the capture point fills: the device acknowledged in time, as its
// timestamp shows, or replies before and after were slow as well.
TEST(Truth, AnAckThatQueuedIsNotLate) {
  enum class Queue : std::uint8_t { none, from_device, to_device };
  for (Queue const queue : {Queue::none, Queue::from_device, Queue::to_device}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(1, 0).device(0, "SA", {0, 1}).stamp(100, 1);
    c.peer(10, "A", {1, 1}).stamp(11, 100);
    std::uint32_t next = 1;
    for (std::uint32_t const took : {0u, queue == Queue::to_device ? 300u : 0u, 700u, 0u}) {
      std::uint32_t const at = 1000 * (next / 100 + 1);
      c.peer(at, "PA", {next, 1, 100}).stamp(at + 1, 100);
      next += 100;
      std::uint32_t const left = queue == Queue::from_device ? at : at + took;
      c.device(at + took, "A", {1, next}).stamp(100 + left, at + 1);
    }
    EXPECT_EQ(accuses(c), queue == Queue::none) << static_cast<int>(queue) << verdict_of(c);
  }
}

// The recorder lost a packet that the peer sent a second time, which the ACK echoes.
TEST(Truth, AnAckOfACopyThatTheCaptureLacksIsNotLate) {
  for (std::uint32_t const echo : {1011u, 1700u}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(1, 0).device(0, "SA", {0, 1}).stamp(100, 1);
    c.peer(10, "A", {1, 1}).stamp(11, 100).peer(1010, "PA", {1, 1, 100}).stamp(1011, 100);
    c.device(1710, "A", {1, 101}).stamp(1810, echo);
    c.peer(2000, "PA", {101, 1, 100})
        .stamp(2001, 1810)
        .device(2000, "A", {1, 201})
        .stamp(2100, 2001);
    EXPECT_EQ(accuses(c), echo == 1011) << verdict_of(c);
  }
}

// The first copy waited in a queue for longer than the second.
TEST(Truth, ARetransmissionThatQueuedLessIsNotEarly) {
  for (std::uint32_t const waited : {250u, 0u}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(1, 0).device(0, "SA", {0, 1}).stamp(100, 1);
    c.peer(50, "A", {1, 1}).stamp(51, 100).peer(51, "PA", {1, 1, 100}).stamp(52, 100);
    c.device(51, "A", {1, 101}).stamp(151, 52);
    c.device(1000, "PA", {1, 101, 500}).stamp(1100, 52);
    c.peer(1050, "A", {101, 501}).stamp(1051, 1100);
    c.device(2000 + waited, "PA", {501, 101, 500}).stamp(2100, 1051);
    c.device(2035 + waited, "PA", {501, 101, 500}).stamp(2135 + waited, 1051);
    c.peer(2500, "A", {101, 1001}).stamp(2501, 2100);
    EXPECT_EQ(accuses(c), waited == 0) << verdict_of(c);
  }
}

// The clock of the capture is set forward in the first moments of a connection; timestamps show it.
TEST(Truth, AClockThatStepsAtOnceIsNoDelay) {
  for (std::uint32_t const passed : {1u, 800u}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(1, 0).device(0, "SA", {0, 1}).stamp(100, 1);
    c.peer(1, "A", {1, 1}).stamp(2, 100).peer(1, "PA", {1, 1, 100}).stamp(2, 100);
    c.device(801, "A", {1, 101}).stamp(100 + passed, 2);
    c.peer(810, "PA", {101, 1, 100}).stamp(2 + passed + 9, 100 + passed);
    c.device(810, "A", {1, 201}).stamp(109 + passed, 11 + passed);
    EXPECT_EQ(accuses(c), passed == 800) << verdict_of(c);
  }
}

TEST(Truth, AFirstTimerMayTakeThreeSeconds) {
  Conversation c;
  c.peer(0, "S", {0, 0}).device(0, "SA", {0, 1}).device(3000, "SA", {0, 1}).peer(3010, "A", {1, 1});
  c.peer(3011, "PA", {1, 1, 100}).device(3011, "A", {1, 101});
  EXPECT_TRUE(obeys(c)) << verdict_of(c);
}

TEST(Truth, ATimerStaysBackedOffUntilSomethingNewIsAcknowledged) {
  Conversation c;
  c.peer(0, "S", {0, 0}).device(0, "SA", {0, 1});
  c.device(1000, "SA", {0, 1}).device(3000, "SA", {0, 1});
  c.peer(3010, "A", {1, 1}).peer(3011, "PA", {1, 1, 100}).device(3011, "PA", {1, 101, 300});
  c.device(7011, "PA", {1, 101, 300}).peer(7021, "A", {101, 301});
  EXPECT_TRUE(obeys(c)) << verdict_of(c);
}

TEST(Truth, AResetMayFollowAFin) {
  Conversation c = request();
  c.device(12, "PA", {1, 101, 300}).device(13, "FA", {301, 101});
  c.peer(22, "A", {101, 302}).peer(30, "PA", {101, 302, 50}).device(30, "R", {302, 0});
  EXPECT_FALSE(accuses(c)) << verdict_of(c);
  Conversation both = request();
  both.device(12, "FA", {1, 101}).peer(22, "FA", {101, 2}).device(22, "A", {2, 102});
  both.device(23, "R", {2, 0});
  EXPECT_FALSE(accuses(both)) << verdict_of(both);
}

TEST(Truth, OneAckMayBeLostBehindTheCapture) {
  Conversation c = request();
  c.device(12, "A", {1, 101, 400}).device(12, "PA", {401, 101, 400});
  c.peer(22, "A", {101, 801}).device(230, "PA", {1, 101, 400}).peer(240, "A", {101, 801});
  EXPECT_FALSE(accuses(c)) << verdict_of(c);
}

TEST(Truth, AnAckMayLieInsideASegment) {
  Conversation c = request();
  c.peer(20, "PA", {101, 1, 1000}).device(20, "A", {1, 601});
  c.peer(30, "PA", {601, 1, 500}).device(30, "A", {1, 1101});
  EXPECT_TRUE(obeys(c)) << verdict_of(c);
}

TEST(Truth, PacketsMayBeRecordedInAnotherOrder) {
  Conversation c = request();
  c.device(12, "A", {1, 101, 1460}).device(12, "PA", {1461, 101, 540});
  c.peer(22, "A", {101, 2001});
  Conversation swapped = request();
  swapped.device(12, "PA", {1461, 101, 540}).device(12, "A", {1, 101, 1460});
  swapped.peer(22, "A", {101, 2001});
  EXPECT_EQ(verdict_of(c).substr(0, 6), verdict_of(swapped).substr(0, 6));
  EXPECT_TRUE(obeys(swapped)) << verdict_of(swapped);
  // An ACK is recorded before the data that it acknowledges.
  Conversation before;
  before.handshake().device(11, "A", {1, 101}).peer(11, "PA", {1, 1, 100});
  before.device(12, "PA", {1, 101, 300}).peer(22, "A", {101, 301});
  EXPECT_TRUE(obeys(before)) << verdict_of(before);
}

/// Data of the peer, of which the first `twice` segments are duplicated.
Conversation doubled(std::uint32_t twice) {
  Conversation c;
  c.handshake();
  for (std::uint32_t i = 0; i < 10; ++i) {
    c.peer(20 + 10 * i, "PA", {1 + 100 * i, 1, 100});
    c.last().identification = static_cast<std::uint16_t>(100 + i);
    if (i < twice) {
      tools::Segment const copy = c.last();
      c.peer(20 + 10 * i, "PA", {1 + 100 * i, 1, 100});
      c.last().identification = copy.identification;
    }
    c.device(20 + 10 * i, "A", {1, 101 + 100 * i});
  }
  return c;
}

TEST(Truth, ANetworkDoublesSomePacketsAndACaptureAll) {
  Conversation const some = doubled(2);
  Flow flow = some.flow();
  std::size_t const before = flow.segments.size();
  static_cast<void>(normalise(flow));
  EXPECT_EQ(flow.segments.size(), before);
  EXPECT_TRUE(obeys(some)) << verdict_of(some);
  Flow all;
  Conversation const plain = doubled(0);
  for (const tools::Segment& segment : plain.flow().segments) {
    all.segments.push_back(segment);
    all.segments.push_back(segment);
  }
  static_cast<void>(normalise(all));
  EXPECT_EQ(all.segments.size(), plain.flow().segments.size());
}

// 30 segments after a round trip of slow start: more than the core would send (BBR does).
TEST(Truth, ALargerWindowThanTheCoresIsNoViolation) {
  Conversation c = request();
  std::uint32_t next = 1;
  std::uint64_t ms = 12;
  for (std::uint32_t const flight : {10u, 30u}) {
    for (std::uint32_t i = 0; i < flight; ++i, next += 1000) {
      c.device(ms, "PA", {next, 101, 1000});
    }
    ms += 10;
    c.peer(ms, "A", {101, next});
  }
  EXPECT_TRUE(obeys(c)) << verdict_of(c);
}

// The device is 20 ms from the capture point, and its first segment was lost before it.
TEST(Truth, WhatWasLostBeforeTheCaptureIsNoDisorder) {
  Conversation c;
  c.peer(0, "S", {0, 0}).device(20, "SA", {0, 1}).peer(20, "A", {1, 1}).peer(21, "PA", {1, 1, 100});
  c.device(41, "A", {1001, 101, 1000}).device(41, "PA", {2001, 101, 1000});
  c.peer(41, "A", {101, 1}).device(260, "A", {1, 101, 1000}).peer(260, "A", {101, 3001});
  EXPECT_TRUE(obeys(c)) << verdict_of(c);
}

// --- Not hidden by any rule ---

std::string first_clause(const Conversation& conversation) {
  Verdict const verdict = replayed(conversation).verdict;
  return verdict.divergence ? verdict.divergence->clause : verdict_text(verdict);
}

void add_option(Conversation& c, std::vector<std::uint8_t> octets) {
  while (octets.size() % 4 != 0) {
    octets.push_back(1);
  }
  for (std::uint8_t const octet : octets) {
    c.last().options.push_back(std::byte{octet});
  }
}

/// Timestamps of the last segment.
void stamp(Conversation& c, std::uint8_t value, std::uint8_t echo) {
  add_option(c, {8, 10, 0, 0, 0, value, 0, 0, 0, echo});
}

// A duplicate is recorded 30 us after the ACK that echoes its timestamp.
TEST(Order, WhatIsEchoedStandsBeforeItsEcho) {
  for (std::uint8_t const value : {std::uint8_t{50}, std::uint8_t{60}}) {
    Conversation c;
    c.peer(0, "S", {0, 0});
    stamp(c, 1, 0);
    c.device(0, "SA", {0, 1});
    stamp(c, 100, 1);
    c.peer(10, "A", {1, 1});
    stamp(c, 2, 100);
    c.peer(11, "PA", {1, 1, 100});
    stamp(c, 3, 100);
    c.device(11, "A", {1, 101});
    stamp(c, 101, 3);
    c.device(500, "A", {1, 101});
    stamp(c, 150, 50);
    c.peer(500, "PA", {1, 1, 100});
    stamp(c, value, 101);
    c.last().time = c.last().time + Duration::microseconds(30);
    std::vector<std::string> const notes =
        replay_flow(c.flow(), c.device_side(), nullptr).script.notes;
    bool const moved =
        std::count(notes.begin(), notes.end(), "packets put before their answers: 1") == 1;
    EXPECT_EQ(moved, value == 50);
  }
}

// Each direction has its own recorder, and one is 20 ms late. So ten packets are between an ACK and
// the segment that it answers; the echoed timestamp shows the right order.
TEST(Order, ADirectionThatIsRecordedLate) {
  for (bool const echoed : {true, false}) {
    Conversation c;
    c.peer(0, "S", {0, 0});
    stamp(c, 1, 0);
    c.device(0, "SA", {0, 1});
    stamp(c, 100, 1);
    c.peer(10, "A", {1, 1});
    stamp(c, 2, 100);
    for (std::uint32_t i = 0; i < 10; ++i) {
      c.device(100, "A", {1, 101 + 100 * i});
      stamp(c, 200, echoed ? 30 : 2);
    }
    for (std::uint32_t i = 0; i < 10; ++i) {
      c.peer(120, "A", {1 + 100 * i, 1, 100});
      stamp(c, 30, 100);
    }
    std::vector<std::string> const notes =
        replay_flow(c.flow(), c.device_side(), nullptr).script.notes;
    EXPECT_EQ(std::count(notes.begin(), notes.end(), "packets put before their answers: 10"),
              echoed ? 1 : 0);
  }
}

TEST(Blatant, SegmentsLargerThanThePeerTakes) {
  Conversation c;
  c.peer(0, "S", {0, 0});
  c.last().options = {std::byte{2}, std::byte{4}, std::byte{2}, std::byte{24}};  // 536
  c.device(0, "SA", {0, 1}).peer(10, "A", {1, 1}).peer(11, "PA", {1, 1, 100});
  for (std::uint32_t i = 0; i < 4; ++i) {
    c.device(11 + 20 * i, "A", {1 + 1400 * i, 101, 1400});
    c.peer(21 + 20 * i, "A", {101, 1401 + 1400 * i});
  }
  EXPECT_EQ(first_clause(c.identify()), "9293:MUST-16");
}

// The device has taken the first SYN, and the second one offers less.
TEST(Blatant, NothingThatTheLargestMssAllows) {
  for (bool const first : {true, false}) {
    Conversation c;
    c.peer(0, "S", {0, 0});
    c.last().options = {std::byte{2}, std::byte{4}, static_cast<std::byte>(first ? 5 : 2),
                        std::byte{180}};
    c.peer(1, "S", {0, 0});
    c.last().options = {std::byte{2}, std::byte{4}, std::byte{2}, std::byte{24}};
    c.device(1, "SA", {0, 1}).peer(10, "A", {1, 1}).peer(11, "PA", {1, 1, 100});
    for (std::uint32_t i = 0; i < 4; ++i) {
      c.device(11 + 20 * i, "A", {1 + 1400 * i, 101, 1400});
      c.peer(21 + 20 * i, "A", {101, 1401 + 1400 * i});
    }
    EXPECT_EQ(first_clause(c.identify()) == "9293:MUST-16", !first);
  }
}

// A very small MSS of the peer is not obeyed: FreeBSD sends 216 octets, options included.
TEST(Blatant, NothingThatAFloorOfSegmentsExplains) {
  for (std::uint32_t const size : {216u, 217u}) {
    Conversation c;
    c.peer(0, "S", {0, 0});
    c.last().options = {std::byte{2}, std::byte{4}, std::byte{0}, std::byte{100}};
    c.device(0, "SA", {0, 1}).peer(10, "A", {1, 1}).peer(11, "PA", {1, 1, 100});
    for (std::uint32_t i = 0; i < 4; ++i) {
      c.device(11 + 20 * i, "A", {1 + size * i, 101, size});
      c.peer(21 + 20 * i, "A", {101, 1 + size * (i + 1)});
    }
    EXPECT_EQ(first_clause(c.identify()) == "9293:MUST-16", size == 217);
  }
}

// The subflows of MPTCP share one window, which each of them advertises.
TEST(Blatant, AWindowThatSubflowsShareIsNotTakenBack) {
  for (bool const both : {false, true}) {
    Conversation c;
    c.peer(0, "S", {0, 0});
    add_option(c, {30, 4, 1, 0});
    c.device(0, "SA", {0, 1});
    if (both) {
      add_option(c, {30, 4, 1, 0});
    }
    c.peer(10, "A", {1, 1}).peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
    for (std::uint32_t i = 0; i < 4; ++i) {
      c.peer(100 + 50 * i, "PA", {101 + 100 * i, 1, 100});
      c.device(100 + 50 * i, "A", {1, 201 + 100 * i, 0, static_cast<std::uint16_t>(20'000 - i)});
    }
    EXPECT_EQ(first_clause(c) == "9293:SHLD-14", !both);
  }
}

TEST(Blatant, AWindowThatIsTakenBack) {
  Conversation c = request();
  for (std::uint32_t i = 0; i < 4; ++i) {
    c.peer(100 + 50 * i, "PA", {101 + 100 * i, 1, 100});
    c.device(100 + 50 * i, "A", {1, 201 + 100 * i, 0, static_cast<std::uint16_t>(20'000 - i)});
  }
  EXPECT_EQ(first_clause(c), "9293:SHLD-14");
}

Conversation selective(bool permitted) {
  Conversation c;
  c.peer(0, "S", {0, 0});
  if (permitted) {
    add_option(c, {4, 2});
  }
  c.device(0, "SA", {0, 1});
  if (permitted) {
    add_option(c, {4, 2});
  }
  c.peer(10, "A", {1, 1}).peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
  return c;
}

void add_block(Conversation& c, std::uint32_t left, std::uint32_t right) {
  std::vector<std::byte>& options = c.last().options;
  options = {std::byte{1}, std::byte{1}, std::byte{5}, std::byte{10}};
  tools::put_long(options, Conversation::peer_isn + left);
  tools::put_long(options, Conversation::peer_isn + right);
}

TEST(Blatant, ReportsOfWhatWasNeverSent) {
  Conversation c = selective(true);
  c.device(50, "A", {1, 101});
  add_block(c, 301, 401);
  c.peer(200, "PA", {101, 1, 400}).device(200, "A", {1, 501}).identify();
  EXPECT_EQ(first_clause(c), "2018:SACK-14");
  c.packet(7).identification = 0;
  EXPECT_NE(first_clause(c), "2018:SACK-14");
}

// A tail loss probe repeats what the recorder lost; the identifications show that it is missing.
TEST(Blatant, AProbeOfWhatTheRecorderLost) {
  for (std::uint16_t const lost : {std::uint16_t{0}, std::uint16_t{1}}) {
    Conversation c = selective(true);
    c.device(50, "A", {1, 101});
    add_block(c, 301, 401);
    c.peer(78, "PA", {101, 1, 400}).device(78, "A", {1, 501}).identify();
    c.packet(7).identification = static_cast<std::uint16_t>(c.packet(7).identification + lost);
    EXPECT_EQ(first_clause(c) == "2018:SACK-14", lost == 0) << verdict_of(c);
    c.device(79, "A", {1, 501});
    add_block(c, 301, 401);  // D-SACK
    EXPECT_NE(first_clause(c), "2018:SACK-14");
  }
}

// Unless its echo shows that the SACK had arrived, the data may be a copy of what the recorder
// lost.
TEST(Blatant, NoReportsOfWhatTheRecorderLost) {
  for (std::uint32_t const echo : {150u, 160u}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(1, 0);
    add_option(c, {4, 2});
    c.device(0, "SA", {0, 1}).stamp(100, 1);
    add_option(c, {4, 2});
    c.peer(10, "A", {1, 1}).stamp(11, 100).peer(11, "PA", {1, 1, 100}).stamp(12, 100);
    c.device(11, "A", {1, 101}).stamp(111, 12).device(50, "A", {1, 101});
    add_block(c, 301, 401);
    c.stamp(150, 12).device(60, "A", {1, 101}).stamp(160, 12);
    c.peer(200, "PA", {101, 1, 400}).stamp(201, echo).device(200, "A", {1, 501}).stamp(300, 201);
    EXPECT_EQ(first_clause(c) == "2018:SACK-14", echo == 160) << verdict_of(c);
  }
}

TEST(Blatant, OptionsThatWereNotAgreedOn) {
  Conversation c = selective(false);
  c.peer(50, "PA", {201, 1, 100}).device(50, "A", {1, 101});
  add_block(c, 201, 301);
  c.peer(100, "PA", {101, 1, 100}).device(100, "A", {1, 301});
  EXPECT_EQ(first_clause(c), "2018:SACK-2");
  Conversation scale;
  scale.peer(0, "S", {0, 0}).device(0, "SA", {0, 1});
  add_option(scale, {3, 3, 7});
  scale.peer(10, "A", {1, 1}).peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
  EXPECT_EQ(first_clause(scale.recorded_early()), "7323:TS-33");
}

// Both sides use timestamps, although the captured SYN has no such option: the SYN was edited.
TEST(Blatant, NobodyIsAccusedByASynThatWasEdited) {
  for (bool const edited : {false, true}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).device(0, "SA", {0, 1});
    add_option(c, {8, 10, 0, 0, 0, 9, 0, 0, 0, 0});
    c.peer(10, "A", {1, 1});
    if (edited) {
      add_option(c, {8, 10, 0, 0, 0, 5, 0, 0, 0, 9});
    }
    c.peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101}).recorded_early();
    EXPECT_EQ(first_clause(c) == "7323:TS-39", !edited);
  }
}

TEST(Blatant, AStormOfAcks) {
  Conversation c = request();
  for (std::uint32_t i = 0; i < 60; ++i) {
    c.device(20 + 20 * i, "A", {1, 101});
  }
  EXPECT_EQ(first_clause(c.identify()), "5681:CC-28");
}

TEST(Blatant, EchoesOfAMarkThatAreNotHeeded) {
  Conversation c;
  c.peer(0, "SEC", {0, 0}).device(0, "SAE", {0, 1}).peer(10, "A", {1, 1});
  c.peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
  for (std::uint32_t i = 0; i < 120; ++i) {
    c.device(20 + 20 * i, "PA", {1 + 1000 * i, 101, 1000});
    c.peer(30 + 20 * i, "AE", {101, 1001 + 1000 * i, 0, 5000});
  }
  EXPECT_EQ(first_clause(c), "3168:ECN-21");
}

enum class Heeded : std::uint8_t { out_of_sight, sent_again, never };

/// A capture at the peer, 100 segments away from the device. Each window of the device has one
/// segment with CWR. `how`: the capture lacks the first of them; or has a retransmission in its
/// place, which has no CWR; or the device never sends it.
Conversation marked_far_away(Heeded how) {
  Conversation c;
  c.device(0, "SEC", {0, 0}).stamp(500, 0).peer(0, "SAE", {0, 1}).stamp(900, 500);
  c.device(10, "A", {1, 1}).stamp(510, 900);
  for (std::uint32_t i = 0; i < 450; ++i) {
    bool const turn = i >= 150 && i % 100 == 50 && how != Heeded::never;
    bool const first = turn && i == 150;
    if (!first || how != Heeded::out_of_sight) {
      c.device(20 + i, turn && !first ? "PAC" : "PA", {1 + 500 * i, 1, 500});
      c.stamp(520 + i, i < 100 ? 900 : 900 + i);
    }
    c.peer(20 + i, i < 50 ? "A" : "AE", {1, 501 + 500 * i}).stamp(1000 + i, 520 + i);
  }
  return c;
}

// The segment with CWR may be lost before the capture point, and its retransmission has none. The
// next window is the first that shows whether the device heeds the mark.
TEST(Blatant, AMarkMayBeHeededOutOfSight) {
  EXPECT_NE(first_clause(marked_far_away(Heeded::out_of_sight)), "3168:ECN-21");
  EXPECT_NE(first_clause(marked_far_away(Heeded::sent_again)), "3168:ECN-21");
  EXPECT_EQ(first_clause(marked_far_away(Heeded::never)), "3168:ECN-21");
}

/// The device acknowledges 100 octets every 10 ms. From the second time on its echo is right,
/// except for the fifth time, when it is `fifth`. The first time it is `first`.
Conversation echoing(std::uint32_t first, std::uint32_t fifth) {
  Conversation c;
  c.peer(0, "S", {0, 0}).stamp(1'000, 0).device(0, "SA", {0, 1}).stamp(900, 1'000);
  c.peer(10, "A", {1, 1}).stamp(1'010, 900);
  for (std::uint32_t i = 0; i < 6; ++i) {
    std::uint32_t const stamp = 1'020 + 10 * i;
    c.peer(20 + 10 * i, "PA", {1 + 100 * i, 1, 100}).stamp(stamp, 900);
    c.device(20 + 10 * i, "A", {1, 101 + 100 * i});
    c.stamp(920 + 10 * i, i == 0 ? first : i == 4 ? fifth : stamp);
  }
  return c;
}

TEST(Blatant, EchoesOlderThanTheTimestampThatArrived) {
  EXPECT_NE(first_clause(echoing(1'020, 1'060)), "7323:TS-15");
  EXPECT_EQ(first_clause(echoing(1'020, 1'040)), "7323:TS-15");  // that of the third
  EXPECT_EQ(first_clause(echoing(900, 1'060)), "7323:TS-15");    // older than the SYN
  EXPECT_EQ(first_clause(echoing(0, 1'060)), "7323:TS-15");
  // A connection that was restored on another machine echoes zero.
  EXPECT_NE(first_clause(echoing(1'020, 0)), "7323:TS-15");
}

/// Both sides send a SYN, and only the device's offers `option`, which its SYN-ACK repeats. The
/// capture may lack the device's SYN, if `seen` is false, and the peer's SYN-ACK.
Conversation crossing(const std::vector<std::uint8_t>& option, bool seen, bool answered) {
  Conversation c;
  c.peer(0, "S", {0, 0});
  if (seen) {
    c.device(1, "S", {0, 0});
    add_option(c, option);
  }
  c.device(5, "SA", {0, 1});
  add_option(c, option);
  if (answered) {
    c.peer(6, "SA", {0, 1});
  }
  c.peer(20, "A", {1, 1}).peer(21, "PA", {1, 1, 100}).device(21, "A", {1, 101});
  return c.recorded_early();
}

TEST(Blatant, CrossingSynsMayOfferWhatTheOtherDoesNot) {
  std::pair<std::vector<std::uint8_t>, std::string_view> const cases[] = {
      {{3, 3, 7}, "7323:TS-33"}, {{8, 10, 0, 0, 0, 9, 0, 0, 0, 0}, "7323:TS-39"}};
  for (const auto& [option, clause] : cases) {
    EXPECT_NE(first_clause(crossing(option, true, true)), clause);
    EXPECT_NE(first_clause(crossing(option, true, false)), clause);
    EXPECT_NE(first_clause(crossing(option, false, true)), clause);
    EXPECT_EQ(first_clause(crossing(option, false, false)), clause);
    // In hole punching a device's SYN is lost before the capture point. Services send none.
    Conversation c = crossing(option, false, false);
    for (std::uint64_t number = 1; number <= c.flow().segments.size(); ++number) {
      tools::Segment& segment = c.packet(number);
      (segment.source == c.device_side() ? segment.source : segment.destination).port = Port{5'000};
    }
    Flow flow = c.flow();
    flow.second.port = Port{5'000};
    Verdict const verdict = replay_flow(flow, flow.second, nullptr).verdict;
    EXPECT_EQ(verdict_text(verdict).find(clause), std::string::npos) << verdict_text(verdict);
  }
}

// --- The text of verdicts ---

TEST(Verdicts, NameAllThatAFlowDoesWithPacketAndSentence) {
  Conversation c = selective(false);
  for (std::uint32_t i = 0; i < 60; ++i) {
    c.device(20 + 20 * i, "A", {1, 101});
  }
  c.peer(1'300, "PA", {201, 1, 100}).device(1'300, "A", {1, 101});
  add_block(c, 201, 301);
  Replayed const result = replayed(c.identify());
  ASSERT_EQ(result.verdict.violations.size(), 2u) << divergence_text(result);
  std::string const text = divergence_text(result);
  EXPECT_NE(text.find("packet 6: repeated equal ACKs although nothing arrived, "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("5681:CC-28: More than one ACK per arriving segment"), std::string::npos);
  EXPECT_NE(text.find("2018:SACK-2: SACK options when peer did not"), std::string::npos);
  EXPECT_NE(text.find("> 6 A"), std::string::npos) << text;
}

TEST(Verdicts, SayWhyTheCoreStayedSilent) {
  Conversation c = request();
  c.device(11, "R", {1, 0}).peer(20, "A", {101, 1}).device(20, "R", {5, 0});
  std::string const text = divergence_text(replayed(c));
  EXPECT_NE(text.find("dropped as tcp_"), std::string::npos) << text;
}

}  // namespace
}  // namespace lockstep::conformance
