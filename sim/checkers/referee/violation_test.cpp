// Tests of which findings are kept and which turn likely.
#include "sim/checkers/referee/violation.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lockstep::sim::referee {
namespace {

TEST(Violations, TheLessSureLeaveRoomForTheSurer) {
  Violations violations(6);
  Violation violation;
  violation.connection = 1;
  violation.ambiguity = Ambiguity::hidden;
  EXPECT_EQ(violations.add(violation), 0u);
  EXPECT_EQ(violations.add(violation), 1u);
  EXPECT_EQ(violations.add(violation), 6u);
  violation.ambiguity = Ambiguity::none;
  violation.rests_on_whole = true;
  EXPECT_EQ(violations.add(violation), 2u);
  EXPECT_EQ(violations.add(violation), 3u);
  EXPECT_EQ(violations.add(violation), 6u);
  violation.rests_on_whole = false;
  EXPECT_EQ(violations.add(violation), 4u);
  EXPECT_EQ(violations.add(violation), 5u);
  EXPECT_EQ(violations.add(violation), 6u);
  EXPECT_EQ(violations.kept().size(), 6u);
  EXPECT_EQ(violations.dropped(), 3u);
}

TEST(Violations, AWeakenedConnectionIsItselfAlone) {
  Violations violations(100);
  for (std::uint32_t i = 0; i < 8; ++i) {
    Violation violation;
    violation.connection = i % 2;
    violation.rests_on_whole = i < 6;
    violations.add(violation);
  }
  violations.add({});
  violations.weaken_connection(1, Ambiguity::lost_packets, 0);
  violations.weaken_connection(77, Ambiguity::lost_packets, 0);
  std::string seen;
  for (Violation const& violation : violations.kept()) {
    seen += violation.certainty() == Certainty::certain ? 'c' : 'l';
  }
  EXPECT_EQ(seen, "clclclccc");
}

// The cost is linear in the number of findings, even if one connection has all of them.
TEST(Violations, OneMoreIsCountedAmongTheLatestAlone) {
  for (std::uint32_t const others : {1'000u, 2'000u}) {
    Violations violations(10'000);
    Violation violation;
    violation.connection = 0;
    violations.add(violation);
    Violation other = violation;
    other.rule = Rule::nagle;
    for (std::uint32_t i = 0; i < others; ++i) {
      violations.add(other);
    }
    violations.count_only(violation);
    EXPECT_EQ(violations.kept()[0].more, others == 1'000 ? 1u : 0u);
    EXPECT_EQ(violations.dropped(), 1u);
  }
}

}  // namespace
}  // namespace lockstep::sim::referee
