// Connections of a capture: where they begin and end, what is kept, and what is watched.
#include "conformance/replay/connections.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "conformance/replay/conversation.hpp"
#include "conformance/replay/replay.hpp"
#include "conformance/replay/report.hpp"

namespace lockstep::conformance {
namespace {

/// The number of judged segments of each connection, and the number of later segments.
struct Parts {
  std::vector<std::size_t> judged;
  std::vector<std::uint64_t> later;
  std::vector<std::string> verdicts;
  std::vector<Finding> findings;  ///< that became certain behind the judged part
};

tools::Decoded decoded(tools::Segment segment) {
  tools::Decoded out;
  out.kind = tools::FrameKind::tcp;
  out.segment = std::move(segment);
  return out;
}

Parts parts_of(const std::vector<tools::Segment>& segments, const KeepLimits& limits = {}) {
  Parts out;
  ConnectionReader reader(
      limits,
      {[&](Connection& connection) {
         out.judged.push_back(connection.flow.segments.size());
         out.verdicts.push_back(verdict_text(
             replay_flow(connection.flow, choose_device(connection.flow), nullptr).verdict));
         for (const tools::Segment& segment : connection.flow.segments) {
           connection.watch.take(segment);
         }
       },
       [&](Connection& connection) {
         out.later.push_back(connection.later);
         for (const Finding& finding :
              connection.watch.findings(connection.flow.second, connection.judged_until)) {
           out.findings.push_back(finding);
         }
       }});
  for (const tools::Segment& segment : segments) {
    reader.take(decoded(segment));
  }
  reader.finish();
  return out;
}

/// A complete connection: request, response, and a FIN from both sides.
Conversation whole() {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "PA", {1, 101, 300});
  c.peer(21, "A", {101, 301}).device(22, "FA", {301, 101}).peer(32, "FA", {101, 302});
  c.device(32, "A", {302, 102});
  return c;
}

/// The same connection, later and with other sequence numbers.
std::vector<tools::Segment> again(const Conversation& c, Duration after, std::uint32_t shift) {
  std::vector<tools::Segment> out = c.flow().segments;
  for (tools::Segment& segment : out) {
    segment.time = segment.time + after;
    segment.sequence += shift;
    segment.acknowledgment += segment.any(tools::tcp_flag::ack) ? shift : 0;
  }
  return out;
}

// ICMP errors count as well: a flow with many of them is judged early.
TEST(Connections, ErrorsAreKeptInBoundedMemory) {
  std::vector<std::size_t> errors;
  ConnectionReader reader(
      {}, {[&](Connection& connection) { errors.push_back(connection.flow.errors.size()); },
           [](Connection&) {}});
  Flow const flow = whole().flow();
  reader.take(decoded(flow.segments[0]));
  for (int i = 0; i < 1'000; ++i) {
    tools::Decoded error;
    error.kind = tools::FrameKind::icmp_error;
    error.icmp.quoted_source = flow.first;
    error.icmp.quoted_destination = flow.second;
    error.icmp.message.resize(65'000);
    reader.take(std::move(error));
  }
  EXPECT_LT(errors.at(0), 250u);
}

tools::Decoded without_tcp(tools::FrameKind kind, IpAddress source, IpAddress destination) {
  tools::Decoded out;
  out.kind = kind;
  out.segment.source.address = source;
  out.segment.destination.address = destination;
  return out;
}

constexpr IpAddress device_address = IpAddress::v4(10, 0, 0, 1);
constexpr IpAddress peer_address = IpAddress::v4(10, 0, 0, 2);
constexpr IpAddress router = IpAddress::v4(10, 0, 0, 3);

// "tcp or arp" hides ICMP.
TEST(Connections, ArpAloneDoesNotShowThatNothingWasFiltered) {
  FilterProof filter;
  filter.take({});
  EXPECT_FALSE(filter.is_unfiltered(peer_address));
  filter.take(without_tcp(tools::FrameKind::not_tcp, router, device_address));
  EXPECT_TRUE(filter.is_unfiltered(peer_address));
}

// "arp or host PEER" hides what a router sends to the device, not a ping of the peer.
TEST(Connections, AFilterForAHostHidesErrorsOfRouters) {
  for (tools::FrameKind const kind : {tools::FrameKind::not_tcp, tools::FrameKind::icmp_error}) {
    FilterProof filter;
    filter.take({});
    filter.take(without_tcp(kind, device_address, peer_address));
    filter.take(without_tcp(kind, peer_address, device_address));
    filter.take(without_tcp(kind, peer_address, router));
    EXPECT_FALSE(filter.is_unfiltered(peer_address));
    EXPECT_TRUE(filter.is_unfiltered(device_address));
    filter.take(without_tcp(kind, router, device_address));
    EXPECT_TRUE(filter.is_unfiltered(peer_address));
  }
}

// The proof of one side is none for the other.
TEST(Connections, WhatShowsThatNothingWasFilteredIsOfOneSide) {
  std::vector<std::array<bool, 2>> unfiltered;
  ConnectionReader reader(
      {}, {[&](Connection& connection) { unfiltered.push_back(connection.flow.unfiltered); },
           [](Connection&) {}});
  reader.take({});
  reader.take(without_tcp(tools::FrameKind::not_tcp, router, device_address));
  Conversation const c = whole();
  for (const tools::Segment& segment : c.flow().segments) {
    reader.take(decoded(segment));
  }
  reader.finish();
  ASSERT_EQ(unfiltered.size(), 1u);
  EXPECT_EQ(unfiltered[0], (std::array<bool, 2>{false, true}));
}

TEST(Connections, APortThatIsUsedAgainMakesAnother) {
  std::vector<tools::Segment> all = whole().flow().segments;
  for (const tools::Segment& segment : again(whole(), Duration::seconds(2), 1'000'000)) {
    all.push_back(segment);
  }
  Parts const parts = parts_of(all);
  EXPECT_EQ(parts.judged, (std::vector<std::size_t>{9, 9}));
  EXPECT_EQ(parts.verdicts, (std::vector<std::string>{"agrees", "agrees"}));
}

// A client drops its options at later SYNs, and the capture begins after the first one, which the
// SYN-ACK answers: it echoes a timestamp that is not in the capture.
TEST(Connections, ASynAckAnswersAnEarlierSyn) {
  for (std::uint32_t const echo : {0u, 100u}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).device(0, "SA", {0, 1}).stamp(900, echo);
    c.last().options.insert(c.last().options.end(),
                            {std::byte{1}, std::byte{3}, std::byte{3}, std::byte{7}});
    c.peer(10, "A", {1, 1}).peer(11, "PA", {1, 1, 100}).device(11, "A", {1, 101}).recorded_early();
    std::vector<tools::Segment> all = c.flow().segments;
    tools::Segment other = all.front();  // of another connection, a minute before
    other.time = *c.flow().recorded_since;
    other.source.port = Port{50'000};
    all.insert(all.begin(), other);
    Parts const parts = parts_of(all);
    EXPECT_EQ(parts.verdicts.back().starts_with("violates"), echo == 0) << parts.verdicts.back();
    Parts const alone = parts_of(c.flow().segments);
    EXPECT_FALSE(alone.verdicts.front().starts_with("violates")) << alone.verdicts.front();
  }
}

// The capture was edited: almost every checksum is wrong, but its SYNs count.
TEST(Connections, WhereEachChecksumIsWrongAPortIsUsedAgainAsWell) {
  std::vector<tools::Segment> all = whole().flow().segments;
  for (const tools::Segment& segment : again(whole(), Duration::seconds(2), 1'000'000)) {
    all.push_back(segment);
  }
  for (tools::Segment& segment : all) {
    segment.sum = tools::SumState::bad;
  }
  all[3].sum = tools::SumState::good;  // correct by chance
  EXPECT_EQ(parts_of(all).judged, (std::vector<std::size_t>{9, 9}));
  // If most checksums are right, a SYN with a wrong one was not received.
  for (std::size_t i = 0; i < 9; ++i) {
    all[i].sum = tools::SumState::good;
  }
  EXPECT_EQ(parts_of(all).judged, (std::vector<std::size_t>{18}));
}

// The end of the first connection was not captured: the answer to the SYN shows the new one.
TEST(Connections, ASynThatIsAnsweredBeginsAnother) {
  Conversation c = whole();
  std::vector<tools::Segment> all(c.flow().segments.begin(), c.flow().segments.begin() + 6);
  for (const tools::Segment& segment : again(c, Duration::seconds(2), 1'000'000)) {
    all.push_back(segment);
  }
  EXPECT_EQ(parts_of(all).judged, (std::vector<std::size_t>{6, 9}));
  // A SYN that is answered by a challenge ACK begins nothing.
  all.resize(7);
  all.push_back(all[5]);
  EXPECT_EQ(parts_of(all).judged, (std::vector<std::size_t>{8}));
}

// Both hosts have started again, and have no clock: after a silence, or behind the FIN of the one
// that asks, a SYN and its answer begin another connection, though both numbers are as before.
TEST(Connections, BothNumbersAreUsedAgain) {
  for (std::uint64_t const silent : {500u, 3'000u, 3'600'000u}) {
    for (bool const fin : {false, true}) {
      Conversation c;
      c.peer(0, "S", {0, 0}).device(0, "SA", {0, 1}).peer(10, "A", {1, 1});
      c.peer(20, "PA", {1, 1, 50}).device(20, "PA", {1, 51, 20}).peer(30, "A", {51, 21});
      if (fin) {
        c.peer(40, "FA", {51, 21}).device(40, "A", {21, 52});
      }
      std::uint64_t const at = 50 + silent;
      c.peer(at, "S", {0, 0}).peer(at + 300, "S", {0, 0}).device(at + 300, "SA", {0, 1});
      c.peer(at + 310, "A", {1, 1});
      c.peer(at + 320, "PA", {1, 1, 60}).device(at + 320, "A", {1, 61});
      std::size_t const first = fin ? 8 : 6;
      // Without a FIN a SYN so early may be a late copy.
      std::vector<std::size_t> const expected = fin || silent > 1'000
                                                    ? std::vector<std::size_t>{first, 6}
                                                    : std::vector<std::size_t>{first + 6};
      EXPECT_EQ(parts_of(c.flow().segments).judged, expected) << silent << " " << fin;
    }
  }
}

/// The numbers of a connection without captured handshake may lie above, within, below or far from
/// those of the earlier connection.
// A host without a clock begins with the same number when it has started again. A late copy of a
// SYN is answered by an ACK.
TEST(Connections, ASynWithTheSameNumberThatAnotherSynAnswersBeginsAnother) {
  for (bool const copy : {false, true}) {
    Conversation c;
    c.peer(0, "S", {0, 0}).device(0, "SA", {0, 1}).peer(10, "A", {1, 1});
    c.peer(20, "PA", {1, 1, 50}).device(20, "A", {1, 51}).peer(5'000, "S", {0, 0});
    if (copy) {
      c.device(5'000, "A", {1, 51}).peer(5'010, "PA", {51, 1, 60}).device(5'010, "A", {1, 111});
    } else {
      c.device(5'000, "SA", {90'000, 1}).peer(5'010, "A", {1, 90'001});
      c.peer(5'020, "PA", {1, 90'001, 60}).device(5'020, "A", {90'001, 61});
    }
    std::vector<std::size_t> const expected =
        copy ? std::vector<std::size_t>{9} : std::vector<std::size_t>{5, 5};
    EXPECT_EQ(parts_of(c.flow().segments).judged, expected);
  }
}

TEST(Connections, OneThatLacksItsHandshakeIsAnother) {
  Conversation const c = whole();
  for (std::uint32_t const shift : {1'000'000U, 70U, 0U - 50U, 0U - 100'000U, 0x7000'0000U}) {
    for (bool const reset : {false, true}) {
      std::vector<tools::Segment> all = c.flow().segments;
      if (reset) {
        all.resize(6);
        all.back().flags = tools::tcp_flag::rst | tools::tcp_flag::ack;
      }
      std::size_t const first = all.size();
      Duration const after = reset ? Duration::seconds(1) : Duration::seconds(61);
      std::vector<tools::Segment> const next = again(c, after, shift);
      all.insert(all.end(), next.begin() + 3, next.end());
      EXPECT_EQ(parts_of(all).judged, (std::vector<std::size_t>{first, 6})) << shift << reset;
    }
  }
}

/// A reset refused the SYN, and the next connection's handshake is missing.
TEST(Connections, OneThatLacksItsHandshakeBehindOneThatWasRefusedIsAnother) {
  Conversation const c = whole();
  for (std::uint32_t const shift : {1'000'000U, 70U, 0x7000'0000U}) {
    std::vector<tools::Segment> all = c.flow().segments;
    all.resize(2);
    all.back().flags = tools::tcp_flag::rst | tools::tcp_flag::ack;
    all.back().sequence = 0;
    std::vector<tools::Segment> const next = again(c, Duration::seconds(1), shift);
    all.insert(all.end(), next.begin() + 3, next.end());
    EXPECT_EQ(parts_of(all).judged, (std::vector<std::size_t>{2, 6})) << shift;
  }
}

/// The end of the earlier connection is missing as well.
TEST(Connections, OneThatLacksItsHandshakeBehindOneThatLacksItsEndIsAnother) {
  Conversation const c = whole();
  for (std::uint32_t const shift : {1'000'000U, 70U, 0U - 50U}) {
    std::vector<tools::Segment> all = c.flow().segments;
    all.resize(6);
    std::vector<tools::Segment> const next = again(c, Duration::seconds(61), shift);
    all.insert(all.end(), next.begin() + 3, next.end());
    EXPECT_EQ(parts_of(all).judged, (std::vector<std::size_t>{6, 6})) << shift;
  }
}

/// Segments that come after a long pause, or that were under way at the end, belong to the same
/// connection.
TEST(Connections, WhatComesLateIsOfTheSame) {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100}).device(11, "PA", {1, 101, 300});
  c.device(90'011, "PA", {1, 101, 300}).peer(90'021, "A", {101, 301});
  c.peer(200'000, "A", {100, 301}).device(200'001, "A", {301, 101});
  c.peer(200'010, "RA", {101, 301}).device(200'011, "A", {301, 101, 400});
  c.device(200'012, "A", {701, 101, 400});
  EXPECT_EQ(parts_of(c.flow().segments).judged, (std::vector<std::size_t>{12}));
}

TEST(Connections, OnlyTheFirstPartIsKept) {
  Conversation c;
  c.handshake();
  for (std::uint32_t i = 0; i < 100; ++i) {
    c.peer(20 + i, "PA", {1 + i, 1, 1}).device(20 + i, "A", {1, 2 + i});
  }
  KeepLimits limits;
  limits.segments_max = 50;
  Parts const parts = parts_of(c.flow().segments, limits);
  EXPECT_EQ(parts.judged, std::vector<std::size_t>{50});
  EXPECT_EQ(parts.later, std::vector<std::uint64_t>{153});
  EXPECT_NE(parts.verdicts[0].substr(0, 8), "violates");
}

/// The device sends six segments that exceed the peer's MSS.
Conversation oversized() {
  Conversation c;
  c.peer(0, "S", {0, 0}).last().options = {std::byte{2}, std::byte{4}, std::byte{2}, std::byte{24}};
  c.device(0, "SA", {0, 1}).peer(10, "A", {1, 1}).peer(11, "PA", {1, 1, 100});
  for (std::uint32_t i = 0; i < 6; ++i) {
    c.device(11 + 20 * i, "A", {1 + 1400 * i, 101, 1400});
    c.peer(21 + 20 * i, "A", {101, 1401 + 1400 * i});
  }
  return c.identify();
}

// Three segments make it certain; the first two are in the judged part, or all of them are.
TEST(Connections, WhatBecomesCertainBehindTheFirstPartIsFound) {
  for (std::size_t const judged : {8u, 14u}) {
    KeepLimits limits;
    limits.segments_max = judged;
    Parts const parts = parts_of(oversized().flow().segments, limits);
    EXPECT_EQ(parts.judged, std::vector<std::size_t>{judged});
    ASSERT_EQ(parts.findings.size(), judged == 8 ? 1u : 0u);
    EXPECT_EQ(parts.verdicts[0].starts_with("violates"), judged == 14) << parts.verdicts[0];
    if (judged == 8) {
      EXPECT_EQ(parts.findings[0].clause, "9293:MUST-16");
      EXPECT_EQ(parts.findings[0].packet, 5u);
    }
  }
}

// With many connections at once, the largest are judged by what is kept of them; none is lost.
TEST(Connections, WhatIsKeptOfAllIsBounded) {
  KeepLimits limits;
  limits.total_max = 64'000;
  std::size_t judged = 0;
  std::size_t done = 0;
  std::size_t most = 0;
  ConnectionReader reader(limits, {[&](Connection& connection) {
                                     ++judged;
                                     most = std::max(most, connection.flow.segments.size());
                                   },
                                   [&](Connection&) { ++done; }});
  for (std::uint32_t i = 0; i < 2'000; ++i) {
    Conversation const c = whole();
    for (tools::Segment segment : c.flow().segments) {
      auto const port = Port{static_cast<std::uint16_t>(10'000 + i)};
      (segment.source.port == Port{80} ? segment.destination : segment.source).port = port;
      segment.time = segment.time + Duration::seconds(i);
      reader.take(decoded(std::move(segment)));
    }
  }
  EXPECT_GT(done, 1'900u);  // and were not kept until the end
  reader.finish();
  EXPECT_EQ(judged, 2'000u);
  EXPECT_EQ(done, 2'000u);
  EXPECT_EQ(most, 9u);
}

// One SYN for each connection, and no connection ends.
TEST(Connections, HowManyAreOpenIsBounded) {
  KeepLimits limits;
  limits.closed_max = 10;
  limits.open_max = 100;
  std::size_t done = 0;
  ConnectionReader reader(limits, {[](Connection&) {}, [&](Connection&) { ++done; }});
  for (std::uint32_t i = 0; i < 2'000; ++i) {
    tools::Segment syn = whole().flow().segments.front();
    syn.source.port = Port{static_cast<std::uint16_t>(10'000 + i)};
    syn.time = syn.time + Duration::milliseconds(i);
    reader.take(decoded(std::move(syn)));
    EXPECT_LE(reader.connections() - done, 111u);
  }
  reader.finish();
  EXPECT_EQ(done, 2'000u);
}

// Captured beside the receiver: segments of one round trip were sent before the echo arrived.
TEST(Connections, AFarSenderHasNotHeardYetOfAMark) {
  for (std::uint32_t const beyond : {0u, 200u}) {
    Conversation c;
    c.peer(0, "SEC", {0, 0}).device(0, "SAE", {0, 1}).peer(10, "A", {1, 1, 0, 60'000});
    std::uint32_t next = 1;
    for (std::uint32_t i = 0; i < 40 + beyond; ++i) {
      c.device(20 + i, "A", {next, 1, 1'460});
      next += 1'460;
      std::uint32_t const edge = 60'001 + (i > 40 ? next : 0);
      c.peer(20 + i, "AE", {1, next, 0, static_cast<std::uint16_t>(edge - std::min(edge, next))});
    }
    Watch watch(c.flow().first, c.device_side());
    for (const tools::Segment& segment : c.flow().segments) {
      watch.take(segment);
    }
    EXPECT_EQ(watch.findings(c.device_side()).empty(), beyond == 0);
  }
}

// More octets than there are sequence numbers, in super-segments: the watch's positions keep up.
TEST(Connections, TheWatchGoesBeyondAllSequenceNumbers) {
  constexpr std::uint32_t size = 60'000;
  Conversation c;
  c.handshake();
  Endpoint const device = c.device_side();
  Endpoint const peer = c.flow().first;
  Watch watch(peer, device);
  for (const tools::Segment& segment : c.flow().segments) {
    watch.take(segment);
  }
  std::uint64_t sent = 1;
  tools::Segment data = c.flow().segments[1];
  data.flags = tools::tcp_flag::ack;
  data.options.clear();
  data.missing = size;
  tools::Segment ack = c.flow().segments[2];
  for (std::uint32_t i = 0; i < 90'000; ++i) {
    data.number += 2;
    data.time = data.time + Duration::milliseconds(1);
    data.sequence = Conversation::device_isn + static_cast<std::uint32_t>(sent);
    sent += size;
    ack.number += 2;
    ack.time = data.time;
    ack.acknowledgment = Conversation::device_isn + static_cast<std::uint32_t>(sent);
    watch.take(data);
    watch.take(ack);
  }
  EXPECT_EQ(watch.extent(device), static_cast<std::int64_t>(sent));
  EXPECT_GT(sent, std::uint64_t{5} << 30);
  EXPECT_TRUE(watch.findings(device).empty());
  EXPECT_TRUE(watch.findings(peer).empty());
  // The watch still detects that the peer shrinks its window.
  for (std::uint32_t i = 0; i < 4; ++i) {
    ack.number += 1;
    ack.time = ack.time + Duration::milliseconds(30);
    ack.acknowledgment +=
        i == 0 ? 0 : 10;  // an equal ACK might be an older one that was recorded late
    ack.window = 100;
    watch.take(ack);
  }
  ASSERT_EQ(watch.findings(peer).size(), 1u);
  EXPECT_EQ(watch.findings(peer)[0].clause, "9293:SHLD-14");
}

}  // namespace
}  // namespace lockstep::conformance
