// The diff of a capture and the core: which line is marked, and what its columns say.
#include "conformance/replay/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "conformance/replay/conversation.hpp"
#include "conformance/replay/replay.hpp"

namespace lockstep::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Replayed replayed(const Conversation& c) { return replay_flow(c.flow(), c.device_side(), nullptr); }

void put_options(Conversation& c, std::initializer_list<std::uint8_t> octets) {
  c.last().options.clear();
  for (std::uint8_t const octet : octets) {
    c.last().options.push_back(static_cast<std::byte>(octet));
  }
}

/// The device sends other octets under numbers that it has used.
Conversation two_versions() {
  Conversation c;
  c.handshake().peer(11, "PA", {1, 1, 100});
  c.device(11, "A", {1, 101, 1200}).device(11, "PA", {1101, 101, 900});
  c.last().payload[0] = std::byte{0xff};
  c.peer(21, "A", {101, 2001});
  return c;
}

TEST(Diff, MarksTheAccusedPacket) {
  std::vector<std::string> marked;
  for (DiffRow const& row : divergence_rows(replayed(two_versions()))) {
    if (row.marked) {
      marked.push_back(row.left);
    }
  }
  EXPECT_THAT(marked, ElementsAre("> 6 A   seq 1101+900 ack 101 win 65535"));
}

TEST(Diff, HasTheCaptureOnTheLeftAndTheCoreOnTheRight) {
  Replayed const result = replayed(two_versions());
  std::vector<std::string> ours;
  std::vector<std::string> theirs;
  for (DiffRow const& row : divergence_rows(result)) {
    if (row.kind == DiffRow::Kind::from_core) {
      ours.push_back(row.right);
      EXPECT_EQ(row.left, "");
    } else if (row.kind == DiffRow::Kind::from_captured) {
      theirs.push_back(row.left);
      EXPECT_EQ(row.right, "");
    }
  }
  EXPECT_THAT(theirs, ElementsAre("> 5 A   seq 1+1200 ack 101 win 65535",
                                  "> 6 A   seq 1101+900 ack 101 win 65535"));
  EXPECT_THAT(ours, ElementsAre("> A   seq 1+1200 ack 101 win 65435",
                                "> A   seq 1201+800 ack 101 win 65435"));
}

TEST(Diff, StandsInColumns) {
  std::string const text = divergence_text(replayed(two_versions()));
  std::size_t const heading = text.find("        time  capture");
  ASSERT_NE(heading, std::string::npos) << text;
  std::size_t const bar = text.find('|', heading) - heading;
  std::size_t rows = 0;
  for (std::size_t at = heading; text.compare(at, 8, "  state ") != 0; ++rows) {
    ASSERT_EQ(text.find('|', at) - at, bar) << text;
    at = text.find('\n', at) + 1;
  }
  EXPECT_EQ(rows, 9u) << text;
}

// Sequence numbers, blocks and windows as they are meant, not as they are in the header.
TEST(Diff, ShowsOptionsAndScaledWindows) {
  Conversation c;
  c.peer(0, "S", {0, 0});
  put_options(c, {2, 4, 5, 180, 4, 2, 1, 3, 3, 7});
  c.device(0, "SA", {0, 1});
  put_options(c, {2, 4, 5, 180, 4, 2, 1, 3, 3, 2});
  c.peer(10, "A", {1, 1, 0, 512}).peer(11, "PA", {1, 1, 100, 512});
  c.device(11, "A", {1, 101, 1200}).device(11, "PA", {1201, 101, 900});
  c.peer(21, "A", {101, 1, 0, 512});
  // From 1201 to 2101 of the device, whose SYN has the number 0xffff'fff0.
  put_options(c, {1, 1, 5, 10, 0, 0, 4, 161, 0, 0, 8, 37});
  c.device(22, "A", {1, 101, 1200});
  c.last().payload[0] = std::byte{0xff};
  c.peer(32, "A", {101, 2101, 0, 512});
  std::string const text = divergence_text(replayed(c));
  EXPECT_THAT(text, HasSubstr("< 7 A   seq 101 ack 1 win 512 (65536) sack 1201-2101"));
  EXPECT_THAT(text, HasSubstr("> 0.022000 s  > 8 A   seq 1+1200 ack 101 win 65535 (262140)"));
}

}  // namespace
}  // namespace lockstep::conformance
