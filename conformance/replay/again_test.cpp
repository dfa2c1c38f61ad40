// What is seen twice: SYNs of a later connection, probes, and retransmissions at once.
#include <gtest/gtest.h>

#include "conformance/replay/conversation.hpp"
#include "conformance/replay/replay.hpp"
#include "conformance/replay/report.hpp"
#include "conformance/replay/unaided.hpp"

namespace lockstep::conformance {
namespace {

Replayed replayed(const Conversation& conversation) {
  return replay_flow(conversation.flow(), conversation.device_side(), nullptr);
}

std::string verdict_of(const Conversation& conversation) {
  return verdict_text(replayed(conversation).verdict);
}

/// The clauses that the device of this capture violates.
std::string accused_of(const Conversation& conversation) {
  std::string out;
  for (const Violation& violation : replayed(conversation).verdict.violations) {
    out += (out.empty() ? "" : " ") + violation.clause;
  }
  return out;
}

// A late copy of the SYN takes nothing back: no packet is missing.
TEST(SeenAgain, ASynIsSeenAgainAfterData) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "PA", {1, 101, 100});
  c.peer(80, "S", {0, 0}).device(80, "A", {101, 101}).peer(90, "A", {101, 101});
  std::string const verdict = verdict_of(c);
  EXPECT_EQ(verdict.find("the capture lost packets"), std::string::npos) << verdict;
}

// A device without a clock has started again, with the same port and number: its SYN is no
// retransmission, and draws a challenge ACK, which it resets.
TEST(SeenAgain, ADeviceThatHasStartedAgainBeginsWithTheSameNumber) {
  Conversation c;
  c.device(0, "S", {0, 0}).peer(10, "SA", {0, 1}).device(10, "A", {1, 1});
  c.device(20, "PA", {1, 1, 50}).peer(30, "PA", {1, 51, 20}).device(30, "A", {51, 21});
  c.device(5'000, "S", {0, 0}).peer(5'010, "A", {21, 51}).device(5'010, "R", {51, 0});
  EXPECT_EQ(accused_of(c.identify()), "");
  EXPECT_EQ(verdict_of(c).find("lost packets"), std::string::npos) << verdict_of(c);
}

// A device that has started again uses its port again. The peer still has the old connection, and
// answers the SYN with an ACK of that one, which the device resets (RFC 9293, 3.5.1).
TEST(SeenAgain, AHalfOpenConnectionIsNoLoss) {
  for (std::uint32_t const old : {400'000'000u, 0u - 400'000'000u}) {
    Conversation c;
    c.device(0, "S", {0, 0}).peer(1, "A", {0, old}).device(1, "R", {old, 0});
    EXPECT_EQ(verdict_of(c).find("lost packets"), std::string::npos) << verdict_of(c);
    c.device(1'000, "S", {0, 0}).peer(1'001, "SA", {900'000, 1}).device(1'001, "A", {1, 900'001});
    c.device(1'010, "PA", {1, 900'001, 100}).peer(1'011, "A", {900'001, 101});
    EXPECT_EQ(verdict_of(c).find("lost packets"), std::string::npos) << verdict_of(c);
    c.peer(2'000, "A", {900'001, 301});
    EXPECT_NE(verdict_of(c).find("lost packets"), std::string::npos) << verdict_of(c);
  }
}

// The timestamp clock of the device starts at 0, which is also what a SYN has for an echo.
TEST(SeenAgain, ASynEchoesNothing) {
  for (std::uint32_t const clock : {0u, 1u}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(100, 0).device(0, "SA", {0, 1}).stamp(clock, 100);
    c.last().time = c.last().time + Duration::microseconds(30);
    Flow flow = c.peer(20, "A", {1, 1}).stamp(120, clock).flow();
    EXPECT_TRUE(normalise(flow).empty()) << clock;
    EXPECT_TRUE(flow.segments.front().source != c.device_side()) << clock;
  }
}

/// The peer closes its window of 2,000 octets several times; the device probes each time with so
/// many octets, which the peer does not take.
Conversation probed(std::uint32_t octets) {
  Conversation c;
  c.peer(0, "S", {0, 0, 0, 2000}).device(0, "SA", {0, 1}).peer(10, "A", {1, 1, 0, 2000});
  c.peer(11, "PA", {1, 1, 100, 2000}).device(11, "A", {1, 101});
  std::uint32_t next = 1;
  for (std::uint64_t ms = 100; ms < 10'000; ms += 2'000) {
    c.device(ms, "A", {next, 101, 1000}).device(ms, "PA", {next + 1000, 101, 1000});
    next += 2000;
    c.peer(ms + 10, "A", {101, next, 0, 0});
    c.device(ms + 1'010, "A", {next, 101, octets}).peer(ms + 1'040, "A", {101, next, 0, 0});
    c.peer(ms + 1'500, "A", {101, next, 0, 2000});
  }
  return c;
}

TEST(SeenAgain, AClosedWindowMayBeProbedWithASegment) {
  EXPECT_EQ(accused_of(probed(1)), "");
  EXPECT_EQ(accused_of(probed(500)), "");
}

// A timer that counts in the wrong unit expires long before a round trip. That the application
// wrote the data just before is no cause. But a super-segment and its pieces may both be recorded.
TEST(SeenAgain, ATimerMayExpireAtOnce) {
  for (std::uint64_t const ms : {10u, 0u}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).device(0, "SA", {0, 1}).peer(100, "A", {1, 1});
    c.peer(101, "PA", {1, 1, 10}).device(101, "PA", {1, 11, 100}).peer(201, "A", {11, 101});
    for (std::uint64_t at = 300; at < 900; at += 200) {
      std::uint32_t const next = static_cast<std::uint32_t>(101 + (at - 300) / 2);
      c.device(at, "PA", {next, 11, 100}).device(at + ms, "PA", {next, 11, 100});
      c.peer(at + 100, "A", {11, next + 100});
    }
    c.device(1'000, "FA", {401, 11}).peer(1'100, "FA", {11, 402}).device(1'100, "A", {402, 12});
    EXPECT_EQ(accused_of(c.clocks()), ms == 10 ? "6298:RTO-9" : "");
  }
}

// A queue between two interfaces delays the second record of a packet: its timestamp shows that it
// is the same. A later timestamp, or another identification, is that of a retransmission.
TEST(SeenAgain, APacketIsRecordedAgainBehindAQueue) {
  enum class Second { same, stamped, identified };
  for (Second const second : {Second::same, Second::stamped, Second::identified}) {
    bool const piece = second == Second::same;
    Conversation c;
    std::vector<std::uint64_t> again;
    std::uint32_t const bytes = piece ? 50 : 100;  // of a super-segment
    c.peer(0, "S", {0, 0}).device(0, "SA", {0, 1}).peer(100, "A", {1, 1});
    c.peer(101, "PA", {1, 1, 10}).device(101, "PA", {1, 11, 100}).peer(201, "A", {11, 101});
    for (std::uint64_t at = 300; at < 900; at += 200) {
      std::uint32_t const next = static_cast<std::uint32_t>(101 + (at - 300) / 2);
      c.device(at, "PA", {next, 11, 100}).device(at + 15, "PA", {next, 11, bytes});
      again.push_back(c.flow().segments.size());
      c.peer(at + 100, "A", {11, next + 100});
    }
    c.device(1'000, "FA", {401, 11}).peer(1'100, "FA", {11, 402}).device(1'100, "A", {402, 12});
    c.clocks().identify();
    for (std::uint64_t const number : again) {
      if (second != Second::stamped) {
        c.packet(number).options = c.packet(number - 1).options;
      }
      if (second != Second::identified) {
        c.packet(number).identification = c.packet(number - 1).identification;
      } else {
        c.packet(number).identification = static_cast<std::uint16_t>(900 + number);
      }
    }
    EXPECT_EQ(accused_of(c), piece ? "" : "6298:RTO-9");
  }
}

// The two directions were recorded by clocks that differ: what the device sends stands long before
// the windows that let it go.
TEST(SeenAgain, ClocksOfTwoDirectionsDiffer) {
  for (std::uint64_t const apart : {0u, 12u, 25u, 300u}) {
    Conversation c;
    c.device(0, "S", {0, 0, 0, 4'000}).device(10, "A", {1, 1});
    std::uint64_t const at = 9 + apart;
    for (std::uint32_t i = 0; i < 12; ++i) {
      c.device(11 + 10 * i, "PA", {1 + 1'000 * i, 1, 1'000});
    }
    c.peer(at, "SA", {0, 1, 0, 1'000});
    for (std::uint32_t i = 0; i < 12; ++i) {
      c.peer(at + 10 * (i + 1), "A", {1, 1'001 + 1'000 * i, 0, 1'000});
    }
    EXPECT_EQ(accused_of(c), "") << apart;
    bool const told = verdict_of(c).find("clocks of the two directions") != std::string::npos;
    EXPECT_EQ(told, apart > 6) << apart << verdict_of(c);
  }
}

// The device may answer an earlier SYN, which permitted SACK: the capture may have begun after it.
TEST(SeenAgain, ASynAckMayAnswerAnEarlierSynWithMoreOptions) {
  for (bool const early : {false, true}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).device(0, "SA", {0, 1});
    c.last().options.insert(c.last().options.end(), {std::byte{4}, std::byte{2}});
    c.peer(10, "A", {1, 1}).peer(50, "PA", {201, 1, 100}).device(50, "A", {1, 1});
    std::vector<std::byte>& options = c.last().options;
    options = {std::byte{1}, std::byte{1}, std::byte{5}, std::byte{10}};
    tools::put_long(options, Conversation::peer_isn + 201);
    tools::put_long(options, Conversation::peer_isn + 301);
    c.peer(100, "PA", {1, 1, 200}).device(100, "A", {1, 301});
    if (early) {
      c.recorded_early();
    }
    EXPECT_EQ(accused_of(c), early ? "2018:SACK-2" : "");
  }
}

// RFC 2018 lets each side say that it can process blocks, whatever the other one can. The device
// sends none.
TEST(SeenAgain, ASynAckMayPermitWhatTheSynDoesNot) {
  Conversation c;
  c.peer(0, "S", {0, 0}).device(0, "SA", {0, 1});
  c.last().options.insert(c.last().options.end(), {std::byte{4}, std::byte{2}});
  c.peer(10, "A", {1, 1}).peer(50, "PA", {1, 1, 100}).device(50, "A", {1, 101}).recorded_early();
  EXPECT_EQ(accused_of(c), "");
}

// That SYN was not captured, but its answer was.
TEST(SeenAgain, ASynAckAnswersASynThatWasNotCaptured) {
  for (bool const answered : {false, true}) {
    Conversation c;
    if (answered) {
      c.device(0, "SA", {0, 1});
      c.last().options.insert(c.last().options.end(), {std::byte{3}, std::byte{3}, std::byte{0}});
    }
    c.peer(3'000, "S", {0, 0}).device(3'000, "SA", {0, 1});
    c.last().options.insert(c.last().options.end(), {std::byte{3}, std::byte{3}, std::byte{0}});
    c.peer(3'010, "A", {1, 1}).peer(3'050, "PA", {1, 1, 100}).device(3'050, "A", {1, 101});
    c.recorded_early();
    EXPECT_EQ(accused_of(c), answered ? "" : "7323:TS-33");
  }
}

// One bit of a segment was damaged on its way past the recorder, and the segment is sent again.
TEST(SeenAgain, ADamagedSegmentHasNoFin) {
  for (bool const damaged : {false, true}) {
    Conversation c;
    c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "PA", {1, 101, 100});
    c.peer(21, "A", {101, 101}).device(50, "FPA", {101, 101, 100});
    c.last().sum = damaged ? tools::SumState::bad : tools::SumState::good;
    c.device(1'050, "PA", {101, 101, 100}).peer(1'060, "A", {101, 201});
    c.device(1'100, "PA", {201, 101, 100}).peer(1'110, "A", {101, 301});
    c.device(1'200, "FA", {301, 101}).peer(1'210, "FA", {101, 302}).device(1'210, "A", {302, 102});
    EXPECT_EQ(accused_of(c), damaged ? "" : "9293:P-CLOSE-QUEUED");
  }
}

// The device's window is closed: it answers a probe, with an echo of its timestamp, and drops it
// with its ACK field, so its timer goes on. A device that takes the octet takes the ACK, too.
TEST(SeenAgain, AnAckThatArrivesInAProbeOfAClosedWindow) {
  for (bool const closed : {true, false}) {
    std::uint16_t const window = closed ? 0 : 1'024;
    std::uint32_t const next = closed ? 1'025 : 1'026;
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(5'000, 0).device(0, "SA", {0, 1, 0, 1'024}).stamp(700, 5'000);
    c.peer(100, "A", {1, 1}).stamp(5'103, 700).peer(100, "A", {1, 1, 512}).stamp(5'104, 700);
    c.device(100, "PA", {1, 513, 200, 512}).stamp(800, 5'104);
    c.peer(100, "PA", {513, 1, 512}).stamp(5'104, 700);
    c.device(110, "A", {201, 1'025, 0, window}).stamp(810, 5'104);
    c.peer(260, "PA", {1'025, 201, 1}).stamp(5'267, 810);
    c.device(260, "A", {201, next, 0, window}).stamp(960, 5'267);
    c.peer(460, "PA", {1'025, 201, 1}).stamp(5'469, 960);
    c.device(460, "A", {201, next, 0, window}).stamp(1'160, closed ? 5'469 : 5'267);
    c.device(1'100, "PA", {1, next, 200, window}).stamp(1'800, closed ? 5'469 : 5'267);
    c.peer(1'600, "A", {next, 201}).stamp(6'608, 1'800);
    EXPECT_EQ(accused_of(c), closed ? "" : "6298:RTO-11");
  }
}

}  // namespace
}  // namespace lockstep::conformance
