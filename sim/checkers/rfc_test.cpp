// For each rule of the RFC checker, a connection that breaks it.
#include "sim/checkers/rfc.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "sim/kernel/kernel.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

using wire::Flags;
namespace flag = wire::flag;

World two_ip_hosts() {
  World world = two_hosts({});
  for (HostSpec& host : world.hosts) {
    host.config.link = LinkType::ip;
  }
  // The peer in these tests obeys no rule. It is not judged, because its segments may be forged.
  world.lane_faults = {fault_of_link("forge", Substitute{{0}, 54})};
  return world;
}

// Host a at 10.0.0.1:1000 is connected to 10.0.0.2:2000; our ISS is 100, the peer's 500.
class RfcRules : public testing::Test {
 protected:
  struct Text {
    Flags flags;
    std::uint32_t sequence = 0;
    std::uint32_t acknowledgment = 0;
    std::uint16_t window = 1'000;
    std::uint32_t length = 0;
  };

  RfcRules() : world_(two_ip_hosts()), checker_(world_, findings_) {}

  SegmentView view_of(const Text& text, bool ours) {
    SegmentView view;
    Endpoint const a{IpAddress::v4(10, 0, 0, 1), {1'000}};
    Endpoint const b{IpAddress::v4(10, 0, 0, 2), {2'000}};
    view.source = ours ? a : b;
    view.destination = ours ? b : a;
    view.segment.sequence = {text.sequence};
    view.segment.acknowledgment = {text.acknowledgment};
    view.segment.flags = text.flags;
    view.segment.window = {text.window};
    view.segment.payload = std::span(zeros_).first(text.length);
    view.packet_bytes = 40 + text.length;
    return view;
  }
  void say(const Text& text) {
    SegmentView const view = view_of(text, true);
    checker_.judge_sent({{0}, Instant{1}, view});
  }
  void hear(const Text& text) {
    SegmentView const view = view_of(text, false);
    checker_.judge_arrived({{0}, Instant{1}, view});
  }
  void shake_hands() {
    say({flag::syn, 100, 0, 1'000, 0});
    hear({flag::syn | flag::ack, 500, 101, 1'000, 0});
    say({flag::ack, 101, 501, 1'000, 0});
  }
  std::string_view found() const {
    return findings_.empty() ? std::string_view("nothing") : findings_.kept()[0].what;
  }

  World world_;
  Findings findings_;
  RfcChecker checker_;
  std::array<std::byte, 2'000> zeros_{};
};

// Both directions of a connection are in the sample, or neither is.
TEST_F(RfcRules, ASampleHoldsOneConnectionInEight) {
  for (Checks const checks : {Checks::all, Checks::sampled, Checks::off}) {
    Findings findings;
    RfcChecker checker(world_, findings, checks);
    for (std::uint16_t port = 1; port <= 800; ++port) {
      SegmentView answer = view_of({flag::syn | flag::ack, 100, 501, 1'000, 0}, true);
      SegmentView syn = view_of({flag::syn, 500, 0, 1'000, 0}, false);
      answer.source.port = syn.destination.port = {port};
      checker.judge_arrived({{0}, Instant{1}, syn});
      checker.judge_sent({{0}, Instant{1}, answer});
      SegmentView wild = answer;
      wild.segment.acknowledgment = {9'000};
      checker.judge_sent({{0}, Instant{2}, wild});
    }
    std::uint64_t const found = findings.count();
    EXPECT_EQ(checks == Checks::all, found == 800) << found;
    EXPECT_EQ(checks == Checks::sampled, found > 70 && found < 130) << found;
    EXPECT_EQ(checks == Checks::off, found == 0) << found;
  }
}

// A reset cancels the first SYN; the second has the same ISS and another MSS.
TEST_F(RfcRules, ASynOfTheSameNumberMayOfferALargerMss) {
  SegmentView small = view_of({flag::syn, 500, 0, 1'000, 0}, false);
  small.segment.options.has_mss = true;
  small.segment.options.mss = 28;
  checker_.judge_arrived({{0}, Instant{1}, small});
  hear({flag::syn, 500, 0, 1'000, 0});
  say({flag::syn | flag::ack, 100, 501, 1'000, 0});
  hear({flag::ack, 501, 101, 1'000, 0});
  say({flag::ack | flag::psh, 101, 501, 1'000, 60});
  EXPECT_EQ(found(), "nothing");
}

TEST_F(RfcRules, APoliteConversationIsFine) {
  shake_hands();
  say({flag::ack | flag::psh, 101, 501, 1'000, 400});
  hear({flag::ack, 501, 501, 600, 0});
  say({flag::ack, 501, 501, 1'000, 300});
  hear({flag::ack, 501, 801, 0, 50});
  say({flag::ack, 801, 551, 950, 0});
  say({flag::ack, 801, 551, 1'000, 0});    // a window update
  say({flag::ack, 801, 551, 1'000, 300});  // within the earlier edge at 1101
  EXPECT_EQ(found(), "nothing");
}

// A frame that the NIC loses counts as sent, although the wire never carries it.
TEST_F(RfcRules, AGapIsWrongUnlessANicHasLostFrames) {
  for (bool const lost : {false, true}) {
    Findings findings;
    RfcChecker checker(world_, findings);
    checker.judge_sent({{0}, Instant{1}, view_of({flag::syn, 100, 0, 1'000, 0}, true)});
    checker.judge_arrived(
        {{0}, Instant{1}, view_of({flag::syn | flag::ack, 500, 101, 1'000, 0}, false)});
    checker.judge_sent({{0}, Instant{1}, view_of({flag::ack, 101, 501, 1'000, 0}, true)});
    checker.judge_sent({{0}, Instant{1}, view_of({flag::ack, 102, 501, 1'000, 0}, true), lost});
    EXPECT_EQ(findings.empty(), lost);
  }
}

TEST_F(RfcRules, TextBeyondTheWindow) {
  shake_hands();
  say({flag::ack, 101, 501, 1'000, 536});
  say({flag::ack, 637, 501, 1'000, 465});
  EXPECT_EQ(found(), "data beyond the window that the peer offered");
}

TEST_F(RfcRules, AProbeOfOneOctetIsAllowed) {
  shake_hands();
  hear({flag::ack, 501, 101, 0, 0});
  say({flag::ack, 101, 501, 1'000, 500});
  say({flag::ack, 601, 501, 1'000, 500});
  say({flag::ack, 1'101, 501, 1'000, 1});
  EXPECT_EQ(found(), "nothing");
  say({flag::ack, 1'102, 501, 1'000, 1});
  EXPECT_EQ(found(), "data beyond the window that the peer offered");
}

TEST_F(RfcRules, AnAckOfWhatWasNeverHeard) {
  shake_hands();
  hear({flag::ack, 501, 101, 1'000, 10});
  say({flag::ack, 101, 511, 990, 0});
  EXPECT_EQ(found(), "nothing");
  say({flag::ack, 101, 512, 989, 0});
  EXPECT_EQ(found(), "an ACK of data that never arrived");
}

// The SYN of 10.0.0.2 whose window scale option has a wrong length.
std::vector<std::byte> malformed_syn() {
  const std::array<std::uint8_t, 44> octets{
      0x45, 0,    0,    44,   0, 0, 0,    0,    64, 6, 0, 0, 10,   0, 0, 2,    10, 0, 0, 1,  // IP
      0x07, 0xd0, 0x03, 0xe8, 0, 0, 0x01, 0xf4, 0,  0, 0, 0, 0x60, 2, 3, 0xe8, 0,  0, 0, 0,  // TCP
      3,    9,    0,    0};
  std::vector<std::byte> out(octets.size());
  std::memcpy(out.data(), octets.data(), octets.size());
  const auto sum = [&out](std::size_t from, std::size_t to, std::uint32_t begin) {
    for (std::size_t at = from; at < to; at += 2) {
      begin += std::to_integer<std::uint32_t>(out[at]) << 8;
      begin += std::to_integer<std::uint32_t>(out[at + 1]);
    }
    begin = (begin & 0xffff) + (begin >> 16);
    return static_cast<std::uint16_t>(~(begin + (begin >> 16)));
  };
  const auto put = [&out](std::size_t at, std::uint16_t value) {
    out[at] = static_cast<std::byte>(value >> 8);
    out[at + 1] = static_cast<std::byte>(value);
  };
  put(10, sum(0, 20, 0));
  put(36, sum(12, 44, 6 + 24));  // with the pseudo-header
  return out;
}

// As its host does: one with options_lenient answers the SYN, and did hear it.
TEST_F(RfcRules, AMalformedOptionIsReadAsTheHostReadsIt) {
  std::vector<std::byte> const syn = malformed_syn();
  for (bool const lenient : {true, false}) {
    world_.hosts[0].config.tcp.options_lenient = lenient;
    Kernel kernel(world_, 1);
    Findings findings;
    RfcChecker checker(world_, findings);
    checker.delivered(kernel, {Instant{1}, {NodeKind::host, 0}, 0, syn});
    checker.judge_sent(
        {{0}, Instant{1}, view_of({flag::syn | flag::ack, 100, 501, 1'000, 0}, true)});
    EXPECT_EQ(findings.empty(), lenient);
  }
}

TEST_F(RfcRules, AnEdgeThatMovesLeft) {
  shake_hands();
  hear({flag::ack, 501, 101, 1'000, 10});
  say({flag::ack, 101, 511, 989, 0});
  EXPECT_EQ(found(), "the right edge of the offered window moved left");
}

// A SYN-ACK from a cookie or the SYN cache may wait in the reply queue while the connection already
// sends segments.
TEST_F(RfcRules, OnlyTheAnswerOfACookieOrOfTheSynCacheIsOvertaken) {
  for (int const kind : {1, 2, 0}) {
    auto const cookies = kind == 1 ? tcp::SynCookies::on : tcp::SynCookies::off;
    world_.hosts[0].config.tcp.syn_cookies = cookies;
    world_.hosts[0].config.tcp.syn_cache_max = Count{kind == 2 ? 1u : 0u};
    hear({flag::syn, 500, 0, 1'000, 0});
    say({flag::syn | flag::ack, 100, 501, 1, 0});
    hear({flag::ack, 501, 101, 1'000, 1});
    say({flag::ack, 101, 502, 1, 0});
    say({flag::syn | flag::ack, 100, 501, 1, 0});
    EXPECT_EQ(found(), kind != 0 ? "nothing" : "the right edge of the offered window moved left");
  }
}

// Violations beyond what the referee keeps are counted.
TEST_F(RfcRules, FindingsOfOneCauseAreFiveAndACount) {
  shake_hands();
  for (int i = 0; i < 40; ++i) {
    say({flag::ack, 101, 512, 1'000, 0});
  }
  ASSERT_EQ(findings_.groups().size(), 2u);
  EXPECT_EQ(findings_.groups()[0].first[0].what, "an ACK of data that never arrived");
  EXPECT_EQ(findings_.groups()[0].count, 40u);
  EXPECT_EQ(findings_.groups()[0].first.size(), 5u);
}

TEST_F(RfcRules, MoreAcksThanSegments) {
  shake_hands();
  hear({flag::ack, 501, 101, 1'000, 10});
  say({flag::ack, 101, 511, 990, 0});
  EXPECT_EQ(found(), "nothing");
  say({flag::ack, 101, 511, 990, 0});
  EXPECT_EQ(found(), "more ACKs than segments arrived");
}

TEST_F(RfcRules, AGapInWhatIsSent) {
  shake_hands();
  say({flag::ack, 102, 501, 1'000, 1});
  EXPECT_EQ(found(), "a segment begins beyond all that was sent before");
}

TEST_F(RfcRules, TextAfterOurFin) {
  shake_hands();
  say({flag::ack | flag::fin, 101, 501, 1'000, 5});
  EXPECT_EQ(found(), "nothing");
  say({flag::ack, 107, 501, 1'000, 1});
  EXPECT_EQ(found(), "sequence numbers beyond the FIN");
}

TEST_F(RfcRules, MoreThanThePeersMss) {
  shake_hands();
  say({flag::ack, 101, 501, 1'000, 537});  // no MSS option: 536
  EXPECT_EQ(found(), "more data in a segment than the peer's MSS allows");
}

TEST_F(RfcRules, FlagsThatDoNotGoTogether) {
  say({flag::syn | flag::fin, 100, 0, 1'000, 0});
  EXPECT_EQ(found(), "a SYN with FIN or RST");
}

TEST_F(RfcRules, ASegmentWithoutAck) {
  shake_hands();
  say({flag::psh, 101, 0, 1'000, 5});
  EXPECT_EQ(found(), "a segment without ACK, SYN or RST");
}

TEST_F(RfcRules, AFrameThatNobodyCanRead) {
  std::array<std::byte, 40> garbage{};
  SegmentView view;
  EXPECT_EQ(read_frame(LinkType::ip, garbage, view), FrameContent::malformed);
}

}  // namespace
}  // namespace lockstep::sim
