// Packets that a recorder loses, duplicates or reorders, or that are lost after the capture point,
// cause no false violation. Each test writes the capture of a conforming stack, and one of a stack
// that still violates a clause after the same edit.
#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/replay/conversation.hpp"
#include "conformance/replay/replay.hpp"
#include "conformance/replay/report.hpp"
#include "conformance/replay/unaided.hpp"
#include "tools/base/capture/octets.hpp"

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

/// The device repeatedly fills a window of 2,000 octets. `lost`: two of the peer's ACKs are missing
/// from the capture. `shut`: the peer's ACKs never advance the window.
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
      c.device(20 + 20 * i, "A", {1, 101});
    }
    Flow flow = c.identify().flow();
    std::erase_if(flow.segments, [&](const tools::Segment& segment) {
      return !both && segment.source != c.device_side();
    });
    EXPECT_EQ(accused_of(flow, c.device_side()), both ? "5681:CC-28" : "");
  }
}

// The recorder dropped the data that arrived above a gap. A later jump of the ACK shows that it
// arrived.
TEST(Recording, AJumpOfTheAckShowsWhatDrewItsDuplicates) {
  Conversation c = request();
  for (std::uint32_t i = 0; i < 60; ++i) {
    c.device(20 + 20 * i, "A", {1, 101});
  }
  EXPECT_EQ(accused_of(c.identify()), "5681:CC-28");
  c.peer(1'300, "PA", {101, 1, 100}).device(1'300, "A", {1, 40'101});
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
      c.peer(60, "A", {401, 1});  // shows that the SACKed data was sent before
    }
    c.peer(200, "PA", {101, 1, 300}).peer(210, "PA", {401, 1, 300}).device(210, "A", {1, 701});
    c.identify();
    EXPECT_EQ(accused_of(c).find("SACK-14") != std::string::npos, !shown) << accused_of(c);
  }
}

// --- Retransmission timer ---

/// The device's 100 octets are acknowledged four seconds later and never retransmitted. Its
/// timestamp clock advances by `ticks` in that time. `ends`: the flags of its last segment, if any.
/// `denied`: a keep-alive of the peer shows that the octets had not arrived until then.
Conversation never_again(std::uint32_t ticks, std::string_view ends, bool denied = true) {
  Conversation c;
  c.peer(0, "S", {0, 0}).stamp(100, 0);
  c.device(0, "SA", {0, 1}).stamp(1000, 100);
  c.peer(10, "A", {1, 1}).stamp(110, 1000);
  c.device(100, "PA", {1, 1, 100}).stamp(1100, 110);
  c.peer(110, "A", {1, 101}).stamp(210, 1100);
  c.device(120, "PA", {101, 1, 100}).stamp(1120, 210);
  if (denied) {
    c.peer(4110, "A", {0, 101}).stamp(200 + ticks, 1100);
  }
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

// The application may have ended after a second, or the machine may have lost power.
TEST(Recording, WhoIsNotHeardOfAgainMayHaveGivenUp) {
  EXPECT_EQ(accused_of(never_again(4000, "")), "");
  EXPECT_EQ(accused_of(never_again(4000, "R")), "");
}

// The immediate ACK may be missing from the capture; the next ACK is sent with a response.
TEST(Recording, AnAckThatComesLateMayNotBeTheFirst) {
  EXPECT_EQ(accused_of(never_again(4000, "FA", false)), "");
}

// A FIN is retransmitted like data. An RTT sample of a SYN that was not recorded may have made the
// RTO long.
TEST(Recording, AFinThatIsSentAgainShowsTheTimer) {
  for (bool const again : {false, true}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(100, 0).device(0, "SA", {0, 1}).stamp(1000, 100);
    c.peer(10, "A", {1, 1}).stamp(110, 1000);
    c.device(100, "PA", {1, 1, 100}).stamp(1100, 110).peer(110, "A", {1, 101}).stamp(210, 1100);
    c.device(120, "FA", {101, 1}).stamp(1120, 210);
    if (again) {
      c.device(2'120, "FA", {101, 1}).stamp(3'120, 210);
      c.device(5'500, "FA", {101, 1}).stamp(6'500, 210);
    }
    c.peer(11'000, "A", {0, 101}).stamp(11'100, 1100);
    c.device(11'001, "FA", {101, 1}).stamp(12'001, again ? 11'100u : 210u);
    c.peer(11'010, "A", {1, 102}).stamp(11'110, 12'001);
    EXPECT_EQ(accused_of(c), again ? "" : "9293:P-RTO") << again;
  }
}

/// The device sends its second segment `times` times, and the third once. The ACK of the third
/// arrives seven seconds later.
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
  c.peer(ms + 6'990, "A", {0, 201}).stamp(7'090 + ms, 1000 + ms);
  c.peer(ms + 7'000, "A", {1, 301}).stamp(7'100 + ms, 1000 + ms);
  return c.device(ms + 7'010, "FA", {301, 1}).stamp(8'010 + ms, 7'100 + ms);
}

TEST(Recording, ATimerStaysAsLongAsItHasGrown) {
  EXPECT_EQ(accused_of(backed_off(1)), "9293:P-RTO");
  EXPECT_EQ(accused_of(backed_off(4)), "");
}

// A SYN-ACK with a cookie is sent once for each SYN (RFC 4987, 3.6).
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
  Flow flow = even.flow();
  // An ICMP message that says that the host is unreachable undoes the last doubling (RFC 6069). A
  // capture that a filter restricted to TCP lacks it.
  EXPECT_EQ(accused_of(flow, even.device_side()), "");
  flow.unfiltered = {true, true};
  EXPECT_EQ(accused_of(flow, even.device_side()), "6298:RTO-14");
}

/// Two segments are lost. The device retransmits the second one `after` the first, which the timer
/// retransmits.
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

// A merged capture of both ends contains a segment before segmentation offload, and later the two
// segments into which the NIC split it.
TEST(Recording, WhatIsThereAgainTooSoonWasNoTimeout) {
  for (std::uint64_t const ms : {60u, 312u}) {
    Conversation c = request();
    c.device(12, "PA", {1, 101, 1'500}).peer(20, "A", {101, 1}).peer(21, "A", {101, 1});
    c.device(ms, "A", {1, 101, 1'400}).device(ms, "PA", {1'401, 101, 100});
    c.peer(ms + 20, "A", {101, 1'501});
    EXPECT_EQ(accused_of(c), ms == 60 ? "" : "5681:CC-12") << ms;
  }
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

// A mirror port that copies ingress and egress captures forwarded packets twice and others once.
TEST(Recording, ARetransmissionMayBeRecordedTwice) {
  Conversation c = request();
  c.device(12, "PA", {1, 101, 300}).device(312, "PA", {1, 101, 300});
  c.device(318, "PA", {1, 101, 300}).peer(322, "A", {101, 301});
  EXPECT_EQ(accused_of(c), "");
}

// Captures of both ends were merged, and the clocks of the two recorders differ.
TEST(Recording, APacketMayBeThereOnceMoreByAnotherClock) {
  for (bool const same : {true, false}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(100, 0).device(0, "SA", {0, 1}).stamp(1000, 100);
    c.peer(10, "A", {1, 1}).stamp(110, 1000).peer(11, "PA", {1, 1, 100}).stamp(111, 1000);
    c.device(11, "A", {1, 101}).stamp(1011, 111);
    c.device(12, "PA", {1, 101, 300}).stamp(1012, 111).peer(22, "A", {101, 301}).stamp(122, 1012);
    c.device(40, "PA", {301, 101, 50}).stamp(1040, 122);
    c.peer(50, "A", {101, 351}).stamp(150, 1040);
    c.device(2'000, "PA", {1, 101, 300}).stamp(same ? 1012 : 3000, same ? 111 : 150);
    c.peer(2'010, "A", {101, 351}).stamp(2'100, 1040);
    EXPECT_EQ(accused_of(c), same ? "" : "6298:RTO-11") << verdict_of(c);
  }
}

// The same, where the sender's NIC split a segment, and the other end captured the parts.
TEST(Recording, APacketMayBeThereOnceMoreInPartsByAnotherClock) {
  for (bool const merged : {true, false}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(100, 0).device(0, "SA", {0, 1}).stamp(1000, 100);
    c.peer(10, "A", {1, 1}).stamp(110, 1000).peer(11, "PA", {1, 1, 100}).stamp(111, 1000);
    c.device(11, "A", {1, 101}).stamp(1011, 111);
    c.device(12, "PA", {1, 101, 600}).stamp(1012, 111).peer(22, "A", {101, 601}).stamp(122, 1012);
    c.device(40, "PA", {601, 101, 50}).stamp(1040, 122);
    c.peer(50, "A", {101, 651}).stamp(150, 1040);
    if (merged) {
      c.peer(411, "A", {101, 1}).stamp(111, 1000);
    }
    c.device(412, "A", {1, 101, 300}).stamp(merged ? 1012 : 1412, merged ? 111 : 150);
    c.device(412, "PA", {301, 101, 300}).stamp(merged ? 1012 : 1412, merged ? 111 : 150);
    c.peer(500, "A", {101, 651}).stamp(1'500, 1040);
    EXPECT_EQ(accused_of(c), merged ? "" : "6298:RTO-11") << verdict_of(c);
  }
}

/// Three segments are lost. The second is retransmitted 95 ms after the first was acknowledged. The
/// round trip takes 150 ms. `again`: the timer has retransmitted the first.
Conversation paced(bool again) {
  Conversation c;
  c.peer(0, "S", {0, 0}).device(0, "SA", {0, 1}).peer(150, "A", {1, 1});
  c.peer(151, "PA", {1, 1, 100}).device(151, "A", {1, 101});
  std::uint32_t const first = again ? 3 : 1;
  for (std::uint32_t i = 0; i < first; ++i) {
    c.device(152, "A", {1 + i * 1'460, 101, 1'460});
  }
  if (again) {
    c.device(400, "A", {1, 101, 1'460});
  }
  c.peer(410, "A", {101, 1'461});
  for (std::uint32_t i = first; i < 3; ++i) {
    c.device(440, "A", {1 + i * 1'460, 101, 1'460});
  }
  c.device(505, "A", {1'461, 101, 1'460});
  return c.peer(600, "A", {101, 4'381}).device(601, "FA", {4'381, 101}).clocks();
}

// A sender with pacing retransmits the other lost segments when pacing permits.
TEST(Recording, WhatWasLostWithATimeoutGoesAgainAtAnyTime) {
  EXPECT_EQ(accused_of(paced(true)), "");
  EXPECT_EQ(accused_of(paced(false)), "6298:RTO-9");
}

// RFC 5827: with few segments outstanding one duplicate ACK is enough, and the recorder may have
// lost that one.
TEST(Recording, ADuplicateAckMayBeMissing) {
  Conversation c = paced(false);
  std::vector<std::byte>& options = c.packet(10).options;
  options.resize(options.size() - 4);
  tools::put_long(options, 1'411);
  EXPECT_EQ(accused_of(c), "");
}

/// The device sends 1,400 octets again after `ms`, in a first segment of `size` octets and a second
/// one with the rest. The round trip takes 600 ms.
Conversation shortened(std::uint64_t ms, std::uint32_t size) {
  Conversation c;
  c.device(0, "S", {0, 0}).peer(600, "SA", {0, 1}).device(600, "A", {1, 1});
  c.device(601, "PA", {1, 1, 100}).peer(1'201, "A", {1, 101});
  c.device(1'300, "A", {101, 1, 1'400}).device(1'300 + ms, "A", {101, 1, size});
  if (size != 1'400) {
    c.device(1'300 + ms, "PA", {101 + size, 1, 1'400 - size});
  }
  c.peer(1'900 + ms, "A", {1, 1'501}).device(1'901 + ms, "FA", {1'501, 1});
  return c.clocks();
}

// The ICMP message that reports a smaller path MTU is not in a capture that has only TCP.
TEST(Recording, WhatIsSentAgainInShorterSegmentsMayHaveBeenTooBig) {
  EXPECT_EQ(accused_of(shortened(45, 1'248)), "");
  EXPECT_EQ(accused_of(shortened(250, 1'248)), "");
  EXPECT_EQ(accused_of(shortened(45, 1'400)), "6298:RTO-9");
}

// --- Acknowledged ---

/// The device answers a request after `ms` by a segment with `flags` and `numbers`. An ACK in
/// between may be missing from the capture.
Conversation answered(std::uint64_t ms, std::string_view flags, Conversation::Numbers numbers) {
  Conversation c = request();
  c.device(12, "PA", {1, 101, 50}).peer(22, "A", {101, 51});
  c.peer(100, "PA", {101, 51, 100}).device(100 + ms, flags, numbers);
  c.peer(2'000, "A", {201, numbers.seq + numbers.bytes});
  c.peer(2'100, "PA", {201, numbers.seq + numbers.bytes, 10});
  return c.device(2'100, "A", {numbers.seq + numbers.bytes, 211}).identify();
}

TEST(Recording, AnAckMayBeMissingBeforeWhatComesAnyway) {
  EXPECT_EQ(accused_of(answered(800, "A", {51, 201}).clocks()), "9293:MUST-40");
  EXPECT_EQ(accused_of(answered(800, "PA", {51, 201, 50}).clocks()), "");
  EXPECT_EQ(accused_of(answered(800, "A", {50, 201}).clocks()), "");  // a keep-alive
}

// The recorder lost the ACK and the peer's retransmission, which the ACK that it has answers: it
// echoes another timestamp. Without timestamps the ACK may also have waited in the device's queue.
TEST(Recording, AnAckAndWhatComesAgainWithoutItMayBeMissing) {
  Conversation c = answered(800, "A", {51, 201});
  EXPECT_EQ(accused_of(c), "");
  EXPECT_EQ(accused_of(c.clocks()), "9293:MUST-40");
  std::vector<std::byte>& options = c.packet(9).options;
  options.resize(options.size() - 4);
  tools::put_long(options, 1'850);
  EXPECT_EQ(accused_of(c), "");
}

// A D-SACK says that the data arrived twice, whatever else the capture shows.
TEST(Recording, AnAckThatReportsADuplicateAnswersTheDuplicate) {
  Conversation c = answered(800, "A", {51, 201}).clocks();
  EXPECT_EQ(accused_of(c), "9293:MUST-40");
  std::vector<std::byte>& options = c.packet(9).options;
  options.insert(options.end(), {std::byte{1}, std::byte{1}, std::byte{5}, std::byte{10}});
  tools::put_long(options, Conversation::peer_isn + 101);
  tools::put_long(options, Conversation::peer_isn + 201);
  EXPECT_EQ(accused_of(c), "2018:SACK-2");  // this conversation has no SACK-permitted
}

// The peer's recorder is 12 ms late: the peer's retransmission is recorded after the ACK that
// answers it.
TEST(Recording, AnAckMayAnswerWhatIsRecordedBehindIt) {
  for (bool const again : {false, true}) {
    Conversation c = request();
    c.device(12, "PA", {1, 101, 50}).peer(22, "A", {101, 51});
    c.peer(100, "PA", {101, 51, 100}).device(900, "A", {51, 201});
    if (again) {
      c.peer(912, "PA", {101, 51, 100});
    }
    c.peer(2'100, "PA", {201, 51, 10}).device(2'100, "A", {51, 211}).clocks();
    EXPECT_EQ(accused_of(c), again ? "" : "9293:MUST-40");
  }
}

/// The same with timestamps, according to which the answer was sent after `ticks` ms.
Conversation answered_by_clock(std::uint32_t ms, std::uint32_t ticks) {
  Conversation c;
  c.peer(0, "S", {0, 0}).stamp(100, 0).device(0, "SA", {0, 1}).stamp(1000, 100);
  c.peer(10, "A", {1, 1}).stamp(110, 1000).peer(50, "PA", {1, 1, 100}).stamp(150, 1000);
  c.device(60, "PA", {1, 101, 50}).stamp(1060, 150).peer(70, "A", {101, 51}).stamp(170, 1060);
  c.peer(100, "PA", {101, 51, 100}).stamp(200, 1060);
  c.device(100 + ms, "A", {51, 201}).stamp(1100 + ticks, 200);
  c.peer(2'000, "PA", {201, 51, 10}).stamp(2100 + ticks - ms, 1100 + ticks);
  return c.device(2'000, "A", {51, 211}).stamp(3000 + ticks - ms, 2100 + ticks - ms);
}

// The clock of the capture was set between a segment and its ACK; the timestamps show it.
TEST(Recording, AClockThatWasSetDelaysNoAck) {
  EXPECT_EQ(accused_of(answered_by_clock(800, 800)), "9293:MUST-40");
  EXPECT_EQ(accused_of(answered_by_clock(800, 100)), "");
  EXPECT_EQ(accused_of(answered_by_clock(1'500, 0)), "");
}

/// The device retransmits data that two ACKs cover. `known`: it has acknowledged the data that was
/// in the same segment as one of them.
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

/// The device retransmits data that the peer acknowledges in a segment. The capture lacks that
/// segment and has the peer's retransmission; or it has the segment `ms` late.
Conversation answered_before(std::uint64_t ms) {
  Conversation c = request();
  c.device(20, "PA", {1, 101, 300}).device(50, "A", {301, 201});
  if (ms != 0) {
    c.peer(50 + ms, "PA", {101, 301, 100});
  }
  c.device(1'200, "PA", {1, 201, 300}).peer(1'210, "PA", {101, 301, 100});
  return c.device(1'210, "A", {301, 201});
}

TEST(Recording, AnAckMayAnswerAMissingCopyOfALaterSegment) {
  EXPECT_EQ(accused_of(answered_before(0)), "");
  EXPECT_EQ(accused_of(answered_before(5)), "6298:RTO-11");
}

// The echoed timestamp is that of the missing ACK as well, so it does not show which one arrived.
TEST(Recording, TwoAcksMayHaveOneTimestamp) {
  for (std::uint32_t const later : {0u, 5u}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(100, 0).device(0, "SA", {0, 1}).stamp(900, 100);
    c.peer(10, "A", {1, 1}).stamp(110, 900).peer(11, "PA", {1, 1, 100}).stamp(111, 900);
    c.device(11, "A", {1, 101}).stamp(911, 111).device(12, "PA", {1, 101, 300}).stamp(912, 111);
    c.peer(22, "A", {101, 301}).stamp(122, 912);
    c.peer(27, "A", {101, 301}).stamp(122 + later, 912);
    c.device(230, "PA", {1, 101, 300}).stamp(1'130, 122 + later);
    c.peer(240, "A", {101, 301}).stamp(340, 1'130);
    EXPECT_EQ(accused_of(c), later == 0 ? "" : "6298:RTO-11") << verdict_of(c);
  }
}

TEST(Recording, SeveralAcksMayBeLostBehindTheCapture) {
  EXPECT_EQ(accused_of(sent_again(true)), "6298:RTO-11");
  EXPECT_EQ(accused_of(sent_again(false)), "") << verdict_of(sent_again(false));
}

// Of several ACKs the reset answers the one that arrived, or that arrived first.
TEST(Recording, AResetAnswersAnyAck) {
  for (std::uint32_t const number : {21u, 301u, 77u}) {
    Conversation c;
    c.handshake().device(12, "PA", {1, 1, 300}).device(13, "FA", {301, 1});
    c.peer(22, "A", {1, 21}).peer(23, "A", {1, 301}).peer(24, "A", {1, 302});
    c.device(24, "R", {number, 0});
    EXPECT_EQ(accused_of(c).find("LISTEN") != std::string::npos, false) << accused_of(c);
  }
}

// The ports are reused at once: a reset may answer a segment of the previous connection.
TEST(Recording, AResetMayAnswerTheConnectionBefore) {
  for (std::uint32_t const number : {0u - 2'000'000u, 5u}) {
    Conversation c;
    c.handshake().device(11, "R", {1, 0}).peer(20, "A", {1, 1}).device(20, "R", {number, 0});
    EXPECT_EQ(accused_of(c), number == 5 ? "9293:P-LISTEN-ACK" : "") << number;
  }
}

TEST(Recording, AResetMayAnswerWhatIsMissing) {
  for (bool const recorded : {true, false}) {
    Conversation c;
    c.handshake();
    if (recorded) {
      c.peer(80, "PA", {1, 1, 10});
    }
    c.device(80, "R", {202, 0});
    EXPECT_EQ(accused_of(c), recorded ? "9293:P-ABORT" : "") << recorded;
  }
}

// --- Reused ports ---

/// A second connection uses the same ports. The capture contains its SYN, its SYN-ACK, both or
/// neither, and may lack the peer's FIN of the first connection. The device then sends and receives
/// data.
Conversation used_again(bool has_syn, bool has_answer, bool ended) {
  constexpr std::uint32_t far = 5'000'000;
  Conversation c = request();
  c.peer(12, "PA", {101, 1, 50}).device(12, "A", {1, 151, 0, 60'000});
  c.device(13, "FA", {1, 151, 0, 60'000});
  if (ended) {
    c.peer(23, "FA", {151, 2}).device(23, "A", {2, 152, 0, 60'000});
  }
  if (has_syn) {
    c.peer(500, "S", {far, 0});
  }
  if (has_answer) {
    c.device(500, "SA", {far, far + 1});
  }
  c.peer(510, "A", {far + 1, far + 1}).peer(511, "PA", {far + 1, far + 1, 100});
  for (std::uint32_t i = 0; i < 6; ++i) {
    c.device(540 + 30 * i, "PA", {far + 1 + i * 10, far + 101, 10, 1'000});
    c.peer(550 + 30 * i, "PA", {far + 101 + i * 10, far + 11 + i * 10, 10});
  }
  return c;
}

TEST(Recording, TheHandshakeOfPortsUsedAgainMayBeMissing) {
  for (unsigned which = 0; which < 8; ++which) {
    Conversation const c = used_again((which & 1) != 0, (which & 2) != 0, (which & 4) != 0);
    EXPECT_EQ(accused_of(c), "") << which;
    Watch watch(c.flow().first, c.flow().second);
    for (const tools::Segment& segment : c.flow().segments) {
      watch.take(segment);
    }
    EXPECT_TRUE(watch.findings(c.device_side()).empty()) << which;
  }
}

// The peer's windows can only be interpreted with the scale that its SYN offered.
TEST(Recording, TheAnswerToTheSynMayBeMissing) {
  for (bool const recorded : {true, false}) {
    Conversation c;
    c.device(0, "S", {0, 0});
    if (recorded) {
      c.peer(10, "SA", {0, 1, 0, 64});
    }
    c.device(10, "A", {1, 1});
    for (std::uint32_t i = 0; i < 4; ++i) {
      c.device(11 + 100 * i, "PA", {1 + i * 100, 1, 100});
      c.peer(12 + 100 * i, "A", {1, 11 + i * 10, 0, 64});
      c.peer(70 + 100 * i, "A", {1, 11 + i * 10, 0, 64});
    }
    EXPECT_EQ(verdict_of(c).substr(0, 30),
              recorded ? "violates 9293:P-WND-FIT" : "cannot tell: missing handshake");
  }
}

// --- Windows ---

/// The window grows, and then three ACKs advertise the earlier, smaller one. By `stamp` they are
/// old ACKs, which were also recorded at the other end, or new ones.
Conversation older_windows(std::uint32_t stamp) {
  Conversation c;
  c.peer(0, "S", {0, 0}).stamp(100, 0).device(0, "SA", {0, 1}).stamp(1000, 100);
  c.peer(10, "A", {1, 1}).stamp(110, 1000);
  c.peer(11, "PA", {1, 1, 100}).stamp(111, 1000).device(11, "A", {1, 101, 0, 100}).stamp(1011, 111);
  c.device(20, "A", {1, 101, 0, 30'000}).stamp(1020, 111);
  for (std::uint64_t const ms : {60u, 90u, 120u}) {
    c.device(ms, "A", {1, 101, 0, 100}).stamp(stamp, 111);
  }
  return c;
}

TEST(Recording, AnOlderWindowMayBeRecordedLater) {
  EXPECT_EQ(accused_of(older_windows(1011)), "");
  EXPECT_EQ(accused_of(older_windows(1060)), "9293:SHLD-14");
}

// Linux closes its window completely when it has no memory left, and later opens a smaller one.
TEST(Recording, AWindowMayBeShutForWantOfMemory) {
  for (std::uint16_t const shut : {std::uint16_t{0}, std::uint16_t{1}}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).device(0, "SA", {0, 1}).peer(10, "A", {1, 1});
    c.peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101, 0, 30'000});
    for (std::uint32_t i = 0; i < 4; ++i) {
      c.peer(100 + 50 * i, "PA", {101 + 100 * i, 1, 100});
      c.device(100 + 50 * i, "A", {1, 201 + 100 * i, 0, shut});
    }
    for (std::uint32_t i = 4; i < 8; ++i) {
      c.peer(100 + 50 * i, "PA", {101 + 100 * i, 1, 100});
      c.device(100 + 50 * i, "A", {1, 201 + 100 * i, 0, 4'000});
    }
    EXPECT_EQ(accused_of(c).find("SHLD-14") == std::string::npos, shut == 0) << accused_of(c);
  }
}

// After the peer's FIN the window has no meaning: Linux advertises an old one in TIME-WAIT.
TEST(Recording, NoWindowMeansAnythingBehindTheFin) {
  for (bool const closed : {true, false}) {
    Conversation c = request();
    c.device(12, "FA", {1, 101, 0, 60'000});
    c.peer(22, closed ? "FA" : "PA", {101, 2, closed ? 0u : 1u});
    c.device(22, "A", {2, 102, 0, 60'000});
    for (std::uint64_t ms = 300; ms < 2'000; ms += 300) {
      if (closed) {
        c.peer(ms, "FA", {101, 2});
      } else {
        c.peer(ms, "PA", {102 + static_cast<std::uint32_t>(ms), 2, 300});
      }
      c.device(ms, "A", {2, closed ? 102u : 402u + static_cast<std::uint32_t>(ms), 0, 6'000});
    }
    EXPECT_EQ(accused_of(c).find("SHLD-14") != std::string::npos, !closed) << accused_of(c);
  }
}

// --- ACKs ---

// Without SACK each segment that is retransmitted after a timeout elicits an ACK, also after an ACK
// that jumps.
TEST(Recording, WhatWasSentAgainDrawsAcksBehindTheJump) {
  for (std::uint32_t const size : {88u, 1'000u}) {
    Conversation c;
    c.handshake().device(11, "PA", {1, 1, 10}).peer(21, "A", {1, 11});
    for (std::uint32_t i = 0; i < 40; ++i) {
      c.peer(30, "A", {1 + i * size, 11, size});
    }
    for (std::uint32_t i = 0; i < 40; ++i) {
      c.peer(300, "A", {1 + i * size, 11, size});
    }
    for (std::uint32_t i = 0; i < 40; ++i) {
      c.device(320, "A", {11, 1 + 40 * size});
    }
    EXPECT_EQ(accused_of(c).find("CC-28") == std::string::npos, true) << accused_of(c);
    for (std::uint32_t i = 0; i < 150; ++i) {
      c.device(330 + 10 * i, "A", {11, 1 + 40 * size});
    }
    EXPECT_NE(accused_of(c.identify()).find("CC-28"), std::string::npos) << accused_of(c);
  }
}

}  // namespace
}  // namespace lockstep::conformance
