// The verdicts of lint and replay on anonymised captures are those on the originals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <cstdlib>

#include "core/units/random.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/anonymise/anonymise_kit.hpp"
#include "tools/verbs/anonymise/shrink.hpp"

namespace lockstep::tools {
namespace {

using testing::HasSubstr;

std::vector<std::string> scenario_captures() {
  std::vector<std::string> out;
  for (auto const& entry :
       std::filesystem::directory_iterator(std::string(LOCKSTEP_SOURCE_DIR) + "/pcaps")) {
    std::string const path = entry.path() / "capture.pcapng";
    if (std::filesystem::exists(path)) {
      out.push_back(path);
    }
  }
  std::ranges::sort(out);
  return out;
}

std::vector<std::string> further_captures() {
  std::vector<std::string> out;
  const char* const folder = std::getenv("LOCKSTEP_CAPTURES");
  if (folder == nullptr) {
    return out;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::string const ending = entry.path().extension();
    if (ending == ".pcap" || ending == ".pcapng") {
      out.push_back(entry.path());
    }
  }
  std::ranges::sort(out);
  return out;
}

bool has_tcp(const std::string& path) {
  for (const KitRead& each : read_all(path)) {
    if (each.decoded.kind == FrameKind::tcp) {
      return true;
    }
  }
  return false;
}

AnonymiseRequest request_for(const std::string& capture, const std::string& out) {
  AnonymiseRequest request;
  request.options.capture = capture;
  request.out = out;
  request.replay = true;
  return request;
}

/// All that judges read, and that is not replaced.
void expect_alike(const Segment& before, const Segment& after) {
  EXPECT_EQ(before.flags, after.flags);
  EXPECT_EQ(before.reserved, after.reserved);
  EXPECT_EQ(before.window, after.window);
  EXPECT_EQ(before.urgent, after.urgent);
  EXPECT_EQ(before.options.size(), after.options.size());
  EXPECT_EQ(before.payload.size(), after.payload.size());
  EXPECT_EQ(before.missing, after.missing);
  EXPECT_EQ(before.traffic_class, after.traffic_class);
  EXPECT_EQ(before.hop_limit, after.hop_limit);
  EXPECT_EQ(before.identification, after.identification);
  EXPECT_EQ(before.sum, after.sum);
  EXPECT_EQ(before.header_sum, after.header_sum);
  EXPECT_EQ(before.ipv6, after.ipv6);
  EXPECT_EQ(before.source.port.value < 1'024, after.source.port.value < 1'024);
}

/// The segments of both files, pairwise.
std::vector<std::pair<Segment, Segment>> segments_of(const std::string& before,
                                                     const std::string& after) {
  std::vector<std::pair<Segment, Segment>> out;
  std::vector<KitRead> const written = read_all(after);
  std::size_t next = 0;
  for (const KitRead& each : read_all(before)) {
    if (each.decoded.kind != FrameKind::tcp) {
      continue;
    }
    while (next < written.size() && written[next].decoded.kind != FrameKind::tcp) {
      ++next;
    }
    if (next == written.size()) {
      ADD_FAILURE() << after << " has too few segments";
      return out;
    }
    out.emplace_back(each.decoded.segment, written[next++].decoded.segment);
  }
  return out;
}

/// Findings without packet numbers, which may differ.
std::vector<PlainFinding> unnumbered(std::vector<PlainFinding> findings) {
  for (PlainFinding& each : findings) {
    each.packet = 0;
  }
  std::ranges::sort(findings);
  return findings;
}

void expect_equal_lint(LintOptions before, LintOptions after) {
  std::vector<PlainFinding> const one = unnumbered(lint_findings(before, {}));
  EXPECT_EQ(difference(one, unnumbered(lint_findings(after, {}))), "") << before.capture;
}

void expect_kept(const std::string& capture) {
  SCOPED_TRACE(capture);
  std::string const out = free_name("verdict.out");
  AnonymiseReport const report = anonymise(request_for(capture, out));
  EXPECT_EQ(report.lint_differs, "");
  EXPECT_EQ(report.replay_differs, "");
  EXPECT_GT(report.verdicts, 0u);
  std::map<IpAddress, IpAddress> senders;
  for (auto const& [before, after] : segments_of(capture, out)) {
    expect_alike(before, after);
    auto const known = senders.emplace(before.source.address, after.source.address);
    EXPECT_EQ(known.first->second, after.source.address);
  }
  LintOptions one, other;
  one.capture = capture;
  other.capture = out;
  one.whole = other.whole = true;
  expect_equal_lint(one, other);
  for (auto const& [before, after] : senders) {
    one.at = {before};
    other.at = {after};
    expect_equal_lint(one, other);
  }
}

TEST(AnonymiseVerdict, StaysForEveryScenario) {
  std::vector<std::string> const captures = scenario_captures();
  EXPECT_GT(captures.size(), 150u);
  for (const std::string& capture : captures) {
    expect_kept(capture);
  }
}

TEST(AnonymiseVerdict, StaysForCapturesOfOthers) {
  std::vector<std::string> const captures = further_captures();
  if (captures.empty()) {
    GTEST_SKIP() << "LOCKSTEP_CAPTURES does not name the folder of captures";
  }
  for (const std::string& capture : captures) {
    if (has_tcp(capture)) {
      expect_kept(capture);
    }
  }
}

/// The frames of a capture with a few octets changed, shortened or repeated.
std::string mutated(const std::string& capture, Random& random) {
  std::vector<KitFrame> frames;
  std::vector<KitRead> const all = read_all(capture);
  for (const KitRead& each : all) {
    KitFrame frame{each.frame.bytes,
                   each.frame.original_bytes - static_cast<std::uint32_t>(each.frame.bytes.size())};
    std::uint64_t const what = random.below(16);
    for (std::uint64_t i = 0; i < what % 4 && what < 8 && !frame.bytes.empty(); ++i) {
      std::size_t const most = std::min<std::size_t>(frame.bytes.size(), 80);
      frame.bytes[random.below(most)] = std::byte{static_cast<std::uint8_t>(random.next())};
    }
    if (what == 8) {
      std::size_t const kept = random.below(frame.bytes.size() + 1);
      frame.cut = static_cast<std::uint32_t>(frame.bytes.size() - kept) * (random.next() % 2);
      frame.bytes.resize(kept);
    }
    frame.interface = static_cast<std::uint32_t>(what / 15);
    frames.insert(frames.end(), what == 9 ? 2 : 1, frame);
  }
  sim::CaptureLink const link = all.front().link == LinkLayer::ethernet ? sim::CaptureLink::ethernet
                                                                        : sim::CaptureLink::raw_ip;
  return written("mutated.pcapng", frames, link);
}

TEST(AnonymiseVerdict, StaysForDamagedCaptures) {
  Random random(7);
  std::vector<std::string> const captures = scenario_captures();
  std::size_t judged = 0;
  for (int round = 0; round < 400; ++round) {
    std::string const in = mutated(captures[random.below(captures.size())], random);
    if (!has_tcp(in)) {
      continue;
    }
    AnonymiseReport const report = anonymise(request_for(in, free_name("mutated.out")));
    EXPECT_EQ(report.lint_differs, "") << round;
    EXPECT_EQ(report.replay_differs, "") << round;
    ++judged;
  }
  EXPECT_GT(judged, 300u);
}

/// Three connections of one client. In those with the ports of `odd` it sends a SYN with FIN.
std::vector<KitFrame> three_connections(const std::set<std::uint16_t>& odd) {
  using namespace tcp_flag;
  std::vector<KitFrame> out;
  for (std::uint16_t port : {std::uint16_t{40'001}, std::uint16_t{40'002}, std::uint16_t{40'003}}) {
    std::vector<Segment> segments = kit_exchange("hello");
    if (odd.contains(port)) {
      segments.push_back(kit_segment(false, ack, 0x5566'7789, 0x1122'334a));
      segments.push_back(kit_segment(true, ack | syn | fin, 0x1122'334a, 0x5566'7789));
    }
    for (Segment& segment : segments) {
      Endpoint& client = segment.source == kit_server ? segment.destination : segment.source;
      client.port = Port{port};
      // Increments that differ.
      std::uint32_t const step = std::uint32_t{port} * port * 77'777u;
      (segment.source == kit_server ? segment.acknowledgment : segment.sequence) += step;
      (segment.source == kit_server ? segment.sequence : segment.acknowledgment) += step * 3;
      if (segment.flags == syn) {
        segment.acknowledgment = 0;
      }
      out.push_back({conformance::packet_of(segment)});
    }
  }
  return out;
}

TEST(AnonymiseVerdict, OneConnectionIsKept) {
  AnonymiseRequest request =
      request_for(written("three.pcapng", three_connections({40'002})), free_name("three.out"));
  request.only = pair_of({kit_client.address, Port{40'002}}, kit_server);
  AnonymiseReport const report = anonymise(request);
  EXPECT_EQ(report.lint_differs, "");
  EXPECT_EQ(report.counts.kept[static_cast<std::size_t>(Sort::tcp)], 6u);
  EXPECT_EQ(report.counts.dropped[static_cast<std::size_t>(Sort::tcp)], 8u);
  EXPECT_GT(report.findings, 0u);
}

TEST(AnonymiseVerdict, ShrinkingDropsWhatTheFindingDoesNotNeed) {
  std::string const in = written("shrink.pcapng", three_connections({40'001, 40'003}));
  AnonymiseRequest request = request_for(in, free_name("shrink.out"));
  request.replay = false;
  request.shrink = true;
  AnonymiseReport const report = anonymise(request);
  EXPECT_EQ(report.lint_differs, "");
  EXPECT_GT(report.findings, 0u);
  EXPECT_EQ(report.selection.without.size(), 1u);
  EXPECT_LE(report.counts.packets_out, 12u);
  std::set<Port> clients;
  for (const KitRead& each : read_all(request.out)) {
    clients.insert(
        std::max(each.decoded.segment.source.port, each.decoded.segment.destination.port));
  }
  EXPECT_EQ(clients.size(), 2u);
}

TEST(AnonymiseVerdict, ShrinkingDropsPacketsFromBothEnds) {
  std::string const in = written("ends.pcapng", three_connections({40'002}));
  AnonymiseRequest request = request_for(in, free_name("ends.out"));
  request.replay = false;
  request.shrink = true;
  AnonymiseReport const report = anonymise(request);
  EXPECT_EQ(report.lint_differs, "");
  EXPECT_GT(report.selection.first, 1u);
  EXPECT_EQ(report.selection.last, 10u);
  EXPECT_LE(report.counts.packets_out, 6u);
}

TEST(AnonymiseVerdict, ThereMustBeAFindingToShrinkTo) {
  AnonymiseRequest request =
      request_for(written("none.pcapng", frames_of(kit_exchange())), free_name("none.out"));
  request.shrink = true;
  EXPECT_THROW(anonymise(request), Failure);
  EXPECT_FALSE(std::filesystem::exists(request.out));
}

// All ISNs of a host are the same, which only several connections show.
TEST(AnonymiseVerdict, ADifferenceIsReportedAndTheOutputKept) {
  std::vector<KitFrame> frames;
  for (std::uint16_t port = 40'000; port < 40'020; ++port) {
    for (Segment segment : kit_exchange("hello")) {
      (segment.source == kit_server ? segment.destination : segment.source).port = Port{port};
      frames.push_back({conformance::packet_of(segment)});
    }
  }
  AnonymiseRequest request = request_for(written("isn.pcapng", frames), free_name("isn.out"));
  EXPECT_EQ(anonymise(request).lint_differs, "");
  request.out = free_name("isn_one.out");
  request.only = pair_of({kit_client.address, Port{40'019}}, kit_server);
  AnonymiseReport const report = anonymise(request);
  EXPECT_THAT(report.lint_differs, HasSubstr("became nothing"));
  EXPECT_FALSE(report.is_kept());
  EXPECT_TRUE(std::filesystem::exists(request.out));
}

TEST(AnonymiseVerdict, NumbersAreShiftedUnlessTheyAreToBeKept) {
  AnonymiseRequest request =
      request_for(written("numbers.pcapng", frames_of(kit_exchange())), free_name("numbers.out"));
  anonymise(request);
  EXPECT_NE(read_all(request.out)[0].decoded.segment.sequence, 0x1122'3344u);
  request.out = free_name("numbers_kept.out");
  request.options.keep_numbers = true;
  anonymise(request);
  EXPECT_EQ(read_all(request.out)[0].decoded.segment.sequence, 0x1122'3344u);
}

}  // namespace
}  // namespace lockstep::tools
