// Each rule of the closed list of allowed differences: where it applies and where it must not.
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <algorithm>

#include "conformance/replay/conversation.hpp"
#include "conformance/replay/obligations.hpp"
#include "conformance/replay/replay.hpp"
#include "conformance/replay/report.hpp"

namespace lockstep::conformance {
namespace {

std::string verdict_of(const Conversation& conversation) {
  return verdict_text(
      replay_flow(conversation.flow(), conversation.device_side(), nullptr).verdict);
}

/// The verdict with the calls and the configuration of a scenario.
std::string verdict_of(const Conversation& conversation, std::vector<PlannedCall> calls,
                       bool minshall = true) {
  Scenario scenario;
  scenario.device = conversation.device_side();
  scenario.config = profile_linux();
  scenario.config.tcp.nagle_minshall = minshall;
  scenario.comparison = Comparison::obligations;
  scenario.calls = std::move(calls);
  Replayed const out = replay_flow(conversation.flow(), scenario.device, &scenario);
  return verdict_text(out.verdict);
}

PlannedCall listen_call() { return {0, std::nullopt, Act::listen, 0}; }
PlannedCall write_call(std::uint64_t after_packet, std::uint32_t bytes) {
  return {after_packet, std::nullopt, Act::write, bytes};
}

/// A request and a response of two segments, cut at `first`.
Conversation response(std::uint32_t first) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100});
  c.device(11, "A", {1, 101, first}).device(11, "PA", {1 + first, 101, 2000 - first});
  c.peer(21, "A", {101, 2001});
  return c;
}

TEST(Agreement, NeedsNoRuleWhereBothDoTheSame) { EXPECT_EQ(verdict_of(response(1460)), "agrees"); }

TEST(Segmentation, AppliesWhereTheSameOctetsAreCutElsewhere) {
  EXPECT_EQ(verdict_of(response(1200)), "differs, allowed: segmentation");
}

TEST(Segmentation, DoesNotApplyToOtherOctets) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100});
  c.device(11, "A", {1, 101, 1200}).device(11, "PA", {1101, 101, 900});
  c.last().payload[0] = std::byte{0xff};  // differs from the octet that was sent first
  c.peer(21, "A", {101, 2001});
  EXPECT_EQ(verdict_of(c), "violates 9293:P-SEND-EST");
}

/// The peer's 100 octets are acknowledged after `ms`, and nothing else happens before.
Conversation one_ack(std::uint64_t ms) {
  Conversation c;
  c.handshake().device(12, "PA", {1, 1, 10}).peer(22, "A", {1, 11});
  c.peer(100, "PA", {1, 11, 100}).peer(101, "PA", {101, 11, 100});
  c.device(100 + ms, "A", {11, 201});
  c.peer(1500, "PA", {201, 11, 10}).device(1540, "A", {11, 211});
  return c.clocks();
}

TEST(AckCoalescing, AppliesToFewerAcksInTime) {
  Conversation c;
  c.handshake().peer(100, "PA", {1, 1, 100}).device(100, "A", {1, 101});
  c.peer(200, "PA", {101, 1, 100}).device(200, "A", {1, 201});
  c.peer(210, "PA", {201, 1, 100}).device(210, "A", {1, 301});
  EXPECT_EQ(verdict_of(c), "differs, allowed: ack-coalescing");
}

TEST(AckCoalescing, DoesNotApplyToAnAckAfterHalfASecond) {
  EXPECT_EQ(verdict_of(one_ack(40)), "agrees");
  EXPECT_EQ(verdict_of(one_ack(640)), "violates 9293:MUST-40");
}

/// Lone segments, each acknowledged after so many ms.
Conversation lone_segments(const std::vector<std::uint32_t>& took) {
  Conversation c;
  c.handshake();
  std::uint32_t next = 1;
  for (std::size_t i = 0; i < took.size(); ++i) {
    std::uint64_t const ms = 1'000 + 5'000 * i;
    c.peer(ms, "PA", {next, 1, 40});
    next += 40;
    c.device(ms + took[i], "A", {1, next});
  }
  return c.clocks();
}

TEST(AckCoalescing, DoesNotApplyToADelayThatIsAlwaysTooLong) {
  EXPECT_EQ(verdict_of(lone_segments({800, 800, 800, 800, 800})), "violates 9293:MUST-40");
  EXPECT_EQ(verdict_of(lone_segments({540, 600, 520, 590, 550, 601})), "violates 9293:MUST-40");
  // Where the time varies, or there are few, time may have stood still for the device.
  EXPECT_EQ(verdict_of(lone_segments({800, 800, 800, 800})), "differs, allowed: ack-coalescing");
  EXPECT_EQ(verdict_of(lone_segments({800, 800, 800, 800, 690})),
            "differs, allowed: ack-coalescing");
  EXPECT_EQ(verdict_of(lone_segments({800, 400, 800, 800, 800, 800})),
            "differs, allowed: ack-coalescing");
}

/// One segment of the device is acknowledged only after `ms`, and never retransmitted.
Conversation slow_ack(std::uint64_t ms) {
  Conversation c;
  c.handshake().device(11, "PA", {1, 1, 100}).peer(21, "A", {1, 101});
  c.device(30, "PA", {101, 1, 100}).peer(30 + ms, "A", {1, 201});
  return c;
}

/// The same, with timestamps that confirm the time, and a segment of the device at the end that
/// shows that it was still running.
Conversation slow_ack_by_clocks(std::uint32_t ms) {
  Conversation c;
  c.peer(0, "S", {0, 0, 0}).stamp(500, 0).device(0, "SA", {0, 1, 0}).stamp(900, 500);
  c.peer(10, "A", {1, 1, 0}).stamp(510, 900);
  c.device(11, "PA", {1, 1, 100}).stamp(911, 510).peer(21, "A", {1, 101}).stamp(521, 911);
  c.device(30, "PA", {101, 1, 100}).stamp(930, 521);
  c.peer(29 + ms, "A", {0, 101}).stamp(529 + ms, 911);  // the data had not arrived until then
  c.peer(30 + ms, "A", {1, 201}).stamp(530 + ms, 930);
  return c.device(30 + ms, "FA", {201, 1}).stamp(930 + ms, 530 + ms);
}

TEST(TimingWithinClass, AppliesWhereTheTimerMayBeLonger) {
  EXPECT_EQ(verdict_of(slow_ack(400)), "differs, allowed: timing-within-class");
}

TEST(TimingWithinClass, DoesNotApplyToSecondsWithoutRetransmission) {
  EXPECT_EQ(verdict_of(slow_ack_by_clocks(4000)), "violates 9293:P-RTO");
}

/// The device sends `segments` at once, before any of its data is acknowledged.
Conversation burst(std::uint32_t segments) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 10});
  for (std::uint32_t i = 0; i < segments; ++i) {
    bool const last = i + 1 == segments;
    c.device(11, last ? "PA" : "A", {1 + i * Conversation::mss, 11, Conversation::mss});
  }
  c.peer(21, "A", {11, 1 + segments * Conversation::mss});
  return c;
}

/// The verdict with the core held to RFC 5681's three segments.
std::string careful_verdict_of(const Conversation& conversation) {
  Scenario scenario;
  scenario.device = conversation.device_side();
  scenario.config = profile_rfc();
  scenario.comparison = Comparison::obligations;
  return verdict_text(replay_flow(conversation.flow(), scenario.device, &scenario).verdict);
}

TEST(InitialWindow, AppliesUpToTenSegments) {
  EXPECT_EQ(careful_verdict_of(burst(3)), "agrees");
  std::string const verdict = careful_verdict_of(burst(9));
  EXPECT_NE(verdict.find("differs, allowed"), std::string::npos) << verdict;
  EXPECT_NE(verdict.find("initial-window"), std::string::npos) << verdict;
}

TEST(InitialWindow, DoesNotApplyToMore) {
  EXPECT_EQ(careful_verdict_of(burst(14)), "violates 5681:CC-3");
}

TEST(CongestionWindow, AppliesWhereTheCoreIsMoreCareful) {
  std::string const verdict = careful_verdict_of(burst(9));
  EXPECT_NE(verdict.find("congestion-window"), std::string::npos) << verdict;
}

/// Two segments are lost; after the timeout the device retransmits `again` of them at once.
Conversation after_timeout(std::uint32_t again) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 10});
  c.device(11, "A", {1, 11, 1460}).device(11, "PA", {1461, 11, 1460});
  for (std::uint32_t i = 0; i < again; ++i) {
    c.device(311, "A", {1 + 1460 * i, 11, 1460});
  }
  c.peer(321, "A", {11, 2921});
  return c;
}

TEST(CongestionWindow, DoesNotApplyAfterATimeout) {
  EXPECT_NE(verdict_of(after_timeout(1)).substr(0, 8), "violates");
  EXPECT_EQ(verdict_of(after_timeout(2)), "violates 5681:CC-12");
}

// SACK, RACK and probes act on what arrives. In silence each retransmission but the first is a
// timeout's, whether SACK was agreed or not.
TEST(CongestionWindow, DoesNotApplyAfterTimeoutsInSilenceDespiteSack) {
  std::vector<std::byte> const permitted{std::byte{4}, std::byte{2}, std::byte{1}, std::byte{1}};
  for (std::uint32_t const times : {1u, 2u, 3u}) {
    for (std::uint32_t const again : {1u, 2u, 6u}) {
      Conversation c;
      c.peer(0, "S", {0, 0}).last().options = permitted;
      c.device(0, "SA", {0, 1}).last().options = permitted;
      c.peer(10, "A", {1, 1}).peer(11, "PA", {1, 1, 10});
      std::uint64_t ms = 11;
      for (std::uint32_t sent = 0; sent <= times; ++sent) {
        for (std::uint32_t i = 0; i < (sent == 0 ? 6 : again); ++i) {
          c.device(ms, "A", {1 + 536 * i, 11, 536});
        }
        ms += 1'000u << sent;
      }
      c.peer(ms, "A", {11, 1 + 536 * 6});
      std::string const verdict = verdict_of(c);
      EXPECT_EQ(verdict == "violates 5681:CC-12", again > 1 && times > 1)
          << times << again << verdict;
      EXPECT_EQ(verdict.starts_with("violates"), again > 1 && times > 1) << verdict;
    }
  }
}

// The loss window is a number of octets: small segments that fit into it may all be sent again, as
// TCPs do that keep each segment as the application wrote it.
TEST(CongestionWindow, AppliesToSmallSegmentsAfterATimeout) {
  for (std::uint32_t const size : {100u, 292u, 293u}) {
    Conversation c;
    c.handshake().peer(11, "PA", {1, 1, 10});
    for (std::uint64_t const ms : {11u, 311u}) {
      for (std::uint32_t i = 0; i < 5; ++i) {
        c.device(ms, "PA", {1 + size * i, 11, size});
      }
    }
    c.peer(321, "A", {11, 1 + 5 * size});
    bool const fits = 5 * size <= Conversation::mss;
    std::string const verdict = verdict_of(c);
    EXPECT_EQ(verdict == "violates 5681:CC-12", !fits) << size << ": " << verdict;
    EXPECT_EQ(verdict.starts_with("violates"), !fits) << size << ": " << verdict;
  }
}

// With SACK agreed a timer is judged where nothing of the peer arrives: no duplicate ACK, no
// report.
TEST(Recovery, ATimerIsJudgedInSilenceDespiteSack) {
  for (std::uint32_t const times : {4u, 8u}) {
    for (bool const doubled : {false, true}) {
      Conversation c;
      std::vector<std::byte> const permitted{std::byte{4}, std::byte{2}, std::byte{1},
                                             std::byte{1}};
      c.peer(0, "S", {0, 0}).last().options = permitted;
      c.device(0, "SA", {0, 1}).last().options = permitted;
      c.peer(10, "A", {1, 1}).peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
      std::uint64_t ms = 20;
      for (std::uint32_t i = 0; i < times; ++i) {
        c.device(ms, "PA", {1, 101, 300});
        ms += doubled ? 1'000u << i : 1'000;
      }
      c.peer(ms, "A", {101, 301});
      Flow flow = c.flow();
      flow.unfiltered = {true, true};
      std::string const verdict = verdict_text(replay_flow(flow, c.device_side(), nullptr).verdict);
      EXPECT_EQ(verdict == "violates 6298:RTO-14", times == 8 && !doubled) << verdict;
    }
  }
}

/// The verdict for a device whose 300 octets, sent at these times, were lost until the last one.
std::string verdict_of_times(const std::vector<std::uint64_t>& times) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
  for (std::uint64_t const ms : times) {
    c.device(ms, "PA", {1, 101, 300});
  }
  c.peer(times.back() + 10, "A", {101, 301});
  Flow flow = c.flow();
  flow.unfiltered = {true, true};
  return verdict_text(replay_flow(flow, c.device_side(), nullptr).verdict);
}

// BSD waits 200 ms longer than its RTO, which doubles.
TEST(Recovery, AConstantMayBeAddedToATimerThatDoubles) {
  std::vector<std::uint64_t> slower, even{20};
  std::uint64_t at = 20;
  for (std::uint64_t rto = 30; rto < 2'000; rto *= 2) {
    slower.push_back(at);
    at += rto + 200;
  }
  for (std::uint64_t gap = 230; even.size() < slower.size(); gap += 10) {
    even.push_back(even.back() + gap);
  }
  EXPECT_NE(verdict_of_times(slower), "violates 6298:RTO-14");
  EXPECT_EQ(verdict_of_times(even), "violates 6298:RTO-14");
  EXPECT_EQ(verdict_of_times({20, 1'020, 2'520, 4'770, 8'145, 13'208}), "violates 6298:RTO-14");
}

TEST(Recovery, ATimerBelowTheLeastOneIsJudgedWhenItNeverDoubles) {
  for (std::uint64_t const times : {6u, 12u}) {
    std::vector<std::uint64_t> even;
    for (std::uint64_t i = 0; i < times; ++i) {
      even.push_back(20 + 150 * i);
    }
    EXPECT_EQ(verdict_of_times(even) == "violates 6298:RTO-14", times == 12)
        << verdict_of_times(even);
  }
}

// A FIN takes no room in the congestion window.
TEST(Recovery, AFullSegmentAndTheFinFitIntoTheLossWindow) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 10}).device(11, "A", {1, 11});
  for (std::uint64_t const ms : {12u, 312u}) {
    c.device(ms, "PA", {1, 11, Conversation::mss}).device(ms, "FA", {1 + Conversation::mss, 11});
  }
  c.peer(322, "A", {11, 2 + Conversation::mss});
  EXPECT_FALSE(verdict_of(c).starts_with("violates")) << verdict_of(c);
}

// The device discards an ACK of what it has not sent, so it may go on with its timer.
TEST(Recovery, AnAckOfUnsentDataAcknowledgesNothing) {
  for (std::uint32_t const ack : {1'501u, 3'501u}) {
    Conversation c;
    c.handshake().device(11, "PA", {1, 1, 500}).device(12, "A", {501, 1, 1'000});
    c.peer(30, "PA", {1, ack, 10}).device(30, "A", {1'501, ack == 1'501 ? 11u : 1u});
    c.peer(200, "PA", {1, 501, 10}).device(200, "A", {1'501, 11});
    c.device(1'400, "A", {501, 11, 1'000}).peer(1'410, "A", {11, 1'501});
    EXPECT_EQ(verdict_of(c) == "violates 6298:RTO-11", ack == 1'501) << verdict_of(c);
  }
}

/// The device's first 300 octets are lost for 60 s, and never sent again. Meanwhile it acknowledges
/// what the peer sends every `ms`.
Conversation never_again(std::uint64_t ms) {
  Conversation c;
  c.handshake().device(20, "PA", {1, 1, 300});
  std::uint32_t octets = 1;
  for (std::uint64_t at = 400; at < 60'000; at += ms, octets += 20) {
    c.peer(at, "PA", {octets, 1, 20}).device(at, "A", {301, octets + 20});
  }
  return c;
}

TEST(Recovery, WithoutTimestampsManyRepliesShowThatTimeHasPassed) {
  EXPECT_EQ(verdict_of(never_again(400)), "violates 9293:P-RTO");
  EXPECT_FALSE(verdict_of(never_again(58'000)).starts_with("violates"));
}

TEST(Recovery, AppliesToWhatWasNotAcknowledged) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 10});
  c.device(11, "A", {1, 11, 1460}).device(11, "PA", {1461, 11, 1460});
  c.device(150, "PA", {1461, 11, 1460});  // a tail loss probe
  c.peer(160, "A", {11, 2921});
  std::string const verdict = verdict_of(c);
  EXPECT_NE(verdict.find("recovery"), std::string::npos) << verdict;
}

TEST(Recovery, DoesNotApplyToWhatWasAcknowledged) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 10}).device(11, "PA", {1, 11, 1460});
  c.peer(21, "A", {11, 1461}).peer(40, "PA", {11, 1461, 10}).device(41, "A", {1461, 21});
  c.device(300, "PA", {1, 21, 1460}).peer(310, "A", {21, 1461});
  EXPECT_EQ(verdict_of(c), "violates 6298:RTO-11");
}

TEST(WindowUpdates, ApplyWhereTheWindowIsToldMoreOften) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100}).device(51, "A", {1, 101, 0, 60000});
  c.device(60, "A", {1, 101, 0, 65000}).peer(70, "A", {101, 1});
  EXPECT_EQ(verdict_of(c), "differs, allowed: window-updates");
}

// A firewall behind the capture point takes the window scale out of one SYN: the device does not
// scale then. Each window is smaller by what arrived, or by more.
TEST(WindowUpdates, AScaleThatDidNotArriveShrinksNoWindow) {
  for (std::uint16_t const less : {std::uint16_t{1'460}, std::uint16_t{2'000}}) {
    Conversation c;
    std::vector<std::byte> const scale{std::byte{3}, std::byte{3}, std::byte{7}, std::byte{1}};
    c.peer(0, "S", {0, 0}).last().options = scale;
    c.device(0, "SA", {0, 1}).last().options = scale;
    c.peer(10, "A", {1, 1});
    std::uint16_t window = 64'240;
    for (std::uint32_t i = 0; i < 8; ++i, window = static_cast<std::uint16_t>(window - less)) {
      c.peer(20 + 20 * i, "PA", {1 + 1'460 * i, 1, 1'460});
      c.device(20 + 20 * i, "A", {1, 1'461 + 1'460 * i, 0, window});
    }
    EXPECT_EQ(verdict_of(c).find("SHLD-14") != std::string::npos, less == 2'000) << verdict_of(c);
  }
}

TEST(WindowUpdates, DoNotApplyWhereTheWindowIsNeverTold) {
  auto const result =
      replay_scenario(std::string(LOCKSTEP_SOURCE_DIR) + "/pcaps/rfc9293-3.8.6-linux-slow-reader");
  bool found = false;
  for (const TwinResult& twin : result->twins) {
    found |= twin.twin->clause == "9293:P-SWS-RCV" && twin.passes();
  }
  EXPECT_TRUE(found);
}

TEST(NagleVariant, AppliesWhereOnlyFullSegmentsAreOutstanding) {
  Conversation c;
  c.handshake().device(10, "A", {1, 1, 1460}).device(10, "PA", {1461, 1, 540});
  c.peer(20, "A", {1, 2001});
  std::string const verdict = verdict_of(c, {listen_call(), write_call(3, 2000)}, false);
  EXPECT_NE(verdict.find("nagle-variant"), std::string::npos) << verdict;
}

TEST(NagleVariant, ADeviceMayWaitWhereTheCoreDoesNot) {
  Conversation c;
  c.handshake().device(10, "A", {1, 1, 1460}).peer(20, "A", {1, 1461});
  c.device(20, "PA", {1461, 1, 540}).peer(30, "A", {1, 2001});
  EXPECT_EQ(verdict_of(c, {listen_call(), write_call(3, 2000)}, false), "agrees");
  EXPECT_EQ(verdict_of(c, {listen_call(), write_call(3, 2000)}, true),
            "differs, allowed: timing-within-class");
}

TEST(NagleVariant, DoesNotApplyWhereASmallSegmentIsOutstanding) {
  Conversation c;
  c.handshake().device(10, "PA", {1, 1, 100}).device(15, "PA", {101, 1, 100});
  c.peer(20, "A", {1, 201});
  PlannedCall const second{std::nullopt, Duration::milliseconds(15), Act::write, 100};
  EXPECT_EQ(verdict_of(c, {listen_call(), write_call(3, 100), second}), "violates 9293:P-NAGLE");
}

TEST(ClosingReset, AppliesToWhatComesWhenBothAreDone) {
  Conversation c;
  c.handshake().peer(11, "FA", {1, 1}).device(11, "FA", {1, 2}).peer(21, "A", {2, 2});
  c.peer(100, "A", {2, 2}).peer(200, "A", {2, 2});
  std::string const verdict = verdict_of(c);
  EXPECT_NE(verdict.find("closing-reset"), std::string::npos) << verdict;
}

TEST(ClosingReset, DoesNotApplyToALiveConnection) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 10}).device(11, "R", {1, 0});
  c.peer(20, "A", {11, 1}).device(20, "R", {5, 0});
  EXPECT_EQ(verdict_of(c).substr(0, 8), "violates");
}

TEST(Names, AreDistinct) {
  for (std::size_t i = 0; i < rule_count; ++i) {
    for (std::size_t j = i + 1; j < rule_count; ++j) {
      EXPECT_NE(name_of(static_cast<Rule>(i)), name_of(static_cast<Rule>(j)));
    }
  }
}

// The peer's first two SYNs were lost before the device, so it need not answer them.
TEST(Inference, LeavesOutSynsThatDrewNoAnswer) {
  Conversation c;
  c.peer(0, "S", {0, 0}).peer(1000, "S", {0, 0}).peer(3000, "S", {0, 0});
  c.device(3000, "SA", {0, 1}).peer(3010, "A", {1, 1}).peer(3011, "PA", {1, 1, 100});
  c.device(3011, "A", {1, 101});
  EXPECT_EQ(verdict_of(c), "differs, allowed: ack-coalescing");
  // The scenario states that it was listening.
  EXPECT_EQ(verdict_of(c, {listen_call()}).substr(0, 8), "violates");
}

// The application ended, and no FIN or RST was captured. Data then elicits the reset of a host
// without the connection, whose SEQ is the ACK number of that segment.
TEST(Inference, AResetOfWhoHasNoConnectionAccusesNobody) {
  for (std::uint32_t const seq : {101u, 150u}) {
    Conversation c;
    c.handshake().device(11, "PA", {1, 1, 100}).device(11, "PA", {101, 1, 100});
    c.peer(21, "PA", {1, 101, 50}).device(21, "R", {seq, 0});
    EXPECT_EQ(verdict_of(c).substr(0, 8) == "violates", seq == 150) << verdict_of(c);
  }
}

// A zero-window probe is outside the window, so its ACK field is not processed.
TEST(Audit, TheAckOfAProbeThatLiesOutsideTheWindowDoesNotCount) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 1000}).device(11, "PA", {1, 1001, 1000, 0});
  for (std::uint64_t ms = 400; ms < 1'000; ms += 200) {
    c.peer(ms, "A", {1000, 1001});
  }
  c.device(1'011, "PA", {1, 1001, 1000, 0}).peer(1'021, "A", {1001, 1001});
  EXPECT_NE(verdict_of(c).substr(0, 8), "violates") << verdict_of(c);
}

TEST(Inference, FindsUrgentData) {
  Conversation c;
  c.handshake().device(11, "PAU", {1, 1, 105});
  c.last().urgent = 5;
  c.peer(21, "A", {1, 106});
  EXPECT_EQ(verdict_of(c), "agrees");
  Conversation other;
  other.handshake().device(11, "PAU", {1, 1, 105});
  other.last().urgent = 105;
  other.peer(21, "A", {1, 106});
  EXPECT_EQ(verdict_of(other), "agrees");
}

// The end of the data is retransmitted with the FIN.
TEST(Audit, AFinMayComeTwiceWithItsData) {
  Conversation c;
  c.handshake().device(11, "PAF", {1, 1, 2000}).device(250, "PAF", {1461, 1, 540});
  c.peer(260, "A", {1, 2002});
  EXPECT_NE(verdict_of(c), "violates 9293:P-CLOSE-QUEUED");
  Conversation more;
  more.handshake().device(11, "PAF", {1, 1, 1000}).device(12, "PA", {1001, 1, 540});
  more.peer(30, "A", {1, 1541});
  EXPECT_EQ(verdict_of(more), "violates 9293:P-CLOSE-QUEUED");
}

/// Both sides scale by 7 bits; the device is the passive side, 10 ms away.
Conversation scaled_handshake() {
  Conversation c;
  std::vector<std::byte> const scale{std::byte{3}, std::byte{3}, std::byte{7}, std::byte{1}};
  const auto add_scale = [&] {
    c.last().options.insert(c.last().options.end(), scale.begin(), scale.end());
  };
  c.peer(0, "S", {0, 0});
  add_scale();
  c.device(0, "SA", {0, 1});
  add_scale();
  c.peer(10, "A", {1, 1, 0, 1000});
  return c;
}

/// After three round trips of slow start the device sends `segments` full segments at once into a
/// window of 128,000 octets.
Conversation bulk(std::uint32_t segments) {
  Conversation c = scaled_handshake();
  std::uint32_t next = 1;
  std::uint64_t ms = 11;
  for (std::uint32_t const flight : {10u, 20u, 40u, segments}) {
    for (std::uint32_t i = 0; i < flight; ++i, next += Conversation::mss) {
      c.device(ms, "A", {next, 1, Conversation::mss, 1000});
    }
    ms += 10;
    for (std::uint32_t i = flight; i-- > 0;) {
      c.peer(ms, "A", {1, next - i * Conversation::mss, 0, 1000});
    }
  }
  return c;
}

TEST(Scaling, LetsTheDeviceSendBeyondSixteenBits) {
  std::string const verdict = verdict_of(bulk(87));
  EXPECT_EQ(verdict.substr(0, 16), "differs, allowed") << verdict;
  Conversation beyond = bulk(88);
  std::uint32_t const end = 1 + 158 * Conversation::mss;
  beyond.device(60, "A", {end, 1, 100, 1000}).peer(70, "A", {1, end + 100, 0, 1000});
  // One ACK may be missing from the capture; the second overrun is a violation.
  beyond.device(71, "A", {end + 100, 1, 1400, 1000});
  for (std::uint32_t i = 0; i < 88; ++i) {
    beyond.device(72, "A", {end + 1500 + i * Conversation::mss, 1, Conversation::mss, 1000});
  }
  // The peer's later ACKs, which allow for a late recorder, do not advance the window.
  beyond.peer(82, "A", {1, end + 1500, 0, 1000}).peer(100, "A", {1, end + 1500, 0, 1000});
  EXPECT_EQ(verdict_of(beyond), "violates 9293:P-WND-FIT");
}

// Consecutive segments of loopback's size, of each of which the core's own window covers only a
// part.
TEST(Scaling, LetsThePeerSendBeyondSixteenBits) {
  Conversation c = scaled_handshake();
  for (std::uint32_t i = 0; i < 12; ++i) {
    c.peer(11 + i, "A", {1 + i * 40'000, 1, 40'000, 1000});
    c.device(11 + i, "A", {1, 1 + (i + 1) * 40'000, 0, 1000});
  }
  std::string const verdict = verdict_of(c);
  EXPECT_EQ(verdict.substr(0, 16), "differs, allowed") << verdict;
}

TEST(CannotTell, SaysWhy) {
  Conversation both_open;
  both_open.peer(0, "S", {0, 0}).device(30, "S", {0, 0}).peer(31, "SA", {0, 1});
  both_open.device(32, "SA", {0, 1}).peer(33, "A", {1, 1});
  EXPECT_EQ(verdict_of(both_open),
            "cannot tell: simultaneous open, captured near the peer: choose "
            "the other side with --device");
  Conversation no_syn;
  no_syn.peer(0, "A", {1, 1}).device(1, "A", {1, 1});
  EXPECT_EQ(verdict_of(no_syn), "cannot tell: missing handshake: no SYN was captured");
  // A reset alone: only the missing packets before it could show whether it was required.
  Conversation reset;
  reset.device(0, "R", {1, 0});
  EXPECT_EQ(verdict_of(reset), "cannot tell: missing handshake: no SYN was captured");
  Conversation cut = response(1460);
  cut.last().missing = 4;
  EXPECT_EQ(verdict_of(cut), "cannot tell: truncated snaplen: 1 segment was cut");
  Conversation gap;
  gap.handshake().device(11, "PA", {1, 1, 100}).device(12, "PA", {201, 1, 100});
  gap.device(300, "PA", {101, 1, 100}).peer(310, "A", {1, 301});
  EXPECT_EQ(verdict_of(gap),
            "cannot tell: packets of the device were lost or overtaken before they were captured: "
            "packet 5 leaves a gap");
  Conversation back;
  back.handshake().peer(11, "PA", {1, 1, 100}).peer(12, "PA", {101, 1, 100});
  back.device(12, "A", {1, 201}).device(17, "A", {1, 101});
  EXPECT_EQ(verdict_of(back),
            "cannot tell: packets of the device were overtaken before they were captured: packet 7 "
            "acknowledges less than one before it");
  // The capture point is 40 ms from the device; packet 5 was lost before it arrived there.
  Conversation away;
  away.peer(0, "S", {0, 0}).device(40, "SA", {0, 1}).peer(40, "A", {1, 1});
  away.peer(41, "A", {1, 1, 1460}).peer(41, "A", {1461, 1, 1460}).device(581, "A", {1, 1461});
  away.peer(1041, "A", {1461, 1, 1460}).device(1081, "A", {1, 2921});
  EXPECT_EQ(verdict_of(away), "differs, allowed: ack-coalescing");
  Conversation lost;
  lost.handshake().peer(11, "PA", {1, 1, 10}).device(11, "PA", {101, 11, 10});
  lost.peer(21, "A", {11, 111});
  EXPECT_EQ(verdict_of(lost).substr(0, 46), "cannot tell: the capture lost packets of the d");
}

}  // namespace
}  // namespace lockstep::conformance
