// Overlaps: every arrangement once, and what our own device and a broken one deliver.
#include "conformance/overlaps/overlaps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <test_paths.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace lockstep::conformance {
namespace {

using testing::HasSubstr;
using Outcome = OverlapOutcome;

const std::filesystem::path ours = LOCKSTEP_BINARY_DIR "/devices/lockstep.so";
constexpr OverlapLayer layers[] = {OverlapLayer::tcp_queued, OverlapLayer::tcp_in_order,
                                   OverlapLayer::ipv4, OverlapLayer::ipv6};

TEST(Arrangements, AreAllThereOnce) {
  // The numbers of ways in which intervals can lie: Allen's 13 for two.
  for (auto const& [chunks, count] : {std::pair{1U, 1U}, {2U, 13U}, {3U, 409U}, {4U, 23'917U}}) {
    std::set<std::string> seen;
    for (Arrangement const& arrangement : arrangements(chunks)) {
      ASSERT_EQ(arrangement.size(), chunks);
      std::set<std::size_t> ends;
      for (Chunk const& chunk : arrangement) {
        ASSERT_LT(chunk.begin, chunk.end);
        ends.insert(chunk.begin);
        ends.insert(chunk.end);
      }
      // Something begins or ends at each position.
      EXPECT_EQ(*ends.begin(), 0U);
      EXPECT_EQ(*ends.rbegin() + 1, ends.size());
      EXPECT_EQ(*ends.rbegin(), length_of(arrangement));
      seen.insert(text_of(arrangement));
    }
    EXPECT_EQ(seen.size(), count);
  }
}

TEST(Arrangements, HaveAFirstAndALastWinner) {
  Arrangement const both{{0, 2}, {1, 4}};
  EXPECT_EQ(first_wins(both), "AABB");
  EXPECT_EQ(last_wins(both), "ABBB");
  EXPECT_EQ(text_of(both), "A 0-2, B 1-4");
  EXPECT_TRUE(overlaps(both) && overlaps_partly(both));
  Arrangement const apart{{0, 1}, {2, 3}};
  EXPECT_EQ(first_wins(apart), "A.B");
  EXPECT_FALSE(overlaps(apart));
  Arrangement const touching{{1, 2}, {0, 1}};
  EXPECT_FALSE(overlaps(touching));
  Arrangement const equal{{0, 1}, {0, 1}};
  EXPECT_TRUE(overlaps(equal));
  EXPECT_FALSE(overlaps_partly(equal));
}

TEST(Overlaps, HaveOutcomes) {
  Arrangement const both{{0, 2}, {1, 3}};
  for (auto const& [delivered, outcome] : {std::pair{"AAB", Outcome::first},
                                           {"AzB", Outcome::first_part},
                                           {"ABB", Outcome::last},
                                           {"zBB", Outcome::last_part},
                                           {"-", Outcome::dropped},
                                           {"BAB", Outcome::mixed}}) {
    EXPECT_EQ(outcome_of(both, delivered), outcome) << delivered;
  }
  Arrangement const apart{{0, 1}, {2, 3}};
  EXPECT_EQ(outcome_of(apart, "A.B"), Outcome::apart);
  EXPECT_EQ(outcome_of(apart, "A.z"), Outcome::lost);
  EXPECT_EQ(outcome_of(apart, "-"), Outcome::lost);
}

TEST(Overlaps, HaveViolations) {
  Arrangement const both{{0, 2}, {1, 3}}, equal{{0, 1}, {0, 1}};
  auto const of = [](OverlapLayer layer, const Arrangement& arrangement, const char* delivered) {
    return overlap_violation(layer, arrangement, delivered);
  };
  EXPECT_EQ(of(OverlapLayer::tcp_queued, both, "AzB"), "");
  EXPECT_EQ(of(OverlapLayer::ipv4, both, "AAB"), "");
  EXPECT_EQ(of(OverlapLayer::ipv6, both, "-"), "");
  EXPECT_EQ(of(OverlapLayer::ipv6, equal, "A"), "");
  EXPECT_THAT(of(OverlapLayer::ipv6, both, "AAB"), HasSubstr("RFC 8200 4.5"));
  EXPECT_THAT(of(OverlapLayer::ipv4, both, "AAA"), HasSubstr("not sent at their place"));
  EXPECT_THAT(of(OverlapLayer::ipv4, both, "AzB"), HasSubstr("not sent at their place"));
  EXPECT_THAT(of(OverlapLayer::tcp_in_order, both, "A.B"), HasSubstr("not sent at their place"));
  EXPECT_THAT(of(OverlapLayer::tcp_queued, both, "-"), HasSubstr("never delivered"));
}

TEST(Overlaps, OursKeepsTheFirstOctetsAndDropsFragmentsThatOverlap) {
  for (OverlapLayer const layer : layers) {
    OverlapSession session(ours, layer);
    ASSERT_EQ(session.left_out(), "");
    bool const fragments = layer == OverlapLayer::ipv4 || layer == OverlapLayer::ipv6;
    for (std::uint32_t chunks : {2U, 3U}) {
      for (Arrangement const& arrangement : arrangements(chunks)) {
        bool const dropped = fragments && overlaps(arrangement);
        EXPECT_EQ(session.deliver(arrangement), dropped ? "-" : first_wins(arrangement))
            << name_of(layer) << ": " << text_of(arrangement);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::conformance
