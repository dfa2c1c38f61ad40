// Data above gaps: a share per remote, and eviction of old gaps, in profile default.
#include <gtest/gtest.h>

#include <vector>

#include "core/stack/testing/crowd_kit.hpp"

namespace lockstep::testing {
namespace {

constexpr IpAddress honest = IpAddress::v4(10, 0, 0, 2);

// A server and peers whose connections leave gaps.
struct Gaps : Crowd {
  explicit Gaps(const Config& config = crowd_config()) : Crowd(config) { auto_consume = false; }

  Remote open(IpAddress address, std::uint16_t port) {
    Remote remote{address, port};
    static_cast<void>(take());
    deliver_from(remote, flag::syn, 0);
    auto const out = take();
    remote.next = out.at(0).absolute.value + 1;
    deliver_from(remote, flag::ack, 1);
    return remote;
  }

  // Connections with `gaps` blocks that contain one octet each.
  std::vector<Remote> greedy(IpAddress address, std::uint16_t connections, std::uint32_t gaps) {
    std::vector<Remote> out;
    for (std::uint16_t port = 1; port <= connections; ++port) {
      out.push_back(open(address, port));
      for (std::uint32_t i = 1; i <= gaps; ++i) {
        deliver_from(out.back(), flag::ack, 1 + 2048 * i, "x");
      }
    }
    return out;
  }

  // The SACK blocks in the answer to five octets above a gap.
  std::string report_of(const Remote& from, std::uint32_t seq) {
    static_cast<void>(take());
    deliver_from(from, flag::ack, seq, "hello");
    auto const out = take();
    return out.empty() ? "nothing" : out.back().sack;
  }
};

// Before: 67 connections of one remote used all space for data above gaps, permanently.
TEST(GapShares, OneRemoteLeavesSpaceForOthers) {
  Gaps kit;
  auto const good = kit.open(honest, 4000);
  auto const bad = kit.greedy(IpAddress::v4(10, 0, 0, 66), 67, 31);
  EXPECT_GT(kit.drops(Drop::tcp_out_of_order_refused), 0u);
  auto const before = kit.drops(Drop::tcp_out_of_order_refused);
  EXPECT_EQ(kit.report_of(good, 101), "101-106");
  EXPECT_EQ(kit.drops(Drop::tcp_out_of_order_refused), before);
  // The greedy remote has its share, and its data is still read once the gaps are filled.
  kit.deliver_from(bad.front(), flag::ack, 1, std::string(2048, 'y'));
  EXPECT_EQ(kit.stack.unread(kit.events.back().id).count, 2049u);
}

// Ranges have a separate pool: many small ones in few blocks.
TEST(GapShares, RangesAreSharedToo) {
  Gaps kit;
  auto const good = kit.open(honest, 4000);
  for (std::uint16_t port = 1; port <= 140; ++port) {
    auto const bad = kit.open(IpAddress::v4(10, 0, 0, 66), port);
    for (std::uint32_t i = 1; i <= 31; ++i) {
      kit.deliver_from(bad, flag::ack, 1 + 2 * i, "x");
    }
  }
  EXPECT_EQ(kit.report_of(good, 101), "101-106");
}

// Many remotes within their shares: old data gives way to remotes with little.
TEST(GapShares, OldGapsAreEvicted) {
  Config config = crowd_config();
  config.tcp.blocks_max = Count{256};
  Gaps kit(config);
  auto const good = kit.open(honest, 4000);
  for (std::uint8_t host = 100; host < 200; ++host) {
    static_cast<void>(kit.greedy(IpAddress::v4(10, 0, 0, host), 2, 4));
  }
  auto const refused = [&] { return kit.drops(Drop::tcp_out_of_order_refused); };
  EXPECT_GT(refused(), 0u);
  kit.advance(Duration::seconds(4));
  auto const before = refused();
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_NE(kit.report_of(good, 101 + 2048 * i), "");
  }
  EXPECT_EQ(refused(), before);
  // Evicted data is accepted again.
  kit.deliver_from(good, flag::ack, 1, std::string(100, 'z'));
  EXPECT_EQ(kit.stack.unread(kit.events.back().id).count, 105u);
}

// Three ranges in total, each of another remote.
Config three_ranges() {
  Config config = crowd_config();
  config.tcp.extents_max = Count{3};
  return config;
}

//= rfc2018#8
//= type=test
//# 2018:SACK-17 evicted data is no longer reported, and accepted when retransmitted
TEST(GapShares, EvictedDataIsNoLongerReported) {
  Gaps kit(three_ranges());
  std::vector<Gaps::Remote> old;
  for (std::uint8_t host = 66; host < 69; ++host) {
    old.push_back(kit.open(IpAddress::v4(10, 0, 0, host), 1));
    kit.deliver_from(old.back(), flag::ack, 101, "a");
  }
  auto const good = kit.open(honest, 4000);
  EXPECT_EQ(kit.report_of(good, 101), "");
  kit.advance(Duration::seconds(4));
  EXPECT_EQ(kit.report_of(good, 101), "101-106");
  EXPECT_EQ(kit.report_of(old[0], 401), "401-406");
  kit.deliver_from(old[0], flag::ack, 1, std::string(100, 'c'));
  EXPECT_EQ(kit.stack.unread(kit.events.back().id).count, 100u);
  kit.deliver_from(old[0], flag::ack, 101, std::string(300, 'c'));
  EXPECT_EQ(kit.stack.unread(kit.events.back().id).count, 405u);
}

// Progress resets the age of a gap.
TEST(GapShares, ProgressRenewsAGap) {
  Gaps kit(three_ranges());
  auto const busy = kit.open(IpAddress::v4(10, 0, 0, 3), 1);
  kit.deliver_from(busy, flag::ack, 101, "a");
  kit.deliver_from(busy, flag::ack, 201, "b");
  static_cast<void>(kit.greedy(IpAddress::v4(10, 0, 0, 66), 1, 1));
  kit.advance(Duration::seconds(2));
  kit.deliver_from(busy, flag::ack, 1, std::string(100, 'c'));
  static_cast<void>(kit.greedy(IpAddress::v4(10, 0, 0, 67), 1, 1));
  kit.advance(Duration::seconds(2));
  EXPECT_EQ(kit.report_of(kit.open(honest, 4000), 101), "101-106");
  // No other gap is old enough.
  EXPECT_EQ(kit.report_of(kit.open(IpAddress::v4(10, 0, 0, 4), 1), 101), "");
  EXPECT_EQ(kit.report_of(busy, 102), "201-202");
}

}  // namespace
}  // namespace lockstep::testing
