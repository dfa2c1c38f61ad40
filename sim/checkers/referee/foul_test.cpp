// Which findings are kept, and which turn likely.
#include "sim/checkers/referee/foul.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lockstep::sim::referee {
namespace {

TEST(Fouls, TheLessSureLeaveRoomForTheSurer) {
  Fouls fouls(6);
  Foul foul;
  foul.connection = 1;
  foul.doubt = Doubt::hidden;
  EXPECT_EQ(fouls.add(foul), 0u);
  EXPECT_EQ(fouls.add(foul), 1u);
  EXPECT_EQ(fouls.add(foul), 6u);
  foul.doubt = Doubt::none;
  foul.rests_on_whole = true;
  EXPECT_EQ(fouls.add(foul), 2u);
  EXPECT_EQ(fouls.add(foul), 3u);
  EXPECT_EQ(fouls.add(foul), 6u);
  foul.rests_on_whole = false;
  EXPECT_EQ(fouls.add(foul), 4u);
  EXPECT_EQ(fouls.add(foul), 5u);
  EXPECT_EQ(fouls.add(foul), 6u);
  EXPECT_EQ(fouls.kept().size(), 6u);
  EXPECT_EQ(fouls.dropped(), 3u);
}

TEST(Fouls, ADoubtedConnectionIsItselfAlone) {
  Fouls fouls(100);
  for (std::uint32_t i = 0; i < 8; ++i) {
    Foul foul;
    foul.connection = i % 2;
    foul.rests_on_whole = i < 6;
    fouls.add(foul);
  }
  fouls.add({});
  fouls.doubt_connection(1, Doubt::lost_packets);
  fouls.doubt_connection(77, Doubt::lost_packets);
  std::string seen;
  for (Foul const& foul : fouls.kept()) {
    seen += foul.certainty() == Certainty::certain ? 'c' : 'l';
  }
  EXPECT_EQ(seen, "clclclccc");
}

// Work is linear in findings, however many a connection has.
TEST(Fouls, OneMoreIsCountedAmongTheLatestAlone) {
  for (std::uint32_t const others : {1'000u, 2'000u}) {
    Fouls fouls(10'000);
    Foul foul;
    foul.connection = 0;
    fouls.add(foul);
    Foul other = foul;
    other.rule = Rule::nagle;
    for (std::uint32_t i = 0; i < others; ++i) {
      fouls.add(other);
    }
    fouls.count_only(foul);
    EXPECT_EQ(fouls.kept()[0].more, others == 1'000 ? 1u : 0u);
    EXPECT_EQ(fouls.dropped(), 1u);
  }
}

}  // namespace
}  // namespace lockstep::sim::referee
