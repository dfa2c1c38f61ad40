// Rows of the live table: their values, and that they fit the terminal.
#include "tools/verbs/serve/live.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace lockstep::tools {
namespace {

constexpr Columns narrow{80};
constexpr Columns wide{120};

Moment busy() {
  Moment out;
  out.lasted = Duration::seconds(12);
  out.connections = 1'234;
  out.requests = 123'456;
  out.octets = 123'456'789;
  out.errors = 999'999;
  out.open = 99'999;
  out.active = 12'345;
  out.time_wait = 54'321;
  out.stack.tcp.retransmissions = 77;
  out.port.frames_in = 1'000;
  out.processor = Duration::microseconds(1'500);
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    out.latency.add(Duration::microseconds(i));
    out.rtt.add(Duration::microseconds(i * 20));
  }
  return out;
}

std::size_t longest_line(const std::string& text) {
  std::size_t out = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    out = std::max(out, line.size());
  }
  return out;
}

std::uint32_t lines_of(const std::string& text) {
  return static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n')) + 1;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST(Live, EveryWordOfARow) {
  Moment before = busy();
  before.lasted = Duration::seconds(11);
  before.connections -= 1'000;
  before.requests -= 100'000;
  before.octets = 0;
  before.errors -= 3;
  before.stack.tcp.retransmissions = 70;
  before.port.frames_in = 0;
  before.processor = Duration{};
  before.latency = before.rtt = load::Histogram{};
  // Times are the upper bounds of their buckets, at most 1/128 too large.
  std::vector<std::string> const expected{"12",     "1,000",  "100,000", "987.6Mbit/s", "99,999",
                                          "12,345", "54,321", "7",       "3",           "10ms",
                                          "19ms",   "501us",  "991us",   "999us",       "1500"};
  EXPECT_EQ(words_of(live_row(before, busy(), narrow, {})), expected);
  EXPECT_EQ(words_of(live_row(before, busy(), wide, {})), expected);
}

TEST(Live, RowsFitTheTerminal) {
  for (bool const has_labels : {false, true}) {
    for (Columns const columns : {narrow, wide}) {
      std::string const head = live_head(columns, has_labels);
      std::string const row = live_row(Moment{}, busy(), columns, {has_labels ? "all" : ""});
      EXPECT_LE(longest_line(head), columns.count) << head;
      EXPECT_LE(longest_line(row), columns.count) << row;
      EXPECT_EQ(lines_of(row), columns.count == 80 ? 2u : 1u);
      EXPECT_EQ(lines_of(head), 2 * lines_of(row));
    }
  }
  EXPECT_EQ(lines_of(live_row(Moment{}, busy(), {112}, {})), 2u);
  EXPECT_EQ(lines_of(live_row(Moment{}, busy(), {113}, {})), 1u);
}

TEST(Live, NoTimesAreADashAndLossesAreNamed) {
  Moment quiet;
  quiet.lasted = Duration::seconds(1);
  quiet.stack.drops.count(Drop::tcp_checksum);
  quiet.port.missed = 2;
  std::string const row = live_row(Moment{}, quiet, wide, {});
  EXPECT_NE(row.find(" - -  "), std::string::npos) << row;
  EXPECT_NE(row.find("\n     lost: 1 tcp_checksum, 2 port_missed"), std::string::npos) << row;
}

TEST(Live, SumsOfShards) {
  Moment sum = busy();
  add(sum, busy());
  EXPECT_EQ(sum.active, 24'690u);
  add(sum, Moment{});  // from a shard that does not know it
  EXPECT_EQ(sum.active, 24'690u);
  EXPECT_EQ(sum.latency.count(), 2'000u);
  EXPECT_EQ(sum.lasted, Duration::seconds(12));
  EXPECT_EQ(sum.processor, Duration::microseconds(3'000));
}

}  // namespace
}  // namespace lockstep::tools
