// Where and when a capture was taken decides what it can show: before its beginning, beyond a
// queue, or in front of a middlebox others may explain what a device seems to do.
#include <gtest/gtest.h>

#include "conformance/replay/conversation.hpp"
#include "conformance/replay/replay.hpp"
#include "conformance/replay/report.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {
namespace {

/// The clauses that the device of this capture violates.
std::string accused_of(const Conversation& conversation) {
  std::string out;
  Replayed const result = replay_flow(conversation.flow(), conversation.device_side(), nullptr);
  for (const Violation& violation : result.verdict.violations) {
    out += (out.empty() ? "" : " ") + violation.clause;
  }
  return out;
}

/// Whether the first part of the connection, with its SYNs, is in the capture.
enum class Beginning : std::uint8_t { missing, captured };

Conversation begun(Beginning beginning, std::initializer_list<std::uint8_t> option) {
  Conversation c;
  if (beginning == Beginning::captured) {
    c.peer(0, "S", {0, 0});
    for (std::uint8_t const octet : option) {
      c.last().options.push_back(std::byte{octet});
    }
    c.device(0, "SA", {0, 1});
    for (std::uint8_t const octet : option) {
      c.last().options.push_back(std::byte{octet});
    }
    c.peer(10, "A", {1, 1});
  }
  return c;
}

// The duplicate ACKs answer segments that passed before the capture began; only the last of them is
// in it. Many seconds later no ACK answers those any more.
TEST(CapturePoint, WhatPassedBeforeTheBeginningDrawsAcks) {
  for (std::uint64_t const ms : {100u, 20'000u}) {
    for (Beginning const beginning : {Beginning::missing, Beginning::captured}) {
      Conversation c = begun(beginning, {});
      c.peer(20, "A", {50'001, 1, 1'000});
      for (std::uint32_t i = 0; i < 260; ++i) {
        c.device(ms + 5 * i, "A", {1, 1});
      }
      bool const sure = beginning == Beginning::captured || ms > 10'000;
      EXPECT_EQ(accused_of(c.identify()), sure ? "5681:CC-28" : "") << ms;
    }
  }
}

// The capture begins within a recovery: the blocks are of data that had arrived before.
TEST(CapturePoint, WhatPassedBeforeTheBeginningIsReported) {
  for (Beginning const beginning : {Beginning::missing, Beginning::captured}) {
    Conversation c = begun(beginning, {4, 2, 1, 1});
    c.device(19, "A", {1, 1}).peer(20, "A", {1, 1, 500}).device(20, "A", {1, 501});
    std::vector<std::byte>& options = c.last().options;
    options = {std::byte{1}, std::byte{1}, std::byte{5}, std::byte{10}};
    tools::put_long(options, Conversation::peer_isn + 1'001);
    tools::put_long(options, Conversation::peer_isn + 2'001);
    c.peer(90, "A", {501, 1, 500}).device(90, "A", {1, 1'001});
    c.peer(100, "A", {1'001, 1, 1'000}).device(100, "A", {1, 2'001});
    EXPECT_EQ(accused_of(c.identify()), beginning == Beginning::captured ? "2018:SACK-14" : "");
  }
}

// A web filter answers in the server's name, and the far server answers as well. Only the hop limit
// tells the two apart.
TEST(CapturePoint, AFilterAnswersInTheDevicesName) {
  for (std::uint8_t const hop_limit : {std::uint8_t{52}, std::uint8_t{61}}) {
    Conversation c;
    auto const device = [&c](std::uint64_t ms, std::string_view flags,
                             Conversation::Numbers numbers) {
      c.device(ms, flags, numbers).last().hop_limit = 52;
    };
    c.peer(0, "S", {0, 0});
    device(50, "SA", {0, 1});
    c.peer(54, "A", {1, 1}).peer(55, "PA", {1, 1, 41});
    device(55, "FPA", {1, 42, 70});
    c.last().hop_limit = hop_limit;
    c.last().time = c.last().time + Duration::microseconds(400);
    c.peer(59, "A", {42, 72}).peer(60, "FA", {42, 72});
    device(105, "A", {1, 42, 1'400});
    for (std::byte& octet : c.last().payload) {
      octet ^= std::byte{1};
    }
    c.peer(106, "R", {42, 0});
    EXPECT_EQ(accused_of(c).empty(), hop_limit == 61) << accused_of(c);
  }
}

// A web filter injects a packet in the device's name, whose window is larger than the device's own.
TEST(CapturePoint, AFilterOffersAWindowInTheDevicesName) {
  for (std::uint8_t const hop_limit : {std::uint8_t{52}, std::uint8_t{61}}) {
    Conversation c;
    auto const device = [&c](std::uint64_t ms, std::string_view flags,
                             Conversation::Numbers numbers) {
      c.device(ms, flags, numbers).last().hop_limit = 52;
    };
    c.peer(0, "S", {0, 0});
    device(40, "SA", {0, 1, 0, 20'000});
    c.peer(41, "A", {1, 1}).peer(42, "PA", {1, 1, 100});
    device(45, "PA", {1, 101, 70, 65'535});
    c.last().hop_limit = hop_limit;
    c.peer(46, "A", {101, 71});
    for (std::uint32_t i = 0; i < 6; ++i) {
      device(82 + 10 * i, "PA", {71 + 500 * i, 101, 500, 20'000});
      c.peer(83 + 10 * i, "A", {101, 571 + 500 * i});
    }
    EXPECT_EQ(accused_of(c), hop_limit == 52 ? "9293:SHLD-14" : "");
  }
}

// A capture of all interfaces of a router that lowers the MSS: each packet is there before and
// behind the router, and the SYN-ACKs differ. The device takes back a part of its window.
TEST(CapturePoint, ARouterChangesTheSyn) {
  for (std::uint8_t const hop_limit : {std::uint8_t{63}, std::uint8_t{57}}) {
    Conversation c;
    auto const device = [&c, hop_limit](std::uint64_t ms, std::string_view flags,
                                        Conversation::Numbers numbers) {
      for (std::uint64_t const us : {0u, 20u}) {
        c.device(ms, flags, numbers).last().hop_limit = us == 0 ? 64 : hop_limit;
        c.last().time = c.last().time + Duration::microseconds(us);
        c.last().identification = static_cast<std::uint16_t>(100 + ms);
      }
    };
    c.peer(0, "S", {0, 0});
    device(40, "SA", {0, 1});
    c.last().options[3] = std::byte{0x84};
    c.peer(41, "A", {1, 1}).peer(42, "PA", {1, 1, 100});
    device(82, "A", {1, 101});
    for (std::uint32_t i = 0; i < 6; ++i) {
      device(90 + 10 * i, "PA", {1 + 500 * i, 101, 500, 20'000});
      c.peer(91 + 10 * i, "A", {101, 501 + 500 * i});
    }
    EXPECT_EQ(accused_of(c), hop_limit == 63 ? "9293:SHLD-14" : "");
  }
}

/// How a device that is in the middle of a connection comes to be reset.
struct Resets {
  std::uint8_t hop_limit = 63;
  std::vector<std::uint32_t> numbers;
};

Conversation reset_at_the_border(const Resets& resets) {
  Conversation c;
  auto const device = [&c](std::uint64_t ms, std::string_view flags,
                           Conversation::Numbers numbers) {
    c.device(ms, flags, numbers).last().hop_limit = 63;
    c.last().time = c.last().time + Duration::microseconds(300);
  };
  c.peer(0, "S", {0, 0});
  device(0, "SA", {0, 1});
  c.peer(40, "A", {1, 1}).peer(41, "PA", {1, 1, 100});
  device(41, "PA", {1, 101, 900});
  c.peer(81, "A", {101, 901}).peer(180, "PA", {101, 901, 100});
  for (std::uint32_t const number : resets.numbers) {
    device(180, "R", {number, 0});
    c.last().hop_limit = resets.hop_limit;
  }
  return c;
}

// An intrusion prevention system resets a connection in the device's name, with numbers that it
// guesses. Its packets have another hop limit, or it sends several for one packet.
TEST(CapturePoint, AFilterResetsInTheDevicesName) {
  EXPECT_EQ(accused_of(reset_at_the_border({63, {13'404}})), "9293:P-ABORT");
  EXPECT_EQ(accused_of(reset_at_the_border({255, {13'404}})), "");
  EXPECT_EQ(accused_of(reset_at_the_border({63, {901, 2'361}})), "");
  EXPECT_EQ(accused_of(reset_at_the_border({63, {2'361, 5'281}})), "");
}

// The device has ended the connection and answers each ACK with a reset. The recorder lost one of
// the ACKs, which acknowledges a part of a segment that the NIC split.
TEST(CapturePoint, AResetAnswersAnAckWithinASuperSegment) {
  for (std::uint32_t const size : {1'400u, 14'600u}) {
    Conversation c;
    c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101, size});
    c.peer(21, "PA", {101, 1, 80}).device(21, "A", {1 + size, 181});
    c.device(22, "RA", {1 + size, 181}).peer(23, "A", {181, size > 1'400 ? 2'921u : 1u});
    c.device(23, "R", {size > 1'400 ? 5'841u : 801u, 0});
    EXPECT_EQ(accused_of(c) == "", size > 1'400) << accused_of(c);
  }
}

// An access point buffers packets for a station that sleeps. It is `us` away from the station.
TEST(CapturePoint, AStationThatSleepsAcknowledgesLate) {
  for (std::uint64_t const us : {40u, 300u}) {
    Conversation c;
    auto const reply = [&c, us](std::uint64_t ms, std::string_view flags,
                                Conversation::Numbers numbers) {
      c.device(ms, flags, numbers);
      c.last().time = c.last().time + Duration::microseconds(us);
    };
    c.peer(0, "S", {0, 0});
    reply(0, "SA", {0, 1});
    c.peer(20, "A", {1, 1}).peer(21, "PA", {1, 1, 100});
    reply(21, "A", {1, 101});
    c.peer(1'000, "PA", {101, 1, 100});
    reply(1'700, "A", {1, 201});
    c.peer(1'800, "PA", {201, 1, 100});
    reply(1'800, "A", {1, 301});
    EXPECT_EQ(accused_of(c.clocks()), us == 40 ? "9293:MUST-40" : "");
  }
}

/// The device sends 2,000 octets beyond the last window that was captured, twice, and echoes an ACK
/// that is not in the capture. Then ACKs arrive that offer less, with timestamps from `stamp` on.
Conversation released(std::uint32_t stamp) {
  Conversation c;
  c.peer(0, "S", {0, 0, 0, 2'000}).stamp(100, 0).device(0, "SA", {0, 1}).stamp(900, 100);
  c.peer(80, "A", {1, 1, 0, 2'000}).stamp(180, 900);
  c.peer(81, "PA", {1, 1, 100, 2'000}).stamp(181, 900);
  c.device(81, "A", {1, 101, 1'000}).stamp(981, 181);
  c.device(81, "PA", {1'001, 101, 1'000}).stamp(981, 181);
  c.device(162, "PA", {2'001, 101, 1'000}).stamp(1'062, 262);
  c.peer(163, "A", {101, 1, 0, 2'000}).stamp(250, 981);
  c.device(164, "PA", {3'001, 101, 1'000}).stamp(1'064, 262);
  for (std::uint32_t i = 0; i < 4; ++i) {
    c.peer(200 + 20 * i, "A", {101, 1'001, 0, 2'000}).stamp(stamp + i, 981);
  }
  return c.peer(400, "A", {101, 4'001, 0, 2'000}).stamp(500, 1'064);
}

// Old ACKs that were overtaken show nothing about the window that a missing ACK offered.
TEST(CapturePoint, AcksThatWereOvertakenOfferLess) {
  EXPECT_EQ(accused_of(released(252)), "");
  EXPECT_EQ(accused_of(released(292)), "9293:P-WND-FIT");
}

// The clock of the capture was set forward by five seconds between two transmissions, which are
// `ticks` ms apart.
TEST(CapturePoint, AClockThatWasSetIsNoTimeout) {
  for (std::uint32_t const ticks : {1u, 5'000u}) {
    Conversation c;
    c.device(0, "S", {0, 0}).stamp(1'000, 0).peer(600, "SA", {0, 1}).stamp(500, 1'000);
    c.device(600, "A", {1, 1}).stamp(1'600, 500).device(601, "PA", {1, 1, 100}).stamp(1'601, 500);
    c.peer(1'201, "A", {1, 101}).stamp(1'101, 1'601);
    for (std::uint32_t const after : {0u, 5'000u}) {
      std::uint32_t const stamp = 2'300 + (after == 0 ? 0 : ticks);
      c.device(1'300 + after, "A", {101, 1, 1'400}).stamp(stamp, 1'101);
      c.device(1'300 + after, "PA", {1'501, 1, 1'400}).stamp(stamp, 1'101);
    }
    c.peer(6'900, "A", {1, 2'901}).stamp(1'701 + ticks, 2'300 + ticks);
    EXPECT_EQ(accused_of(c), ticks == 1 ? "" : "5681:CC-12");
  }
}

/// What the device sends while its data is not acknowledged.
enum class Meanwhile : std::uint8_t { nothing, acks };

/// The device's data is not acknowledged for 12 seconds, and it retransmits nothing. The peer sends
/// data every 800 ms. The device is `us` away from the capture point.
Conversation unacknowledged(std::uint64_t us, Meanwhile meanwhile) {
  Conversation c;
  auto const reply = [&c, us](std::uint32_t ms, std::string_view flags,
                              Conversation::Numbers numbers, std::uint32_t echo) {
    c.device(ms, flags, numbers).stamp(1'000 + ms, echo);
    c.last().time = c.last().time + Duration::microseconds(us);
  };
  c.peer(0, "S", {0, 0}).stamp(500, 0);
  reply(0, "SA", {0, 1}, 500);
  c.peer(40, "A", {1, 1}).stamp(540, 1'000).peer(41, "PA", {1, 1, 100}).stamp(541, 1'000);
  reply(41, "A", {1, 101}, 541);
  reply(50, "PA", {1, 101, 100}, 541);
  std::uint32_t end = 101;
  for (std::uint32_t ms = 800; ms <= 12'000; ms += 800) {
    c.peer(ms, "PA", {end, 1, 10}).stamp(500 + ms, 1'041);
    if (meanwhile == Meanwhile::acks || ms == 12'000) {
      end += 10;
      reply(ms, "A", {101, end}, 500 + ms);
    }
  }
  c.peer(12'100, "A", {end, 101}).stamp(12'600, 1'050);
  return c;
}

// A wireless link that fails for some seconds hides the retransmissions, but everything else too.
// So does a firewall of the device, or a neighbour that ARP does not find.
TEST(CapturePoint, ALinkThatFailsHidesRetransmissions) {
  EXPECT_EQ(accused_of(unacknowledged(40, Meanwhile::nothing)), "");
  EXPECT_EQ(accused_of(unacknowledged(40, Meanwhile::acks)), "9293:P-RTO");
  EXPECT_EQ(accused_of(unacknowledged(300, Meanwhile::nothing)), "");
  EXPECT_EQ(accused_of(unacknowledged(300, Meanwhile::acks)), "9293:P-RTO");
}

// The first transmission waited for the link, or in the device's own queue, and the second did not.
TEST(CapturePoint, ALinkThatStallsDelaysTheFirstTransmission) {
  for (bool const clocks : {false, true}) {
    Conversation c;
    auto const reply = [&c](std::uint64_t ms, std::string_view flags,
                            Conversation::Numbers numbers) {
      c.device(ms, flags, numbers);
      c.last().time = c.last().time + Duration::microseconds(40);
    };
    c.peer(0, "S", {0, 0});
    reply(0, "SA", {0, 1});
    c.peer(80, "A", {1, 1}).peer(81, "PA", {1, 1, 100});
    reply(81, "PA", {1, 101, 100});
    c.peer(161, "A", {101, 101});
    reply(300, "PA", {101, 101, 100});
    reply(345, "PA", {101, 101, 100});
    c.peer(425, "A", {101, 201});
    EXPECT_EQ(accused_of(clocks ? c.clocks() : c), clocks ? "6298:RTO-9" : "");
  }
}

// The device's timer may be shorter than ours, as data centres configure it. But no timer expires
// before an ACK can have come back.
TEST(CapturePoint, ATimerMayBeShorterThanOurs) {
  for (std::uint64_t const ms : {35u, 60u}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).device(0, "SA", {0, 1}).peer(40, "A", {1, 1}).peer(41, "PA", {1, 1, 10});
    c.device(41, "PA", {1, 11, 100}).peer(81, "A", {11, 101});
    c.device(100, "PA", {101, 11, 100}).device(100 + ms, "PA", {101, 11, 100});
    c.peer(140 + ms, "A", {11, 201}).device(200, "FA", {201, 11}).peer(240, "FA", {11, 202});
    EXPECT_EQ(accused_of(c.device(240, "A", {202, 12}).clocks()), ms == 35 ? "6298:RTO-9" : "");
  }
}

/// A capture inside and outside of a firewall beside the device, which moves the device's sequence
/// numbers by `moved`. The SYN inside of it seems to begin another connection.
Conversation renumbered(std::uint32_t moved) {
  Conversation c;
  auto const both = [&c, moved] {
    tools::Segment again = c.last();
    bool const ours = again.source == c.device_side();
    (ours ? again.sequence : c.last().acknowledgment) += moved;
    again.time = again.time + Duration::microseconds(10);
    again.number = c.peer(0, "A", {}).last().number;
    c.last() = again;
  };
  c.device(0, "S", {0, 0}).last().sequence += moved;
  c.peer(40, "SA", {0, 1});
  both();
  c.device(41, "A", {1, 1});
  both();
  for (std::uint32_t i = 0; i < 4; ++i) {
    c.device(400 * i + 50, "PA", {1 + 100 * i, 1 + 10 * i, 100});
    both();
    c.peer(400 * i + 90, "PA", {1 + 10 * i, 101 + 100 * i, 10});
    both();
    c.device(400 * i + 91, "A", {101 + 100 * i, 11 + 10 * i});
    both();
  }
  return c.clocks();
}

// The numbers of one side of the firewall seem to lie before those of the other.
TEST(CapturePoint, AFirewallMovesTheSequenceNumbers) {
  for (std::uint32_t const moved : {100'000'000u, 1'000'000'000u, 2'000'000'000u, 4'000'000'000u}) {
    EXPECT_EQ(accused_of(renumbered(moved)), "") << moved;
  }
}

/// A packet of the peer is damaged on the way to the device, behind the capture point or before.
/// `sum`: what the capture shows of its checksum.
Conversation damaged(tools::SumState sum) {
  Conversation c;
  c.peer(0, "S", {0, 0}).stamp(100, 0).device(0, "SA", {0, 1}).stamp(900, 100);
  c.peer(40, "A", {1, 1}).stamp(140, 900);
  for (std::uint32_t i = 0; i < 8; ++i) {
    std::uint32_t const stamp = 150 + 50 * i;
    c.peer(50 + 50 * i, "PA", {1 + 100 * i, 1, 100}).stamp(stamp, 900);
    c.device(50 + 50 * i, "A", {1, 101 + 100 * i, 0, 20'000});
    c.stamp(950 + 50 * i, i == 2 ? stamp + 4'096 : stamp);
    c.last().window = i == 2 ? 52'768 : 20'000;
    if (i == 2) {
      c.last().sum = sum;
    }
  }
  return c;
}

// Octets may have changed on the way. What a single packet says counts only if its checksum shows
// that they have not.
TEST(CapturePoint, APacketMayHaveBeenDamaged) {
  EXPECT_EQ(accused_of(damaged(tools::SumState::good)), "7323:TS-15 9293:SHLD-14");
  EXPECT_EQ(accused_of(damaged(tools::SumState::bad)), "");
  EXPECT_EQ(accused_of(damaged(tools::SumState::unverifiable)), "");
}

// The same, where the data of all packets was edited after the capture.
TEST(CapturePoint, AnEditedCaptureIsWatched) {
  Conversation c;
  c.peer(0, "S", {0, 0}).stamp(1'000, 0).device(0, "SA", {0, 1}).stamp(900, 1'000);
  c.peer(10, "A", {1, 1}).stamp(1'010, 900);
  for (std::uint32_t i = 0; i < 6; ++i) {
    std::uint32_t const stamp = 1'020 + 10 * i;
    c.peer(20 + 10 * i, "PA", {1 + 100 * i, 1 + 10 * i, 100}).stamp(stamp, 910 + 10 * i);
    c.last().sum = tools::SumState::bad;
    c.device(20 + 10 * i, "PA", {1 + 10 * i, 101 + 100 * i, 10});
    c.stamp(920 + 10 * i, i == 4 ? 900 : stamp).last().sum = tools::SumState::bad;
  }
  c.peer(90, "A", {601, 61}).stamp(1'090, 970);
  EXPECT_EQ(accused_of(c), "7323:TS-15");
}

// The acknowledgment number of a damaged packet does not show that another damaged one arrived.
TEST(CapturePoint, ADamagedPacketAcknowledgesNothing) {
  for (tools::SumState const sum : {tools::SumState::good, tools::SumState::bad}) {
    Conversation c;
    c.handshake().device(11, "PA", {1, 1, 100}).peer(21, "PA", {1, 101, 100});
    c.device(22, "PA", {101, 101, 100}).last().sum = tools::SumState::bad;
    c.peer(40, "A", {101, 601}).last().sum = sum;
    c.device(250, "PA", {101, 101, 100}).peer(260, "A", {101, 201});
    Flow flow = c.flow();
    static_cast<void>(normalise(flow));
    EXPECT_EQ(flow.segments[5].sum == tools::SumState::bad, sum == tools::SumState::bad);
  }
}

/// The device sends `bytes` octets. 78 ms later the peer's small segment arrives, which an ACK that
/// offers `window` octets acknowledges after 640 ms. The device offered 10,000 before.
Conversation late_offer(std::uint16_t window, std::uint32_t bytes = 10) {
  std::uint32_t const end = 1 + bytes;
  Conversation c;
  c.handshake().device(12, "PA", {1, 1, bytes, 10'000}).peer(22, "A", {1, end});
  c.peer(100, "PA", {1, end, 100}).device(740, "A", {end, 101, 0, window});
  c.peer(1'500, "PA", {101, end, 10}).device(1'500, "A", {end, 111, 0, window});
  return c.identify().clocks();
}

// The recorder lost the ACK, and what is recorded is a window update. Identifications skip as many
// numbers as the NIC makes packets of one segment.
TEST(CapturePoint, AWindowUpdateComesAtAnyTime) {
  EXPECT_EQ(accused_of(late_offer(10'000)), "9293:MUST-40");
  EXPECT_EQ(accused_of(late_offer(20'000)), "");
  for (std::uint32_t const bytes : {10u, 2'800u}) {
    Conversation c = late_offer(10'000, bytes);
    for (std::uint64_t const number : {7u, 9u}) {
      ++c.packet(number).identification;
    }
    EXPECT_EQ(accused_of(c), bytes == 10 ? "" : "9293:MUST-40");
  }
}

// A NAT has given the port to another client, whose SYN the recorder lost. The SYN-ACK acknowledges
// that.
TEST(CapturePoint, ASynAckAnswersASynThatIsMissing) {
  for (std::uint32_t const answered : {1u, 55'001u}) {
    Conversation c;
    c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101});
    c.peer(20, "FA", {101, 1}).device(20, "A", {1, 102});
    c.device(30'000, "SA", {900'000, answered}).stamp(5'000, answered == 1 ? 0 : 700);
    c.peer(30'010, "A", {answered, 900'001}).stamp(710, 5'000);
    c.peer(30'011, "PA", {answered, 900'001, 100}).stamp(711, 5'000);
    c.device(30'011, "A", {900'001, answered + 100}).stamp(5'011, 711).recorded_early();
    EXPECT_EQ(accused_of(c) == "", answered != 1) << accused_of(c);
  }
}

// The device is 20 ms away. The recorder lost data of the peer and has its retransmission, shortly
// after the ACK of the data, whose echo is of an earlier packet.
TEST(CapturePoint, ARetransmissionAfterItsAckIsNotFromNearby) {
  for (std::uint32_t const echo : {41u, 140u}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(1, 0).device(20, "SA", {0, 1}).stamp(900, 1);
    c.peer(21, "A", {1, 1}).stamp(22, 900).peer(40, "PA", {1, 1, 100}).stamp(41, 900);
    c.device(60, "A", {1, 101}).stamp(940, 41).device(130, "A", {1, 201}).stamp(1'010, echo);
    c.peer(139, "PA", {101, 1, 100})
        .stamp(140, 940)
        .peer(300, "PA", {201, 1, 100})
        .stamp(301, 1'010);
    c.device(320, "A", {1, 301}).stamp(1'200, 301);
    Replayed const result = replay_flow(c.flow(), c.device_side(), nullptr);
    EXPECT_EQ(result.script.distance >= Duration::milliseconds(20), echo == 41) << echo;
  }
}

// The same, where the SYN-ACK is missing as well, and the earlier connection has ended.
TEST(CapturePoint, AConnectionWithoutItsSynsHasOptionsOfItsOwn) {
  for (std::string_view const end : {"A", "FA", "R"}) {
    Conversation c;
    c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101}).peer(20, end, {101, 1});
    c.peer(30'000, "A", {50'001, 60'001}).stamp(5'000, 700);
    c.device(30'001, "A", {60'001, 50'001}).stamp(710, 5'000);
    EXPECT_EQ(accused_of(c).find("TS-39") == std::string::npos, end != "A") << accused_of(c);
  }
}

/// What the device's IPv4 packets have for an identification.
enum class Numbered : std::uint8_t { each, alike, none };

// A loop in the network carries one ACK past the capture point many times. Without an
// identification or a timestamp only the time for which it lasts shows whether it is the same one.
TEST(CapturePoint, ALoopRepeatsAPacket) {
  for (Numbered const numbered : {Numbered::each, Numbered::alike, Numbered::none}) {
    for (std::uint32_t const ms : {10u, 20u}) {
      Conversation c;
      c.handshake().peer(20, "A", {1, 1, 100});
      for (std::uint32_t i = 0; i < 60; ++i) {
        c.device(21 + ms * i, "A", {1, 101});
      }
      c.identify();
      std::size_t const end = numbered == Numbered::each ? 0 : c.flow().segments.size();
      for (std::uint64_t number = 5; number <= end; ++number) {
        c.packet(number).identification = numbered == Numbered::alike ? 2 : 0;
      }
      EXPECT_EQ(accused_of(c), ms == 20 && numbered != Numbered::alike ? "5681:CC-28" : "");
    }
  }
}

/// What the device's ACKs of one packet show.
enum class Reports : std::uint8_t { no_sack, nothing, duplicates };

/// The device sends 60 ACKs, `us` apart, of one packet that was captured once. SACK is permitted
/// unless `reports` is no_sack.
Conversation acknowledged_often(Reports reports, std::uint64_t us) {
  Conversation c;
  auto const permit = [&c, reports] {
    std::vector<std::byte>& options = c.last().options;
    std::size_t const more = reports == Reports::no_sack ? 0 : 4;
    options.resize(options.size() + more, std::byte{1});
    if (more != 0) {
      options[options.size() - 2] = std::byte{4};
      options[options.size() - 1] = std::byte{2};
    }
  };
  c.peer(0, "S", {0, 0});
  permit();
  c.device(0, "SA", {0, 1});
  permit();
  c.peer(10, "A", {1, 1}).peer(20, "PA", {1, 1, 100});
  for (std::uint64_t i = 0; i < 60; ++i) {
    c.device(20, "A", {1, 101});
    c.last().time = c.last().time + Duration::microseconds(us * (i + 1));
    if (i != 0 && reports == Reports::duplicates) {
      std::vector<std::byte>& options = c.last().options;
      options = {std::byte{1}, std::byte{1}, std::byte{5}, std::byte{10}};
      tools::put_long(options, Conversation::peer_isn + 1);
      tools::put_long(options, Conversation::peer_isn + 101);
    }
  }
  return c.identify();
}

// A loop behind the capture point repeats a data packet, and the device acknowledges each copy. A
// D-SACK shows it; without SACK only the time does for which such a loop lasts.
TEST(CapturePoint, ALoopBehindItRepeatsAPacket) {
  EXPECT_EQ(accused_of(acknowledged_often(Reports::no_sack, 100)), "");
  EXPECT_EQ(accused_of(acknowledged_often(Reports::no_sack, 20'000)), "5681:CC-28");
  EXPECT_EQ(accused_of(acknowledged_often(Reports::nothing, 100)), "5681:CC-28");
  EXPECT_EQ(accused_of(acknowledged_often(Reports::duplicates, 100)), "");
  EXPECT_EQ(accused_of(acknowledged_often(Reports::duplicates, 20'000)), "");
}

// A duplicate of the last packet of the previous connection arrives late.
TEST(CapturePoint, AFinOfThePreviousConnectionArrivesLate) {
  for (std::uint32_t const fin : {0u - 22'061, 101u}) {
    Conversation c;
    c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "PA", {1, 101, 100});
    c.device(12, "FA", {fin, 101}).device(13, "PA", {101, 101, 100}).peer(23, "A", {101, 201});
    EXPECT_EQ(accused_of(c) == "9293:P-CLOSE-QUEUED", fin == 101) << accused_of(c);
  }
}

// A loop in the network, or a bridge, delivers a copy of the device's packet late.
TEST(CapturePoint, ACopyHasTheIdentificationOfTheFirst) {
  for (std::uint16_t const number : {std::uint16_t{7}, std::uint16_t{8}}) {
    Conversation c;
    c.device(0, "S", {0, 0}).peer(600, "SA", {0, 1}).device(600, "A", {1, 1});
    c.device(601, "PA", {1, 1, 100}).peer(1'201, "A", {1, 101});
    c.device(1'300, "PA", {101, 1, 1'400}).last().identification = 7;
    c.device(1'345, "PA", {101, 1, 1'400}).last().identification = number;
    c.peer(1'945, "A", {1, 1'501}).device(1'946, "FA", {1'501, 1});
    c.clocks();
    if (number == 7) {
      c.packet(7).options = c.packet(6).options;
    }
    EXPECT_EQ(accused_of(c), number == 7 ? "" : "6298:RTO-9");
  }
}

// A capture of all interfaces of a transparent proxy: two connections with equal addresses and
// different clocks are alive at once.
TEST(CapturePoint, ATransparentProxyHasTwoConnections) {
  constexpr std::uint32_t clock = 60'000'000;
  for (std::uint32_t const base : {0u - 100'000'000, 6'000u}) {
    Conversation c;
    c.peer(3, "S", {base - 1, 0}).stamp(clock, 0);
    c.device(20, "SA", {2 * base - 1, base}).stamp(800, clock);
    c.peer(21, "A", {base, 2 * base}).stamp(clock + 21, 800);
    for (std::uint32_t i = 0; i < 4; ++i) {
      std::uint32_t const ms = 30 + 30 * i;
      c.peer(ms, "PA", {1 + 100 * i, 1, 100}).stamp(1'000 + ms, 900);
      c.device(ms + 1, "A", {1, 101 + 100 * i}).stamp(900 + ms, 1'000 + ms);
      c.peer(ms + 2, "PA", {base + 100 * i, 2 * base, 100}).stamp(clock + ms, 800);
      c.device(ms + 19, "A", {2 * base, base + 100 + 100 * i}).stamp(800 + ms, clock + ms);
    }
    EXPECT_EQ(accused_of(c), "") << base;
  }
}

/// The device sends 1,400 octets at a time to a peer whose MSS is 1,380. Its own MSS is `mss`. Each
/// record is `packets` packets on the wire, by their IPv4 identifications.
Conversation large_records(std::uint32_t mss, std::uint32_t packets, std::uint32_t first = 1'400) {
  Conversation c;
  c.peer(0, "S", {0, 0});
  c.last().options = {std::byte{2}, std::byte{4}, std::byte{0x05}, std::byte{0x64}};
  c.device(0, "SA", {0, 1});
  c.last().options = {std::byte{2}, std::byte{4}, static_cast<std::byte>(mss >> 8),
                      static_cast<std::byte>(mss & 0xff)};
  c.peer(10, "A", {1, 1}).peer(11, "PA", {1, 1, 100});
  c.device(12, "A", {1, 101, first}).peer(13, "A", {101, 1 + first});
  std::uint32_t const end = 1 + first;
  for (std::uint32_t i = 0; i < 6; ++i) {
    c.device(21 + 20 * i, "A", {end + 1'400 * i, 101, 1'400});
    c.peer(31 + 20 * i, "A", {101, end + 1'400 * (i + 1)});
  }
  std::uint32_t next = 0;
  for (std::uint64_t number = 1; number <= c.flow().segments.size(); ++number) {
    if (c.packet(number).source == c.device_side()) {
      next += c.packet(number).data_bytes() == 0 ? 1 : 0;
      c.packet(number).identification = static_cast<std::uint16_t>(next);
      next += c.packet(number).data_bytes() == 0 ? 0 : packets;
    }
  }
  return c;
}

// A NIC may have joined two small segments, or will split what is recorded as one.
TEST(CapturePoint, NothingThatTwoSmallSegmentsExplain) {
  EXPECT_EQ(accused_of(large_records(1'460, 1)), "9293:MUST-16");
  EXPECT_NE(accused_of(large_records(1'460, 2)), "9293:MUST-16");
  EXPECT_NE(accused_of(large_records(1'460, 0)), "9293:MUST-16");
  EXPECT_NE(accused_of(large_records(700, 1)), "9293:MUST-16");
  EXPECT_EQ(accused_of(large_records(1'400, 1)), "9293:MUST-16");
  EXPECT_NE(accused_of(large_records(1'460, 1, 2'800)), "9293:MUST-16");
}

// The ports are used again, and the capture lacks the SYNs.
TEST(CapturePoint, AnotherConnectionHasAnotherClock) {
  for (std::uint32_t const leap : {0x7000'0000u, 0x0100'0000u}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(0xa000'0000, 0).device(0, "SA", {0, 1}).stamp(900, 0xa000'0000);
    c.peer(10, "A", {1, 1}).stamp(0xa000'0010, 900);
    for (std::uint32_t i = 0; i < 4; ++i) {
      std::uint32_t const stamp = 0xa000'0020 - leap + 10 * i;
      c.peer(20 + 10 * i, "PA", {1 + 100 * i, 1, 100}).stamp(stamp, 900);
      c.device(20 + 10 * i, "A", {1, 101 + 100 * i}).stamp(920 + 10 * i, stamp);
    }
    EXPECT_EQ(accused_of(c) == "7323:TS-15", leap == 0x0100'0000);
  }
}

// A peer that sends 0 on its SYN has not started its clock there, and its first real timestamp may
// be "before" 0. Linux accepts that.
TEST(CapturePoint, AClockThatStartsAfterTheSyn) {
  for (std::uint32_t const begun : {0u, 0x9100'0000u}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).stamp(begun, 0).device(0, "SA", {0, 1}).stamp(900, begun);
    c.peer(10, "A", {1, 1}).stamp(0x9000'0010, 900);
    for (std::uint32_t i = 0; i < 4; ++i) {
      std::uint32_t const stamp = 0x9000'0020 + 10 * i;
      c.peer(20 + 10 * i, "PA", {1 + 100 * i, 1, 100}).stamp(stamp, 900);
      c.device(20 + 10 * i, "A", {1, 101 + 100 * i}).stamp(920 + 10 * i, stamp);
    }
    EXPECT_EQ(accused_of(c) == "7323:TS-15", begun != 0);
  }
}

/// How the peer's data comes with the ACK of the device's data, both of which the radio behind the
/// recorder loses.
enum class Sent : std::uint8_t { once, again, after_silence };

/// `sent`: the recorder lost the first transmission of the peer's data, unless it was sent once.
Conversation taken_by_the_first(Sent sent) {
  Conversation c;
  c.peer(0, "S", {0, 0}).device(0, "SA", {0, 1}).peer(60, "A", {1, 1}).peer(61, "PA", {1, 1, 100});
  c.device(61, "A", {1, 101}).device(71, "PA", {1, 101, 300});
  if (sent != Sent::after_silence) {
    c.peer(130, "A", {sent == Sent::again ? 201u : 101u, 301});
  }
  c.peer(sent == Sent::once ? 150 : 370, "PA", {101, 301, 100});
  c.device(965, "PA", {1, 201, 300}).peer(1'025, "A", {201, 301});
  return c.device(1'026, "FA", {301, 201})
      .peer(1'086, "FA", {201, 302})
      .device(1'086, "A", {302, 202});
}

// Data that the device acknowledges shows which ACK arrived only if it was sent once.
TEST(CapturePoint, DataWithAnAckMayBeARetransmission) {
  EXPECT_EQ(accused_of(taken_by_the_first(Sent::once)), "6298:RTO-11");
  EXPECT_EQ(accused_of(taken_by_the_first(Sent::again)), "");
  EXPECT_EQ(accused_of(taken_by_the_first(Sent::after_silence)), "");
  EXPECT_EQ(accused_of(taken_by_the_first(Sent::after_silence).identify()), "6298:RTO-11");
}

}  // namespace
}  // namespace lockstep::conformance
