// The names of drop reasons, and their counters.
#include "core/units/drop.hpp"

#include <set>
#include <string_view>

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Drop, EveryReasonHasItsOwnNameAndText) {
  std::set<std::string_view> names;
  for (std::uint32_t i = 0; i <= drop_count; ++i) {
    auto const drop = static_cast<Drop>(i);
    EXPECT_FALSE(name_of(drop).empty());
    EXPECT_FALSE(text_of(drop).empty());
    EXPECT_TRUE(names.insert(name_of(drop)).second) << name_of(drop);
  }
}

TEST(Drop, NamesBelongToTheirReasons) {
  EXPECT_EQ(name_of(Drop::frame_too_short), "frame_too_short");
  EXPECT_EQ(name_of(Drop::ip_checksum), "ip_checksum");
  EXPECT_EQ(text_of(Drop::ip_checksum), "the header checksum is wrong");
  EXPECT_EQ(name_of(Drop::reply_queue_full), "reply_queue_full");
  EXPECT_EQ(name_of(Drop::none), "none");
  EXPECT_EQ(text_of(Drop::none), "the frame was accepted");
}

TEST(DropCounters, CountEachReasonButNotNone) {
  DropCounters counters;
  counters.count(Drop::tcp_checksum);
  counters.count(Drop::tcp_checksum);
  counters.count(Drop::reply_queue_full);
  counters.count(Drop::none);
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    auto const drop = static_cast<Drop>(i);
    std::uint64_t const expected = drop == Drop::tcp_checksum       ? 2
                                   : drop == Drop::reply_queue_full ? 1
                                                                    : 0;
    EXPECT_EQ(counters.of(drop), expected) << name_of(drop);
  }
}

}  // namespace
}  // namespace lockstep
