// Tests of lint on captures with duplicates, joined segments and IPv6 extension headers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "sim/checkers/referee/sentences.hpp"
#include "sim/kernel/pcapng.hpp"
#include "tools/base/capture/octets.hpp"
#include "tools/base/output/atomic_file.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/verbs/lint/copies.hpp"
#include "tools/verbs/lint/lint.hpp"
#include "tools/verbs/lint/report.hpp"

namespace lockstep::tools {
namespace {

using sim::referee::Certainty;
using sim::referee::Rule;
using ::testing::HasSubstr;

/// One segment of a raw IP capture.
struct Say {
  bool from_first = true;
  std::uint8_t flags = tcp_flag::ack;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgment = 0;
  std::uint32_t text = 0;
  std::uint32_t cut = 0;  ///< payload octets that the capture lacks
  std::uint16_t identification = 0;
  std::uint64_t after_us = 1'000;
  std::uint64_t before_us = 0;  ///< if not zero, it is earlier than the previous one by this
  std::uint32_t interface = 0;  ///< 0 or 1
  std::uint16_t window = 60'000;
  std::uint16_t mss = 0;
  std::uint8_t hop_limit = 64;
  std::uint8_t octet = 7;  ///< the value of every payload octet
  bool loopback = false;   ///< both addresses are 127.0.0.1
  /// Of TCP: right, or the pseudo-header's sum, or that without the length, or another number.
  enum class Sum : std::uint8_t { right, pseudo, pseudo_without_length, wrong } sum = Sum::right;
  std::uint16_t total = 0;  ///< the length field of IPv4, with an empty checksum; 0: a right one
};

std::vector<std::byte> tcp_of(const Say& say, std::uint32_t pseudo) {
  std::vector<std::byte> out;
  put_word(out, say.from_first ? 1'000 : 80);
  put_word(out, say.from_first ? 80 : 1'000);
  put_long(out, say.sequence);
  put_long(out, say.acknowledgment);
  put_octet(out, say.mss != 0 ? 0x60 : 0x50);
  put_octet(out, say.flags);
  put_word(out, say.window);
  put_word(out, 0);
  put_word(out, 0);
  if (say.mss != 0) {
    put_word(out, 0x0204);
    put_word(out, say.mss);
  }
  out.resize(out.size() + say.text - say.cut, std::byte{say.octet});
  auto const length = static_cast<std::uint32_t>(out.size());
  auto const right = static_cast<std::uint16_t>(~ones_fold(ones_sum(out, pseudo + 6 + length)));
  bool const counted = say.sum == Say::Sum::pseudo;
  set_word(out, 16,
           say.sum == Say::Sum::right   ? right
           : say.sum == Say::Sum::wrong ? right ^ 0x0100
                                        : ones_fold(pseudo + 6 + (counted ? length : 0)));
  return out;
}

std::vector<std::byte> v4_of(const Say& say) {
  std::vector<std::byte> out;
  std::uint32_t const headers = say.mss != 0 ? 44 : 40;
  put_word(out, 0x4500);
  bool const whole = headers + say.text <= 0xffff;
  put_word(out, say.total != 0 ? say.total : whole ? headers + say.text : 0);
  put_word(out, say.identification);
  put_word(out, 0x4000);
  put_octet(out, say.hop_limit);
  put_octet(out, 6);
  put_word(out, 0);
  bool const loopback = say.loopback;
  put_long(out, loopback ? 0x7f000001 : say.from_first ? 0x0a000001 : 0x0a000002);
  put_long(out, loopback ? 0x7f000001 : say.from_first ? 0x0a000002 : 0x0a000001);
  auto const header = std::span<const std::byte>(out);
  auto const sum = static_cast<std::uint16_t>(~ones_fold(ones_sum(header)));
  std::uint32_t const pseudo = ones_sum(header.subspan(12, 8));
  set_word(out, 10, say.total != 0 ? 0 : sum);
  std::vector<std::byte> const tcp = tcp_of(say, pseudo);
  out.insert(out.end(), tcp.begin(), tcp.end());
  return out;
}

class Written {
 public:
  explicit Written(const std::string& name)
      : path_(::testing::TempDir() + "honest_" + name), file_(path_), writer_(file_) {
    writer_.interface(sim::CaptureLink::raw_ip, "test");
    writer_.interface(sim::CaptureLink::raw_ip, "second");
  }
  Written& add(const Say& say) { return put(v4_of(say), say); }
  Written& put(const std::vector<std::byte>& bytes, const Say& say) {
    at_ = say.before_us != 0 ? at_ - Duration::microseconds(say.before_us)
                             : at_ + Duration::microseconds(say.after_us);
    writer_.packet({say.interface, at_, sim::CaptureWay::unknown, bytes, {}, say.cut});
    return *this;
  }
  Linted lint_at(const IpAddress& place) {
    file_.keep();
    LintOptions options;
    options.capture = path_;
    options.at.push_back(place);
    return tools::lint(options);
  }
  Linted lint(bool whole = false, bool at_first = false) {
    file_.keep();
    LintOptions options;
    options.capture = path_;
    options.whole = whole;
    if (at_first) {
      options.at.push_back(IpAddress::v4(10, 0, 0, 1));
    }
    return tools::lint(options);
  }

 private:
  std::string path_;
  AtomicFile file_;
  sim::PcapngWriter writer_;
  Instant at_ = Instant{} + Duration::seconds(1'700'000'000);
};

constexpr std::uint8_t syn = tcp_flag::syn, ack = tcp_flag::ack, psh = tcp_flag::psh;

std::uint64_t count_of(const Linted& linted, Rule rule) {
  return static_cast<std::uint64_t>(
      std::count_if(linted.violations.begin(), linted.violations.end(),
                    [rule](auto const& violation) { return violation.rule == rule; }));
}

// Each packet is recorded at two points, at the second partly out of order.
TEST(LintHonest, EachPacketTwice) {
  for (bool const numbered : {true, false}) {
    Written file("twice.pcapng");
    std::uint16_t id = 1;
    auto const twice = [&](Say say) {
      say.identification = numbered ? id++ : std::uint16_t{0};
      file.add(say);
      say.after_us = 120;
      file.add(say);
    };
    twice({.flags = syn, .sequence = 99, .mss = 1'460});
    twice({.from_first = false,
           .flags = syn | ack,
           .sequence = 499,
           .acknowledgment = 100,
           .mss = 1'460});
    twice({.sequence = 100, .acknowledgment = 500});
    for (std::uint32_t i = 0; i < 8; ++i) {
      twice(
          {.flags = ack | psh, .sequence = 100 + 1'000 * i, .acknowledgment = 500, .text = 1'000});
      twice({.from_first = false, .sequence = 500, .acknowledgment = 1'100 + 1'000 * i});
    }
    Linted const linted = file.lint();
    EXPECT_EQ(linted.copies, 19u);
    EXPECT_TRUE(linted.violations.empty()) << table_of(linted, 0);
  }
}

// Duplicate ACKs without identifications are equal, and their second records, 300 us later, come
// behind a higher ACK. Which record is whose is unknown, so none shows a window that shrinks.
TEST(LintHonest, EqualAcksTwice) {
  std::multimap<std::uint64_t, Say> all;
  auto const add = [&](std::uint64_t us, const Say& say) {
    all.emplace(us, say);
    all.emplace(us + 300, say);
  };
  add(0, {.from_first = false, .flags = syn, .sequence = 99, .mss = 1'460});
  add(10, {.flags = syn | ack, .sequence = 499, .acknowledgment = 100, .mss = 1'460});
  add(20, {.from_first = false, .sequence = 100, .acknowledgment = 500});
  for (std::uint32_t const i : {0u, 2u, 3u, 1u}) {
    std::uint64_t const us = 1'000 + 10 * all.size();
    add(us,
        {.from_first = false, .sequence = 100 + 1'000 * i, .acknowledgment = 500, .text = 1'000});
    add(us + 1, {.sequence = 500, .acknowledgment = i == 1 ? 4'100u : 1'100u});
  }
  Written file("equal.pcapng");
  std::uint64_t last = 0;
  for (auto& [us, say] : all) {
    say.after_us = us - last;
    last = us;
    file.add(say);
  }
  Linted const linted = file.lint(true, true);
  EXPECT_EQ(count_of(linted, Rule::edge_moved_left), 0u) << table_of(linted, 0);
}

// At 10 Gbit/s thousands of packets lie between the two records.
TEST(LintHonest, ThousandsOfPacketsBetweenTwoRecords) {
  Copies copies(1);
  std::uint32_t first = 0, second = 0, late = 0;
  const auto count = [&copies](std::uint64_t from_us, std::uint32_t& into) {
    for (std::uint32_t i = 0; i < 8'000; ++i) {
      Segment segment;
      segment.sequence = 1'448 * i;
      segment.identification = static_cast<std::uint16_t>(i + 1);
      segment.time = Instant{(from_us + i) * 1'000};
      into += copies.is_copy(segment) ? 1 : 0;
    }
  };
  count(1'000'000, first);
  count(1'009'000, second);
  count(1'030'000, late);
  EXPECT_EQ(first, 0u);
  EXPECT_GT(second, 7'900u);
  EXPECT_EQ(late, 0u);
}

// On the node of a container a packet passes its interface, a bridge, and behind the router the
// outer interface: it is recorded three times, the last time with another hop limit.
TEST(LintHonest, EachPacketThreeTimes) {
  for (bool const numbered : {true, false}) {
    Written file("thrice.pcapng");
    std::uint16_t id = 1;
    auto const thrice = [&](Say say) {
      say.identification = numbered ? id++ : std::uint16_t{0};
      file.add(say);
      say.after_us = 12;
      file.add(say);
      say.hop_limit = 63;
      file.add(say);
    };
    thrice({.flags = syn, .sequence = 99, .mss = 1'460});
    thrice({.from_first = false,
            .flags = syn | ack,
            .sequence = 499,
            .acknowledgment = 100,
            .mss = 1'460});
    for (std::uint8_t const octet : {std::uint8_t{7}, std::uint8_t{9}}) {
      thrice({.flags = ack | psh,
              .sequence = 100,
              .acknowledgment = 500,
              .text = 100,
              .after_us = 80'000,
              .octet = octet});
    }
    Linted const linted = file.lint();
    EXPECT_EQ(linted.copies, 8u);
    EXPECT_EQ(count_of(linted, Rule::text_changed), 1u) << table_of(linted, 0);
    EXPECT_EQ(linted.certain(), 1u) << table_of(linted, 0);
  }
}

// A retransmission has another identification. Where only few packets appear twice, one without an
// identification does not count as a copy.
TEST(LintHonest, WhatIsSentAgainIsNoCopy) {
  Written file("again.pcapng");
  file.add({.flags = syn, .sequence = 99, .identification = 1, .mss = 1'460});
  file.add({.from_first = false,
            .flags = syn | ack,
            .sequence = 499,
            .acknowledgment = 100,
            .identification = 1,
            .mss = 1'460});
  for (std::uint16_t id = 2; id < 4; ++id) {
    file.add({.flags = ack | psh,
              .sequence = 100,
              .acknowledgment = 500,
              .text = 9,
              .identification = id});
  }
  EXPECT_EQ(file.lint().copies, 0u);
}

// Joined segments are detected even with --whole.
TEST(LintHonest, AWholeCaptureOfJoinedSegments) {
  for (std::uint32_t const size : {1'400u, 2'800u}) {
    Written file("joined.pcapng");
    file.add({.flags = syn, .sequence = 99, .mss = 1'200});
    file.add({.from_first = false,
              .flags = syn | ack,
              .sequence = 499,
              .acknowledgment = 100,
              .mss = 1'200});
    file.add({.sequence = 100, .acknowledgment = 500});
    file.add({.flags = ack | psh, .sequence = 100, .acknowledgment = 500, .text = size});
    file.add({.from_first = false, .sequence = 500, .acknowledgment = 100 + size});
    Linted const linted = file.lint(true);
    EXPECT_EQ(linted.joined, size == 2'800 ? 1u : 0u);
    EXPECT_EQ(count_of(linted, Rule::mss_exceeded), 1u);
    EXPECT_EQ(linted.certain(), size == 2'800 ? 0u : 1u) << table_of(linted, 0);
  }
}

/// A client sends `large` octets and then little; its server moves its right edge left time and
/// again.
Written& add_shrinking(Written& file, const Say& large) {
  constexpr auto offloaded = Say::Sum::pseudo;
  file.add({.flags = syn, .sequence = 99, .mss = 1'460, .sum = offloaded});
  file.add({.from_first = false,
            .flags = syn | ack,
            .sequence = 499,
            .acknowledgment = 100,
            .mss = 1'460});
  file.add({.sequence = 100, .acknowledgment = 500, .sum = offloaded});
  file.add(large);
  std::uint32_t next = 100 + large.text;
  file.add({.from_first = false, .sequence = 500, .acknowledgment = next});
  for (std::uint16_t i = 1; i < 8; ++i) {
    file.add({.sequence = next,
              .acknowledgment = 500,
              .text = 100,
              .after_us = 80'000,
              .sum = offloaded});
    next += 100;
    file.add({.from_first = false,
              .sequence = 500,
              .acknowledgment = next,
              .after_us = 20'000,
              .window = static_cast<std::uint16_t>(60'000 - 2'000 * i)});
  }
  return file;
}

// Windows and FreeBSD leave out the length in the checksum of a segment that hardware will split.
TEST(LintHonest, TheChecksumOfASegmentThatHardwareWillSplit) {
  for (std::uint32_t const text : {1'400u, 1'750u}) {
    Written file("split.pcapng");
    add_shrinking(file,
                  {.sequence = 100,
                   .acknowledgment = 500,
                   .text = text,
                   .sum = text == 1'400 ? Say::Sum::pseudo : Say::Sum::pseudo_without_length});
    Linted const linted = file.lint();
    EXPECT_EQ(linted.certain(), 5u) << table_of(linted, 0);
  }
}

// FreeBSD also writes the length of the first part. What follows a segment with any other checksum
// is no part of it.
TEST(LintHonest, TheLengthOfASegmentThatHardwareWillSplit) {
  for (std::uint32_t const text : {1'478u, 7'240u}) {
    for (bool const split : {true, false}) {
      Written file("parts.pcapng");
      add_shrinking(file, {.sequence = 100,
                           .acknowledgment = 500,
                           .text = text,
                           .sum = split ? Say::Sum::pseudo_without_length : Say::Sum::right,
                           .total = 40 + 1'448});
      Linted const linted = file.lint();
      EXPECT_EQ(linted.joined, split ? 1u : 0u);
      EXPECT_EQ(linted.certain(), split ? 5u : 0u) << table_of(linted, 0);
    }
  }
}

// A NIC joins segments and leaves the checksum of the first one, or none. Their octets are judged:
// the NIC has found each checksum right. Where no data has a right one, the capture was edited.
TEST(LintHonest, TheChecksumOfJoinedSegments) {
  for (bool const edited : {false, true}) {
    for (std::uint8_t const octet : {std::uint8_t{7}, std::uint8_t{9}}) {
      Written file("stale.pcapng");
      file.add({.flags = syn, .sequence = 99, .mss = 1'460});
      file.add({.from_first = false,
                .flags = syn | ack,
                .sequence = 499,
                .acknowledgment = 100,
                .mss = 1'460});
      file.add({.sequence = 100, .acknowledgment = 500});
      std::uint32_t next = 500;
      for (std::uint32_t const text : {4'380u, 1'000u, 2'920u}) {
        bool const wrong = text > 1'460 || edited;
        file.add({.from_first = false,
                  .sequence = next,
                  .acknowledgment = 100,
                  .text = text,
                  .sum = wrong ? Say::Sum::wrong : Say::Sum::right});
        next += text;
        file.add({.sequence = 100, .acknowledgment = next});
      }
      file.add({.from_first = false,
                .sequence = 500,
                .acknowledgment = 100,
                .text = 2'920,
                .after_us = 300'000,
                .octet = octet,
                .sum = Say::Sum::wrong});
      bool const whole = !edited && octet == 7;
      Linted const linted = file.lint(whole);
      EXPECT_EQ(count_of(linted, Rule::tcp_checksum), edited ? 1u : 0u) << table_of(linted, 0);
      EXPECT_EQ(count_of(linted, Rule::text_changed), octet == 7 ? 0u : 1u);
      EXPECT_EQ(linted.certain(), octet == 9 && !edited ? 1u : 0u) << table_of(linted, 0);
    }
  }
}

/// A recorder with an interface for each direction writes in turn what each has collected. Every
/// tenth segment of a side has an option that belongs to a SYN. `second`: the server's interface.
Written& add_blocks(Written& file, std::uint32_t second) {
  file.add({.flags = syn, .sequence = 99, .mss = 1'460});
  file.add({.from_first = false,
            .flags = syn | ack,
            .sequence = 499,
            .acknowledgment = 100,
            .interface = second,
            .mss = 1'460});
  file.add({.sequence = 100, .acknowledgment = 500});
  constexpr std::uint32_t segments = 20, text = 1'000;
  for (bool const acks : {true, false}) {
    for (std::uint32_t i = 1; i <= segments; ++i) {
      bool const back = !acks && i == 1;
      file.add({.from_first = acks,
                .sequence = acks ? 100 : 500 + (i - 1) * text,
                .acknowledgment = acks ? 500 + i * text : 100,
                .text = acks ? 0 : text,
                .after_us = 10'000,
                .before_us = back ? (segments - 1) * 10'000 + 500u : 0,
                .interface = acks ? 0 : second,
                .mss = static_cast<std::uint16_t>(i % 10 == 0 ? 1'460 : 0)});
    }
  }
  return file;
}

TEST(LintHonest, TheBlocksOfTwoInterfaces) {
  Written file("blocks.pcapng");
  Linted const linted = add_blocks(file, 1).lint(true);
  EXPECT_EQ(linted.order, FileOrder::sorted_here);
  EXPECT_EQ(linted.certain(), 4u) << table_of(linted, 0);
  EXPECT_EQ(count_of(linted, Rule::mss_outside_syn), 4u);
  EXPECT_TRUE(std::ranges::is_sorted(linted.violations, {}, &sim::referee::Violation::packet));
  EXPECT_EQ(json_of(linted, "").at("order"), "time");
  Written same("blocks_of_one.pcapng");
  EXPECT_EQ(add_blocks(same, 0).lint(true).order, FileOrder::unknown);
}

// If a clock was set, or captures were appended, the order is unknown, so that no finding is surer
// with --whole. Queues of a NIC, and clocks with different units, are a little apart.
TEST(LintHonest, TimesThatGoBack) {
  for (std::uint64_t const before_us : {0u, 5u, 20'001u, 3'000'000u}) {
    for (std::uint32_t const interface : {0u, 1u}) {
      Written file("back.pcapng");
      file.add({.flags = syn, .sequence = 99, .mss = 1'460});
      file.add({.from_first = false,
                .flags = syn | ack,
                .sequence = 499,
                .acknowledgment = 100,
                .after_us = 40'000,
                .mss = 1'460});
      file.add(
          {.sequence = 100, .acknowledgment = 500, .before_us = before_us, .interface = interface});
      file.add(
          {.from_first = false, .sequence = 500, .acknowledgment = 200, .after_us = 4'000'000});
      bool const sorted = before_us == 20'001 && interface == 1;
      bool const unknown = before_us > 20'000 && !sorted;
      Linted const linted = file.lint(true);
      EXPECT_EQ(linted.order, sorted    ? FileOrder::sorted_here
                              : unknown ? FileOrder::unknown
                                        : FileOrder::as_read);
      EXPECT_EQ(linted.certain() == 0, unknown) << table_of(linted, 0);
    }
  }
}

// A connection over the loopback interface has another MSS than those of the network.
TEST(LintHonest, JoinedSegmentsBesideALoopbackConnection) {
  Written file("beside.pcapng");
  file.add({.flags = syn, .sequence = 99, .mss = 1'460});
  file.add({.from_first = false,
            .flags = syn | ack,
            .sequence = 499,
            .acknowledgment = 100,
            .mss = 1'460});
  file.add({.sequence = 100, .acknowledgment = 500});
  file.add({.flags = ack | psh, .sequence = 100, .acknowledgment = 500, .text = 2'920});
  file.add({.from_first = false, .sequence = 500, .acknowledgment = 3'020});
  file.add({.flags = syn, .mss = 65'495, .loopback = true});
  Linted const linted = file.lint(true);
  EXPECT_EQ(linted.joined, 1u);
  EXPECT_EQ(linted.certain(), 0u) << table_of(linted, 0);
}

// An --at address that does not occur is an error: else the option would silently have no effect.
TEST(LintHonest, APlaceThatIsNotInTheCaptureIsRefused) {
  for (std::uint8_t const last : {std::uint8_t{2}, std::uint8_t{9}}) {
    Written file("place.pcapng");
    file.add({.flags = syn, .sequence = 99, .mss = 1'460});
    file.add({.from_first = false,
              .flags = syn | ack,
              .sequence = 499,
              .acknowledgment = 100,
              .mss = 1'460});
    if (last == 2) {
      EXPECT_EQ(file.lint_at(IpAddress::v4(10, 0, 0, last)).segments, 2u);
    } else {
      EXPECT_THROW(file.lint_at(IpAddress::v4(10, 0, 0, last)), Failure);
    }
  }
}

TEST(LintHonest, AGapIsSeenWhereItWasSent) {
  for (bool const whole : {false, true}) {
    Written file("gap.pcapng");
    file.add({.flags = syn, .sequence = 99, .mss = 1'460});
    file.add({.from_first = false,
              .flags = syn | ack,
              .sequence = 499,
              .acknowledgment = 100,
              .mss = 1'460});
    file.add({.sequence = 100, .acknowledgment = 500});
    file.add({.flags = ack | psh, .sequence = 200, .acknowledgment = 500, .text = 9});
    Linted const linted = file.lint(whole, true);
    ASSERT_EQ(count_of(linted, Rule::sent_with_gap), 1u);
    EXPECT_EQ(linted.certain(), 0u);  // the host's own queue may have dropped the packet before
  }
}

// All small segments of a sender with TCP_NODELAY take one line.
TEST(LintHonest, WhatIsARightIsOneLine) {
  Written file("nagle.pcapng");
  file.add({.flags = syn, .sequence = 99, .mss = 1'460});
  file.add({.from_first = false,
            .flags = syn | ack,
            .sequence = 499,
            .acknowledgment = 100,
            .mss = 1'460});
  file.add({.sequence = 100, .acknowledgment = 500});
  for (std::uint32_t i = 0; i < 604; ++i) {
    file.add({.flags = ack | psh, .sequence = 100 + i, .acknowledgment = 500, .text = 1});
  }
  Linted const linted = file.lint();
  std::string const table = table_of(linted, 0);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3) << table;
  EXPECT_THAT(table, HasSubstr("602 more: a small segment while another is unacknowledged"));
  EXPECT_THAT(counts_of(linted, 0), HasSubstr("nagle"));
  EXPECT_EQ(linted.likely() + linted.certain(), 0u);
}

TEST(LintHonest, OfOneCauseTheFirstFiveAreShown) {
  Written file("five.pcapng");
  file.add({.flags = syn, .sequence = 99, .mss = 1'460});
  file.add({.from_first = false,
            .flags = syn | ack,
            .sequence = 499,
            .acknowledgment = 100,
            .mss = 1'460});
  file.add({.sequence = 100, .acknowledgment = 500});
  for (std::uint16_t i = 1; i <= 30; ++i) {
    file.add({.sequence = 100, .acknowledgment = 500, .identification = i, .mss = 1'460});
  }
  std::string const table = table_of(file.lint(), 0);
  EXPECT_THAT(table, HasSubstr("25 more: MSS outside of a SYN")) << table;
}

/// A SYN over IPv6 with a routing header, or with a home address option.
std::vector<std::byte> v6_of(std::uint8_t header, bool right) {
  auto const put_address = [](std::vector<std::byte>& out, std::uint32_t last) {
    for (std::uint32_t const part : {0x20010db8u, 0u, 0u, last}) {
      put_long(out, part);
    }
  };
  std::vector<std::byte> pseudo;
  bool const routed = header == 43;
  put_address(pseudo, routed ? 1 : 9);
  put_address(pseudo, routed ? 9 : 2);
  Say const say{.flags = syn, .sequence = 99, .mss = 1'440};
  std::vector<std::byte> tcp = tcp_of(say, ones_sum(pseudo));
  tcp[17] ^= right ? std::byte{} : std::byte{1};
  std::vector<std::byte> out;
  put_long(out, 0x60000000);
  put_word(out, static_cast<std::uint32_t>(24 + tcp.size()));
  put_octet(out, header);
  put_octet(out, 64);
  put_address(out, 1);
  put_address(out, 2);
  put_octet(out, 6);
  put_octet(out, 2);
  if (routed) {  // routing type 0, one segment left
    put_word(out, 0x0001);
    put_long(out, 0);
    put_address(out, 9);
  } else {  // padding and the home address
    put_long(out, 0x01020000);
    put_word(out, 0xc910);
    put_address(out, 9);
  }
  out.insert(out.end(), tcp.begin(), tcp.end());
  return out;
}

TEST(LintHonest, ChecksumsUnderExtensionHeaders) {
  for (std::uint8_t const header : {std::uint8_t{43}, std::uint8_t{60}}) {
    for (bool const right : {true, false}) {
      Written file("v6.pcapng");
      file.put(v6_of(header, right), {});
      Linted const linted = file.lint();
      EXPECT_EQ(linted.segments, 1u);
      EXPECT_EQ(count_of(linted, Rule::tcp_checksum), right ? 0u : 1u) << int{header};
    }
  }
}

// Beyond 2^31 and 2^32 octets there is no false finding, and a gap is still found.
TEST(LintHonest, FiveGibibytesOfAConnection) {
  Written file("long.pcapng");
  file.add({.flags = syn, .sequence = 99, .window = 65'535, .mss = 1'460});
  file.add({.from_first = false,
            .flags = syn | ack,
            .sequence = 499,
            .acknowledgment = 100,
            .window = 65'535,
            .mss = 1'460});
  file.add({.sequence = 100, .acknowledgment = 500, .window = 65'535});
  std::uint32_t at = 100;
  constexpr std::uint32_t size = 60'000;
  for (std::uint64_t sent = 0; sent < std::uint64_t{5} << 30; sent += size) {
    file.add({.flags = ack | psh,
              .sequence = at,
              .acknowledgment = 500,
              .text = size,
              .cut = size - 1,
              .window = 65'535});
    at += size;
    file.add({.from_first = false, .sequence = 500, .acknowledgment = at, .window = 65'535});
  }
  file.add({
      .from_first = false,
      .sequence = 500,
      .acknowledgment = at + 1'000,
      .window = 65'535,
  });
  file.add({.flags = ack | psh,
            .sequence = at,
            .acknowledgment = 500,
            .text = 9,
            .after_us = 100'000,
            .window = 65'535});
  Linted const linted = file.lint();
  EXPECT_EQ(count_of(linted, Rule::ack_of_unheard), 1u) << table_of(linted, 0);
  EXPECT_EQ(linted.certain() + linted.likely(), 1u) << table_of(linted, 0);
}

// The clause texts equal those in conformance/requirements.
TEST(LintHonest, EachClauseHasItsSentence) {
  for (sim::referee::RuleText const& rule : sim::referee::rule_texts) {
    std::string const clause(rule.clause);
    std::string const rfc = "rfc" + clause.substr(0, clause.find(':'));
    std::ifstream file(std::string(LOCKSTEP_SOURCE_DIR) + "/conformance/requirements/" + rfc +
                       ".toml");
    std::string const all{std::istreambuf_iterator<char>(file), {}};
    std::size_t const row = all.find("id = \"" + clause + "\"");
    ASSERT_NE(row, std::string::npos) << clause;
    std::string const line = all.substr(row, all.find('\n', row) - row);
    std::string plain = std::regex_replace(line, std::regex(R"(\\")"), "\"");
    EXPECT_THAT(plain, HasSubstr(std::string(sim::referee::sentence_of(rule.clause)))) << clause;
    EXPECT_FALSE(sim::referee::sentence_of(rule.clause).empty()) << clause;
  }
}

}  // namespace
}  // namespace lockstep::tools
